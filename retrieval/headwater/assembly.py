"""From passages to a result: blocks of text that fit the host's limits, and a citation for each of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from headwater.limits import CHARACTERS_PER_TOKEN
from headwater.models import Citation, Hit, Provenance, RetrievalResult, Scope, Trust
from headwater.question import Question
from headwater.rows import Candidate

SEPARATOR = "\n\n"
TRUST = Trust()


def assemble(
    question: Question, candidates: Iterable[Candidate], *, generation: int | None, retrieved_at: datetime
) -> RetrievalResult:
    """The best passages in order, as many as were asked for and fit.

    Prefixes and separators count toward both limits. The first passage that does not fit is shortened, and ends the
    list; if nothing of it fits, it is left out.
    """
    room = _Room(question.max_result_bytes, question.max_context_tokens * CHARACTERS_PER_TOKEN)
    blocks: list[str] = []
    hits: list[Hit] = []
    citations: list[Citation] = []
    truncated = False
    for rank, candidate in enumerate(candidates, start=1):
        if rank > question.top_k:
            break
        head = f"{SEPARATOR if blocks else ''}[{candidate.chunk_id}] "
        text = room.after(head).cut(candidate.text)
        truncated = len(text) < len(candidate.text)
        if text:
            room = room.after(head).after(text)
            blocks.append(head + text)
            provenance = _provenance(candidate, question.scope, retrieved_at)
            hits.append(_hit(candidate, text, rank, provenance))
            citations.append(_citation(candidate, text, provenance))
        if truncated:
            break
    return RetrievalResult.model_construct(
        query=question.query,
        text="".join(blocks),
        hits=tuple(hits),
        citations=tuple(citations),
        truncated=truncated,
        generation=generation,
        trust=TRUST,
    )


@dataclass(frozen=True, slots=True)
class _Room:
    """What is left of both limits. It may be less than nothing: then every cut is empty."""

    utf8_bytes: int
    characters: int

    def after(self, text: str) -> "_Room":
        return _Room(self.utf8_bytes - len(text.encode()), self.characters - len(text))

    def cut(self, text: str) -> str:
        """As much of the beginning of ``text`` as fits, never part of a character."""
        beginning = text[: max(0, self.characters)]
        encoded = beginning.encode()
        if len(encoded) <= self.utf8_bytes:
            return beginning
        return encoded[: max(0, self.utf8_bytes)].decode(errors="ignore")  # ignores the half character at the end


# The values come from our own types and were checked when they were read: validating each again would cost more than
# all the rest of a result.


def _provenance(candidate: Candidate, scope: Scope, retrieved_at: datetime) -> Provenance:
    return Provenance.model_construct(
        source_id=candidate.source_id,
        chunk_id=candidate.chunk_id,
        citation_id=candidate.chunk_id,
        provider=candidate.provider,
        tenant_id=scope.tenant_id,
        resource_id=scope.resource_id,
        corpus_id=scope.corpus_id,
        retrieval="vector",
        retrieved_at=retrieved_at,
        revision=candidate.revision,
    )


def _hit(candidate: Candidate, text: str, rank: int, provenance: Provenance) -> Hit:
    return Hit.model_construct(
        chunk_id=candidate.chunk_id,
        source_id=candidate.source_id,
        text=text,
        score=candidate.similarity or 0.0,
        title=candidate.title,
        locator=candidate.locator,
        metadata=candidate.metadata,
        provenance=provenance,
        retrieval_rank=rank,
        trust=TRUST,
    )


def _citation(candidate: Candidate, text: str, provenance: Provenance) -> Citation:
    return Citation.model_construct(
        citation_id=candidate.chunk_id,
        source_id=candidate.source_id,
        title=candidate.title,
        uri=candidate.uri,
        locator=candidate.locator,
        start=candidate.start,
        end=candidate.start + len(text),  # of what is shown: a shortened passage ends earlier
        revision=candidate.revision,
        provenance=provenance,
        trust=TRUST,
    )
