"""What some rerankers say beside an order: that they gave none and why, and that they never read what is restricted."""

from collections.abc import Iterable, Sequence
from typing import Final, Self

from headwater.models import Hit
from headwater.sensitivity import RESTRICTED, SENSITIVITIES, sensitivity_level

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


def readable_places(hits: Sequence[Hit]) -> list[int]:
    """Where the passages stand that such a one may read; the others keep their places."""
    return [place for place, hit in enumerate(hits) if not _is_restricted(hit)]


def _is_restricted(hit: Hit) -> bool:
    """Its label says so, or is none that we know; or its metadata do, where hosts that make hits of their own may have it.
    Of metadata only the very word counts: an origin fills them with anything, and what it calls low is to be ranked."""
    said = hit.metadata.get("sensitivity")
    return sensitivity_level(hit.sensitivity) == RESTRICTED or (
        isinstance(said, str) and said.strip().casefold() == SENSITIVITIES[RESTRICTED]
    )


__all__ = ["KeptOrder", "failure_of", "readable_places", "reads_restricted"]
