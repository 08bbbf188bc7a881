"""The words that two texts have in common, in any script and with no model."""

import re
import unicodedata
from itertools import pairwise
from typing import Final

# Scripts without spaces between words: each character counts, and each two that stand together.
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN: Final = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")


def words(text: str) -> frozenset[str]:
    """The distinct words of ``text``: case and width folded, characters and pairs of them where words have no spaces."""
    found: set[str] = set()
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _IS_UNSPACED.match(run):
            found.update(run)
            found.update(map("".join, pairwise(run)))
        else:
            found.add(run)
    return frozenset(found)
