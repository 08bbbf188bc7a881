"""The ways in which a collection is asked, each of them a call of `retrieve` that any host could make."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from headwater import Authorization, LimitError, Retriever
from headwater.evaluation import documents_of
from headwater.models import Hit
from headwater.rerankers import Reranker
from headwater.rerankers.bounded import CONCURRENT, INPUT_BYTES, Bounded
from tests.benchmarks.judged import Collection
from tests.benchmarks.quality_corpus import Corpus

CANDIDATES: Final = 128  # the most there may be
CHUNK_CHARACTERS: Final = 1_000
RERANK_S: Final = 10.0
ATTEMPTS: Final = 20
ANYBODY: Final = Authorization(principal_id="anybody", tenant_id="t1")


@dataclass(frozen=True, slots=True)
class Run:
    """One way to ask: arguments of `retrieve`, and what puts the candidates into their last order."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    leg_alone: bool = False  # the lexical leg's own order, of passages that it found
    reranked: bool = False


RUNS: Final = {
    run.name: run
    for run in (
        Run("dense"),
        Run("fts alone", {"lexical": "fts"}, leg_alone=True),
        Run("bm25 alone", {"lexical": "bm25"}, leg_alone=True),
        Run("fts, weighted", {"lexical": "fts", "fusion": "weighted"}),
        Run("bm25, rrf", {"lexical": "bm25", "fusion": "rrf"}),
        Run("bm25, weighted", {"lexical": "bm25", "fusion": "weighted"}),
        Run("weighted, local", {"lexical": "bm25", "fusion": "weighted"}, reranked=True),
    )
}


class Noted:
    """A reranker that notes the whole order in which candidates leave ``inner``, or come in where there is none.

    `retrieve` shows 32 passages at most; recall is of all that were found.
    """

    is_hosted = False

    def __init__(self, inner: Reranker | None, *, leg_alone: bool) -> None:
        self._inner = inner
        self._leg_alone = leg_alone
        self.hits: Sequence[Hit] = ()

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        ordered = hits if self._inner is None else self._inner.rerank(query, hits)
        self.hits = sorted(filter(_is_lexical, ordered), key=_lexical_rank) if self._leg_alone else ordered
        return ordered


def rankings(
    run: Run, retriever: Retriever, corpus: Corpus, collection: Collection, local: Reranker
) -> dict[str, list[str]]:
    """What each judged query finds: documents, at the place of their best passage."""
    candidates = min(CANDIDATES, int(INPUT_BYTES.cap / (CHUNK_CHARACTERS * collection.bytes_a_character)))
    inner = local if run.reranked else None

    def ask(query: str) -> list[str]:
        noted = Noted(inner, leg_alone=run.leg_alone)
        reranker = Bounded(noted, max_input_bytes=INPUT_BYTES.cap, timeout_s=RERANK_S, max_concurrent=CONCURRENT.cap)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                retriever.retrieve(
                    query,
                    scope=corpus.scope,
                    authorization=ANYBODY,
                    top_k=1,
                    candidates=candidates,
                    reranker=reranker,
                    **run.arguments,
                )
                break
            except LimitError:
                # On a busy machine a model may need longer than it may take; what it has read by then is kept.
                if attempt == ATTEMPTS or not run.reranked:
                    raise
        return documents_of(noted.hits, lambda hit: corpus.document_of[hit.source_id])

    judged = [query for query in collection.judgements if query in collection.queries]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = threads.map(ask, (collection.queries[query] for query in judged))
        return dict(zip(judged, found, strict=True))


def _is_lexical(hit: Hit) -> bool:
    return hit.scores.lexical_rank is not None


def _lexical_rank(hit: Hit) -> int:
    return hit.scores.lexical_rank or 0
