"""From passages to a result: blocks of text that fit the host's limits, and a citation for each of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from headwater.limits import CHARACTERS_PER_TOKEN
from headwater.models import Citation, Hit, Provenance, RetrievalResult, Scores, Trust
from headwater.question import Question
from headwater.rows import Candidate

SEPARATOR: Final = "\n\n"
TRUST: Final = Trust()


@dataclass(frozen=True, slots=True)
class Passage:
    """What is about to be shown: the hit as a host gets it, and the candidate it was made of."""

    candidate: Candidate
    hit: Hit


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
        score=_score(scores),
        scores=scores,
        title=candidate.title,
        locator=candidate.locator,
        metadata=candidate.metadata,
        prompt_text=None,
        provenance=provenance,
        retrieval_rank=rank,
        trust=TRUST,
    )
    return Passage(candidate, hit)


def _score(scores: Scores) -> float:
    """The similarity. Where the store did not compute it, since only the words found the passage, how well they match."""
    if scores.vector is not None:
        return scores.vector
    return scores.lexical if scores.lexical is not None else 0.0


def assemble(
    question: Question,
    passages: Sequence[Passage],
    *,
    layout: Sequence[int],
    generation: int | None,
    rerank_error: str | None = None,
) -> RetrievalResult:
    """The passages, best first, as many as were asked for and fit; their blocks stand in the order of ``layout``.

    Prefixes and separators count toward both limits. The first passage that does not fit is shortened, and ends the
    list; if nothing of it fits, it is left out. Where a post-processor wrote what a prompt shows, the shorter of the two
    texts takes its room first, so that more context never costs a passage; a longer one replaces it where there is room.
    """
    room = _Room(question.max_result_bytes, question.max_context_tokens * CHARACTERS_PER_TOKEN)
    blocks: list[_Block] = []
    truncated = False
    for one in passages[: question.top_k]:
        head = f"{SEPARATOR if blocks else ''}[{one.candidate.chunk_id}] "
        whole, is_prompt_text = _shorter(one.hit)
        text = room.after(head).cut(whole)
        truncated = len(text) < len(whole)
        if text:
            room = room.after(head).after(text)
            blocks.append(_Block(one, text, is_prompt_text))
        if truncated:
            break
    for place, block in enumerate(blocks):
        hit = block.passage.hit
        if hit.prompt_text is not None and block.text == hit.text:
            wider = room.before(block.text).after(hit.prompt_text)
            if wider.is_enough:
                room, blocks[place] = wider, replace(block, text=hit.prompt_text, is_prompt_text=True)
    hits = [block.hit() for block in blocks]
    citations = [_citation(block.passage.candidate, hit) for block, hit in zip(blocks, hits, strict=True)]
    laid_out = [blocks[place] for place in layout if place < len(blocks)]
    return RetrievalResult.model_construct(
        query=question.query,
        text=SEPARATOR.join(f"[{block.passage.candidate.chunk_id}] {block.text}" for block in laid_out),
        hits=tuple(hits),
        citations=tuple(citations),
        truncated=truncated,
        generation=generation,
        rerank_error=rerank_error,
        trust=TRUST,
    )


def _shorter(hit: Hit) -> tuple[str, bool]:
    """What takes its room first, and whether a post-processor wrote it."""
    if hit.prompt_text is not None and len(hit.prompt_text) < len(hit.text):
        return hit.prompt_text, True
    return hit.text, False


@dataclass(frozen=True, slots=True)
class _Block:
    """What stands of a passage in the text of a result."""

    passage: Passage
    text: str
    is_prompt_text: bool

    def hit(self) -> Hit:
        hit = self.passage.hit
        text, prompt_text = (hit.text, self.text) if self.is_prompt_text else (self.text, None)
        if (text, prompt_text) == (hit.text, hit.prompt_text):
            return hit
        return hit.model_copy(update={"text": text, "prompt_text": prompt_text})


@dataclass(frozen=True, slots=True)
class _Room:
    """What is left of both limits. It may be less than nothing: then every cut is empty."""

    utf8_bytes: int
    characters: int

    @property
    def is_enough(self) -> bool:
        return self.utf8_bytes >= 0 and self.characters >= 0

    def after(self, text: str) -> "_Room":
        return _Room(self.utf8_bytes - len(text.encode()), self.characters - len(text))

    def before(self, text: str) -> "_Room":
        return _Room(self.utf8_bytes + len(text.encode()), self.characters + len(text))

    def cut(self, text: str) -> str:
        """As much of the beginning of ``text`` as fits, never part of a character."""
        beginning = text[: max(0, self.characters)]
        encoded = beginning.encode()
        if len(encoded) <= self.utf8_bytes:
            return beginning
        return encoded[: max(0, self.utf8_bytes)].decode(errors="ignore")  # ignores the half character at the end


def _citation(candidate: Candidate, hit: Hit) -> Citation:
    return Citation.model_construct(
        citation_id=hit.chunk_id,
        source_id=hit.source_id,
        title=hit.title,
        uri=candidate.uri,
        locator=hit.locator,
        start=candidate.start,
        end=_end(candidate, hit.text),
        revision=candidate.revision,
        provenance=hit.provenance,
        trust=TRUST,
    )


def _end(candidate: Candidate, text: str) -> int:
    """Where what is shown ends: a shortened passage ends earlier. Of a redacted one nobody can tell, and all is cited."""
    if len(candidate.text) != candidate.end - candidate.start:
        return candidate.end
    return candidate.start + len(text)
