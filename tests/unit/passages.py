"""Hits for tests of what stands around passages: valid ones, with what a test is about changed."""

from datetime import UTC, datetime
from typing import Any

from headwater import Hit, Provenance

WHEN = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def make_hit(text: str = "text", *, chunk_id: str = "src#0001", corpus: str = "handbook", **changes: Any) -> Hit:
    source_id = chunk_id.partition("#")[0]
    provenance = Provenance(
        source_id=source_id,
        chunk_id=chunk_id,
        citation_id=chunk_id,
        provider="folder",
        tenant_id="t1",
        resource_id="docs",
        corpus_id=corpus,
        retrieved_at=WHEN,
        revision=changes.pop("revision", 1),
    )
    values: dict[str, Any] = {"score": 0.5, "retrieval_rank": 1, "provenance": provenance}
    return Hit(chunk_id=chunk_id, source_id=source_id, text=text, **{**values, **changes})


def make_hits(*texts: str) -> list[Hit]:
    """Hits of one document, best first."""
    return [
        make_hit(text, chunk_id=f"src#{number:04d}", retrieval_rank=number)
        for number, text in enumerate(texts, start=1)
    ]
