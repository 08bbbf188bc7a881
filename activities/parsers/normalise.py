"""One spelling for every text that is stored, so that offsets, hashes and citations mean the same everywhere."""

import re
import unicodedata
from typing import Final

TITLE_MAX: Final = 512
_LINE_ENDS: Final = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Postgres holds no NUL and UTF-8 no surrogate; the other control characters are no text, and escape steers a terminal.
_NO_TEXT: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def normalise(text: str) -> str:
    """``text`` in NFC, its line ends ``\\n``, and U+FFFD for NUL, lone surrogates and other control characters."""
    text = _NO_TEXT.sub("\ufffd", _LINE_ENDS.sub("\n", text))
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def one_line(text: str) -> str | None:
    """``text`` as a title: normalised, whitespace collapsed, at most 512 characters; ``None`` if nothing is left."""
    return " ".join(normalise(text[: 8 * TITLE_MAX]).split())[:TITLE_MAX].strip() or None
