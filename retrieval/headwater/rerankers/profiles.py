"""What some rerankers say beside an order: that they gave none and why, and that they never read what is restricted."""

from collections.abc import Iterable
from typing import Final, Self

from headwater.models import Hit

FAILURE_CHARACTERS: Final = 256


class KeptOrder(tuple[Hit, ...]):
    """The passages as they were found, from a reranker that failed and does not raise. ``failure`` is one sentence."""

    failure: str

    @classmethod
    def of(cls, hits: Iterable[Hit], failure: str) -> Self:
        kept = cls(hits)
        kept.failure = failure
        return kept


def failure_of(answer: object) -> str | None:
    """Why ``answer`` is in no better order than before; None if it is. One line, whoever wrote it."""
    if not isinstance(answer, KeptOrder):
        return None
    return " ".join(str(answer.failure)[:FAILURE_CHARACTERS].split())


def reads_restricted(reranker: object) -> bool:
    """Whether restricted passages may reach ``reranker`` where a question allows them: not if it says that it never does."""
    return getattr(reranker, "reads_restricted", True) is not False


__all__ = ["KeptOrder", "failure_of", "reads_restricted"]
