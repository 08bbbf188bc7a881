"""Passages in the order they were found in, for tests of rerankers."""

from datetime import UTC, datetime

from headwater.models import Hit, Provenance, Scores


def ranked_hits(*texts: str, corpus: str = "handbook") -> list[Hit]:
    """One passage for each text, the first at rank 1, each of a source of its own."""
    return [_hit(rank, text, corpus) for rank, text in enumerate(texts, start=1)]


def ranks(hits: "list[Hit] | tuple[Hit, ...]") -> list[int]:
    """At which place each of ``hits`` was found."""
    return [hit.retrieval_rank for hit in hits]


def _hit(rank: int, text: str, corpus: str) -> Hit:
    source, chunk, score = f"source-{rank}", f"source-{rank}#0001", 1 - rank / 100
    provenance = Provenance(
        source_id=source,
        chunk_id=chunk,
        citation_id=chunk,
        provider="host",
        tenant_id="t1",
        resource_id="docs",
        corpus_id=corpus,
        retrieved_at=datetime(2031, 6, 30, tzinfo=UTC),
        revision=1,
    )
    return Hit(
        chunk_id=chunk,
        source_id=source,
        text=text,
        score=score,
        scores=Scores(vector=score, fused=score, vector_rank=rank),
        provenance=provenance,
        retrieval_rank=rank,
    )
