"""Hits for tests of what stands around passages: valid ones, with what a test is about changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headwater import Citation, Hit, Provenance, RetrievalResult

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


def make_citation(hit: Hit, *, start: int = 0) -> Citation:
    return Citation(
        citation_id=hit.chunk_id,
        source_id=hit.source_id,
        start=start,
        end=start + len(hit.text),
        revision=hit.provenance.revision,
        provenance=hit.provenance,
    )


def make_result(*hits: Hit, query: str = "q", truncated: bool = False) -> RetrievalResult:
    """What a retriever gives that found these hits."""
    return RetrievalResult(
        query=query,
        text="\n\n".join(f"[{hit.chunk_id}] {hit.prompt_text or hit.text}" for hit in hits),
        hits=hits,
        citations=tuple(make_citation(hit, start=100) for hit in hits),
        truncated=truncated,
        generation=1,
    )


@dataclass
class Found:
    """A retriever that found these hits in each corpus, and keeps what it was asked. ``said`` is what else a result says."""

    hits: Mapping[str, Sequence[Hit]] | Sequence[Hit]
    said: Mapping[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def retrieve(self, query: str, **arguments: Any) -> RetrievalResult:
        self.asked.append((query, arguments))
        if not query.strip():
            return make_result(query=query)
        hits = self.hits[str(arguments["scope"])] if isinstance(self.hits, Mapping) else self.hits
        return make_result(*hits, query=query).model_copy(update=dict(self.said))


class AsyncFound(Found):
    async def retrieve(self, query: str, **arguments: Any) -> RetrievalResult:  # type: ignore[override]  # the same, awaited
        return Found.retrieve(self, query, **arguments)
