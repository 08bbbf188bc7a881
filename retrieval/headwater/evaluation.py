"""How well a corpus answers: rankings of documents held against judgements, and an answer's citations against its passages.

Everything here is plain arithmetic. A ranking lists documents best first, each once; judgements say of documents how
relevant they are to the query: above 0 is relevant, 0 and below and all that was never judged are not.

All means are macro averages: each query counts the same, and only queries with at least one relevant document count.
A query without a ranking, or with an empty one, counts 0. The figures are those of trec_eval.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from headwater.errors import ValidationError

Ranking = Sequence[str]
Judgements = Mapping[str, float]

_CITATION: Final = re.compile(r"\[([A-Za-z0-9._~:/@!$&'()*+,;=%-]{1,512}#[0-9]{4,})\]")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Quality:
    """The four figures, of one query or as the means of many."""

    precision: float
    recall: float
    reciprocal_rank: float
    ndcg: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The means over ``queries``, of which each has a relevant document; ``reciprocal_rank`` of ``mean`` is the MRR."""

    k: int
    queries: int
    mean: Quality


def evaluate_retrieval(
    rankings: Mapping[str, Ranking], judgements: Mapping[str, Judgements], *, k: int = 10
) -> Evaluation:
    """The macro averages of `retrieval_quality` over the queries of ``judgements``, both by the id of the query."""
    of_each = [
        retrieval_quality(rankings.get(query, ()), judged, k=k)
        for query, judged in judgements.items()
        if relevant(judged)
    ]
    return Evaluation(
        _checked(k),
        len(of_each),
        Quality(
            mean([quality.precision for quality in of_each]),
            mean([quality.recall for quality in of_each]),
            mean([quality.reciprocal_rank for quality in of_each]),
            mean([quality.ndcg for quality in of_each]),
        ),
    )


def retrieval_quality(ranking: Ranking, judged: Judgements, *, k: int = 10) -> Quality:
    """The four figures of one query: of the first ``k`` documents, and the reciprocal rank of all of the ranking."""
    return Quality(
        precision(ranking, judged, k=k),
        recall(ranking, judged, k=k),
        reciprocal_rank(ranking, judged),
        ndcg(ranking, judged, k=k),
    )


def precision(ranking: Ranking, judged: Judgements, *, k: int) -> float:
    """Relevant documents among the first ``k``, divided by ``k``, also where the ranking is shorter."""
    return _relevant_among(ranking, judged, k) / k


def recall(ranking: Ranking, judged: Judgements, *, k: int) -> float:
    """Relevant documents among the first ``k``, divided by all that are relevant; 0 where none is."""
    return _relevant_among(ranking, judged, k) / max(1, len(relevant(judged)))


def reciprocal_rank(ranking: Ranking, judged: Judgements, *, k: int | None = None) -> float:
    """One divided by the place, from 1, of the first relevant document; 0 if there is none, or none among the first ``k``."""
    places = (place for place, document in enumerate(_first(ranking, k), 1) if judged.get(document, 0) > 0)
    return 1 / next(places, math.inf)


def ndcg(ranking: Ranking, judged: Judgements, *, k: int) -> float:
    """The discounted gain of the first ``k`` documents, divided by the best one there could be; 0 where nothing is relevant.

    A document gains its judgement, not two to the power of it, and nothing if that is negative; at place ``p`` it counts
    divided by log2(p + 1). The best order is that of all judged documents, whether or not the corpus holds them.
    """
    gains = [max(0.0, judged.get(document, 0)) for document in _first(ranking, k)]
    ideal = _discounted(sorted((max(0.0, gain) for gain in judged.values()), reverse=True)[:k])
    return _discounted(gains) / ideal if ideal else 0.0


def relevant(judged: Judgements) -> set[str]:
    """The documents that were judged relevant."""
    return {document for document, gain in judged.items() if gain > 0}


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return math.fsum(values) / len(values) if values else 0.0


def documents_of(passages: Iterable[T], document: Callable[[T], str]) -> list[str]:
    """The ranking of documents that passages stand for, best first: each document at the place of its best passage."""
    return list(dict.fromkeys(map(document, passages)))


def citation_coverage(cited: Iterable[str], evidence: Iterable[str]) -> float:
    """The share of the distinct ids in ``cited`` that belong to ``evidence``, which is what the answer was made from.

    Ids of citations or of chunks, both sides alike. An answer that cites nothing has 0. It says that what is cited was
    there to be read, not that it supports what is said.
    """
    named = set(cited)
    return len(named.intersection(evidence)) / len(named) if named else 0.0


def cited_in(answer: str) -> list[str]:
    """The citation ids that stand in ``answer`` as the passages were given, ``[source#0001]``: each once, in order."""
    return list(dict.fromkeys(_CITATION.findall(answer)))


def _relevant_among(ranking: Ranking, judged: Judgements, k: int) -> int:
    return sum(judged.get(document, 0) > 0 for document in _first(ranking, _checked(k)))


def _first(ranking: Ranking, k: int | None) -> Ranking:
    if isinstance(ranking, str) or len(set(ranking)) != len(ranking):
        raise ValidationError("ranking must be a sequence of document ids, each once: use `documents_of` for passages.")
    return ranking if k is None else ranking[: _checked(k)]


def _checked(k: int) -> int:
    if type(k) is not int or k < 1:
        raise ValidationError(f"k must be a whole number from 1, not {k!r:.40}.")
    return k


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))
