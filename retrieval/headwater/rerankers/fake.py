"""A reranker without a model, for tests: passages that hold more of the query's words come first."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from headwater.models import Hit

_TERM: Final = re.compile(r"[^\W_]+")


class FakeReranker:
    """Orders by the share of the query's distinct words that a passage holds. Equal ones keep their order."""

    def __init__(self, *, is_hosted: bool = False) -> None:
        self.is_hosted = is_hosted

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        wanted = _terms(query)
        return sorted(hits, key=lambda hit: -len(wanted & _terms(hit.text)))  # sorted() is stable


def _terms(text: str) -> set[str]:
    return set(_TERM.findall(unicodedata.normalize("NFKC", text).casefold()))


__all__ = ["FakeReranker"]
