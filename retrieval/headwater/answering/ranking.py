"""Putting what was found into one order.

What two corpora hold is compared as if one held both: their vectors lie in one space. So there is one vector leg and one
lexical leg for each form of the query, however many corpora were searched.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwater.answering.finding import Finds
from headwater.fusion import Leg, fuse
from headwater.models import Scope, Scores
from headwater.store.question import Question
from headwater.store.rows import Candidate, Found

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
    vector = [_listed(found, question.candidates, _vector_rank, _similarity) for found in finds.by_query]
    lexical = [_listed(found, question.candidates, _lexical_rank, _lexical_score) for found in finds.by_query]
    if question.lexical == "off":
        lexical = []
    # The vector legs come first: of a passage that several found, the first one's similarity is told. There are as many legs
    # of either kind, so that both weigh the same.
    if question.fusion == "rrf":
        legs = [_leg(listed, _similarity) for listed in vector] + [_leg(listed, _lexical_score) for listed in lexical]
    else:
        unions = [_union(*forms) for forms in zip(vector, lexical or [[]] * len(vector), strict=True)]
        legs = [_leg(_by(_similarity, union), _similarity) for union in unions]
        legs += [_leg(_by(_lexical_score, union), _lexical_score) for union in unions if lexical]
    fused = fuse(legs, fusion=question.fusion, k=question.rrf_k, key=_key)
    by_vector, by_words, words = _best_ranks(vector), _best_ranks(lexical), _best_scores(finds)
    return [
        Ranked(candidate, score, by_vector.get(key), words.get(key), by_words.get(key))
        for (candidate, score), key in ((each, _key(each.item)) for each in fused[: question.candidates])
    ]


def _vector_rank(candidate: Candidate) -> int | None:
    return candidate.vector_rank


def _lexical_rank(candidate: Candidate) -> int | None:
    return candidate.lexical_rank


def _similarity(candidate: Candidate) -> float:
    return candidate.similarity


def _lexical_score(candidate: Candidate) -> float:
    """How well the words match. None of them does where the store says nothing."""
    return candidate.lexical_score or 0.0


def _listed(
    founds: Sequence[Found], most: int, rank: Callable[[Candidate], int | None], score: Callable[[Candidate], float]
) -> list[Candidate]:
    """What one leg found in all corpora, best first. Within a corpus the store's order holds: it knows more digits than are told."""
    listed = [
        (-score(one), _scope_key(one.scope), rank(one) or 0, one)
        for found in founds
        for one in found.candidates
        if rank(one)
    ]
    listed.sort(key=lambda each: each[:3])
    return [candidate for _, _, _, candidate in listed[:most]]


def _leg(items: Sequence[Candidate], score: Callable[[Candidate], float]) -> Leg[Candidate]:
    return Leg(items, [score(item) for item in items])


def _union(vector: Sequence[Candidate], lexical: Sequence[Candidate]) -> list[Candidate]:
    """What either leg listed. Scores are compared by what they are, not by which leg had room for the passage."""
    return list({_key(one): one for one in (*lexical, *vector)}.values())


def _by(score: Callable[[Candidate], float], items: Sequence[Candidate]) -> list[Candidate]:
    return sorted(items, key=lambda one: (-score(one), _key(one)))


def _best_ranks(legs: Sequence[Sequence[Candidate]]) -> dict[Any, int]:
    best: dict[Any, int] = {}
    for leg in legs:
        for rank, candidate in enumerate(leg, start=1):
            key = _key(candidate)
            best[key] = min(rank, best.get(key, rank))
    return best


def _best_scores(finds: Finds) -> dict[Any, float]:
    best: dict[Any, float] = {}
    for founds in finds.by_query:
        for candidate in (one for found in founds for one in found.candidates):
            if candidate.lexical_score is not None:
                key = _key(candidate)
                best[key] = max(candidate.lexical_score, best.get(key, candidate.lexical_score))
    return best


def _key(candidate: Candidate) -> tuple[str, str, str, str, int]:
    return (*_scope_key(candidate.scope), candidate.source_id, candidate.chunk_no)


def _scope_key(scope: Scope) -> tuple[str, str, str]:
    return scope.tenant_id, scope.resource_id, scope.corpus_id
