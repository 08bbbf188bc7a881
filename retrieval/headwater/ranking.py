"""Putting what was found into one order.

What two corpora hold is compared as if one held both: their vectors lie in one space. So there is one vector leg and one
lexical leg for each form of the query, however many corpora were searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwater.finding import Finds
from headwater.fusion import Leg, fuse
from headwater.models import Scope, Scores
from headwater.question import Question
from headwater.rows import Candidate, Found

Retrieval = Literal["vector", "lexical", "hybrid"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate at its place in the common order, and how it came there."""

    candidate: Candidate
    fused: float
    vector_rank: int | None
    lexical: float | None
    lexical_rank: int | None

    @property
    def retrieval(self) -> Retrieval:
        """Which legs found it."""
        if self.vector_rank is None:
            return "lexical"
        return "vector" if self.lexical_rank is None else "hybrid"

    @property
    def scores(self) -> Scores:
        """What a host is told of it."""
        return Scores.model_construct(
            vector=self.candidate.similarity,
            lexical=self.lexical,
            fused=self.fused,
            vector_rank=self.vector_rank,
            lexical_rank=self.lexical_rank,
        )


def ranked(question: Question, finds: Finds) -> list[Ranked]:
    """The candidates in one order, as many as were asked for."""
    vector = [_vector_leg(found, question.candidates) for found in finds.by_query]
    lexical = [_lexical_leg(found, question.candidates) for found in finds.by_query]
    if question.lexical == "off":
        lexical = []
    # The vector legs come first: of a passage that several found, the first one's similarity is told. There are as many legs
    # of either kind, so that both weigh the same.
    fused = fuse([*vector, *lexical], fusion=question.fusion, k=question.rrf_k, key=_key)
    by_vector, by_words, words = _best_ranks(vector), _best_ranks(lexical), _best_scores(lexical)
    return [
        Ranked(candidate, score, by_vector.get(key), words.get(key), by_words.get(key))
        for (candidate, score), key in ((each, _key(each.item)) for each in fused[: question.candidates])
    ]


def _vector_leg(founds: Sequence[Found], most: int) -> Leg[Candidate]:
    listed = [
        (one.similarity or 0.0, one.vector_rank, one) for found in founds for one in found.candidates if one.vector_rank
    ]
    return _leg(listed, most)


def _lexical_leg(founds: Sequence[Found], most: int) -> Leg[Candidate]:
    listed = [
        (one.lexical_score or 0.0, one.lexical_rank, one)
        for found in founds
        for one in found.candidates
        if one.lexical_rank
    ]
    return _leg(listed, most)


def _leg(listed: list[tuple[float, int, Candidate]], most: int) -> Leg[Candidate]:
    """Best first. Within a corpus the store's own order holds: it knows more digits than are told."""
    listed.sort(key=lambda each: (-each[0], _scope_key(each[2].scope), each[1]))
    best = listed[:most]
    return Leg([candidate for _, _, candidate in best], [score for score, _, _ in best])


def _best_ranks(legs: Sequence[Leg[Candidate]]) -> dict[Any, int]:
    best: dict[Any, int] = {}
    for leg in legs:
        for rank, candidate in enumerate(leg.items, start=1):
            key = _key(candidate)
            best[key] = min(rank, best.get(key, rank))
    return best


def _best_scores(legs: Sequence[Leg[Candidate]]) -> dict[Any, float]:
    best: dict[Any, float] = {}
    for leg in legs:
        for score, candidate in zip(leg.scores, leg.items, strict=True):
            key = _key(candidate)
            best[key] = max(score, best.get(key, score))
    return best


def _key(candidate: Candidate) -> tuple[str, str, str, str, int]:
    return (*_scope_key(candidate.scope), candidate.source_id, candidate.chunk_no)


def _scope_key(scope: Scope) -> tuple[str, str, str]:
    return scope.tenant_id, scope.resource_id, scope.corpus_id
