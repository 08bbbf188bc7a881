"""Passages as a search gives them to a reranker."""

from collections.abc import Sequence
from datetime import UTC, datetime

from headwater.models import Hit, Provenance, Scores


def hits_of(*texts: str, fused: Sequence[float] | None = None, labels: Sequence[str | None] = ()) -> list[Hit]:
    """One hit for each text, in this order, with the fused scores given, else falling evenly from 1 to 0."""
    falling = [1 - place / max(1, len(texts) - 1) for place in range(len(texts))]
    return [
        _hit(place, text, (fused or falling)[place], labels[place] if place < len(labels) else None)
        for place, text in enumerate(texts)
    ]


def _hit(place: int, text: str, fused: float, label: str | None) -> Hit:
    source = f"source-{place}"
    hit = Hit(
        chunk_id=f"{source}#0001",
        source_id=source,
        text=text,
        score=fused,
        scores=Scores(fused=fused),
        provenance=Provenance(
            source_id=source,
            chunk_id=f"{source}#0001",
            citation_id=f"{source}#0001",
            provider="host",
            tenant_id="t1",
            resource_id="docs",
            corpus_id="handbook",
            retrieved_at=datetime(2031, 6, 30, tzinfo=UTC),
            revision=1,
        ),
        retrieval_rank=place + 1,
    )
    return (
        hit if label is None else hit.model_copy(update={"sensitivity": label})
    )  # which checks nothing: any label will do


def texts_of(hits: Sequence[Hit]) -> list[str]:
    return [hit.text for hit in hits]
