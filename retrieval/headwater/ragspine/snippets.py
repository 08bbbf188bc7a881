"""What an agent of this profile gets of a passage: its text, where it comes from, and how it was found."""

from collections.abc import Iterable, Mapping
from typing import Any, NotRequired, TypedDict

from headwater.models import Hit
from headwater.sensitivity import RESTRICTED, sensitivity_level


class SnippetScores(TypedDict):
    bm25: float | None
    vector: float | None
    fused: float


class Snippet(TypedDict):
    """``text`` is what may be quoted; ``prompt_text``, where there is one, is what a prompt should show instead."""

    text: str
    doc_id: str
    title: str | None
    source_locator: str | None
    chunk_id: str
    metadata: dict[str, Any]
    sensitivity: str
    scores: SnippetScores
    prompt_text: NotRequired[str]


class Snippets(list[Snippet]):
    """Snippets in their order, and what their search says of them all.

    ``truncated``: more was found than the limits let be given, or the last one was shortened. ``rerank_error`` says why they
    are not in a reranker's order, ``check_error`` why there are none although that is no answer.
    """

    def __init__(
        self,
        found: Iterable[Snippet] = (),
        *,
        truncated: bool = False,
        rerank_error: str | None = None,
        check_error: str | None = None,
    ) -> None:
        super().__init__(found)
        self.truncated = truncated
        self.rerank_error = rerank_error
        self.check_error = check_error


def as_snippets(found: list[Snippet]) -> Snippets:
    """What an index gave: one of a host's own may give a plain list, which says nothing more."""
    return found if isinstance(found, Snippets) else Snippets(found)


def snippets_of(hits: Iterable[Hit]) -> list[Snippet]:
    """The hits as snippets, in their order. What is restricted is dropped before there is a snippet of it."""
    return [_snippet(hit) for hit in hits if sensitivity_level(hit.sensitivity) < RESTRICTED]


def _snippet(hit: Hit) -> Snippet:
    snippet = Snippet(
        text=hit.text,
        doc_id=hit.source_id,
        title=hit.title,
        source_locator=hit.locator,
        chunk_id=hit.chunk_id,
        metadata=dict(hit.metadata),
        sensitivity=hit.sensitivity,
        scores=SnippetScores(bm25=hit.scores.lexical, vector=hit.scores.vector, fused=hit.scores.fused),
    )
    if hit.prompt_text is not None:
        snippet["prompt_text"] = hit.prompt_text
    return snippet


def text_for_prompt(snippet: Mapping[str, Any]) -> str:
    """What generation reads. Citations and quotations always take ``text``."""
    prompt_text = snippet.get("prompt_text")
    return prompt_text if isinstance(prompt_text, str) and prompt_text else str(snippet["text"])
