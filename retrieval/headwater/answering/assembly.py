"""From passages to a result: hits, the blocks of text that fit the host's limits, and a citation for each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from headwater.answering.blocks import Room, fill
from headwater.models import Citation, Hit, Provenance, RetrievalResult, Scores, Trust
from headwater.prompts.keys import key_of
from headwater.sensitivity import SENSITIVITIES
from headwater.store.question import Question
from headwater.store.rows import Candidate

TRUST: Final = Trust()


@dataclass(frozen=True, slots=True)
class Passage:
    """What is about to be shown: the hit as a host gets it, and the candidate it was made of."""

    candidate: Candidate
    hit: Hit


@dataclass(frozen=True, slots=True)
class Answered:
    """A result, and the passages that were arranged for it: whoever shows it together with others looks at them again."""

    result: RetrievalResult
    best: Sequence[Passage] = ()

    @property
    def passages(self) -> list[Passage]:
        """What is shown, as it is shown."""
        candidates = {key_of(one.hit): one.candidate for one in self.best}
        return [Passage(candidates[key_of(hit)], hit) for hit in self.result.hits]


# The values come from our own types and were checked when they were read: validating each again would cost more than
# all the rest of a result.


def passage(
    candidate: Candidate,
    scores: Scores,
    retrieval: Literal["vector", "lexical", "hybrid"],
    *,
    rank: int,
    at: datetime,
) -> Passage:
    """``candidate`` as a hit, whole."""
    provenance = Provenance.model_construct(
        source_id=candidate.source_id,
        chunk_id=candidate.chunk_id,
        citation_id=candidate.chunk_id,
        provider=candidate.provider,
        tenant_id=candidate.scope.tenant_id,
        resource_id=candidate.scope.resource_id,
        corpus_id=candidate.scope.corpus_id,
        retrieval=retrieval,
        retrieved_at=at,
        revision=candidate.revision,
    )
    hit = Hit.model_construct(
        chunk_id=candidate.chunk_id,
        source_id=candidate.source_id,
        text=candidate.text,
        score=candidate.similarity,
        scores=scores,
        title=candidate.title,
        locator=candidate.locator,
        metadata=candidate.metadata,
        sensitivity=SENSITIVITIES[candidate.sensitivity],
        prompt_text=None,
        provenance=provenance,
        retrieval_rank=rank,
        trust=TRUST,
    )
    return Passage(candidate, hit)


def assemble(
    question: Question,
    passages: Sequence[Passage],
    *,
    layout: Sequence[int],
    generation: int | None,
    lexical_is_exact: bool | None = None,
    rerank_error: str | None = None,
) -> RetrievalResult:
    """The passages, best first, as many as were asked for and fit; their blocks stand in the order of ``layout``."""
    room = Room.within(max_result_bytes=question.max_result_bytes, max_context_tokens=question.max_context_tokens)
    best = passages[: question.top_k]
    blocks = fill([one.hit for one in best], room=room, layout=layout)
    return RetrievalResult.model_construct(
        query=question.query,
        text=blocks.text,
        hits=blocks.hits,
        citations=tuple(
            _citation(best[place].candidate, hit) for place, hit in zip(blocks.places, blocks.hits, strict=True)
        ),
        truncated=blocks.truncated,
        generation=generation,
        lexical_is_exact=lexical_is_exact,
        rerank_error=rerank_error,
        trust=TRUST,
    )


def _citation(candidate: Candidate, hit: Hit) -> Citation:
    return Citation.model_construct(
        citation_id=hit.provenance.citation_id,
        source_id=hit.source_id,
        title=hit.title,
        uri=candidate.uri,
        locator=hit.locator,
        start=candidate.start,
        end=cited_end(candidate.start, candidate.end, found=candidate.text, shown=hit.text),
        revision=candidate.revision,
        provenance=hit.provenance,
        trust=TRUST,
    )


def cited_end(start: int, end: int, *, found: str, shown: str) -> int:
    """Where what is shown ends: a shortened passage ends earlier. Of a redacted one nobody can tell, and all is cited.

    ``found`` is the passage that stands from ``start`` to ``end``, as the redactor left it.
    """
    return start + len(shown) if len(found) == end - start else end
