"""The retriever that an agent of this profile asks: filters that it knows, snippets with their lineage, nothing restricted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headwater.errors import ValidationError
from headwater.limits import TOP_K
from headwater.models import Authorization, Scope
from headwater.ragspine.index import ChunkIndex, CorpusIndex, Index, NarrativeChunk
from headwater.ragspine.snippets import Snippet, Snippets, as_snippets
from headwater.rewriting import Glossary

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.embedders import Embedder
    from headwater.rerankers import Reranker
    from headwater.retriever import Retriever

FILTERS: Final = ("topic", "entity", "geography", "period", "language")


@dataclass(frozen=True, slots=True)
class Narrative:
    """What was found, and what became of the filters on the way."""

    snippets: tuple[Snippet, ...]
    ignored_filters: tuple[str, ...] = ()  # that this profile does not know
    dropped_filters: bool = False  # nothing satisfied them, and the search was made again without
    truncated: bool = False  # more was found than the limits let be given, or the last one was shortened
    rerank_error: str | None = None  # why they are not in the reranker's order
    check_error: str | None = None  # why there are none, although that is no answer


class NarrativeRetriever:
    """Finds snippets in an index by a query and filters on `FILTERS`.

    A filter narrows; it never stands for permission, so with ``retry_without_filters`` a search that found nothing is made
    once more without any. Who may read what, the tenant and the labels are the index's, and stay as they are.
    """

    def __init__(self, index: Index, *, retry_without_filters: bool = False) -> None:
        self._index = index
        self._retries = retry_without_filters

    def retrieve(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = TOP_K.cap) -> Snippets:
        """The snippets alone."""
        found = self.narrative(query, filters=filters, top_k=top_k)
        return Snippets(
            found.snippets,
            truncated=found.truncated,
            rerank_error=found.rerank_error,
            check_error=found.check_error,
        )

    def narrative(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = TOP_K.cap) -> Narrative:
        """The snippets, and what became of the filters."""
        if filters is not None and not isinstance(filters, Mapping):
            raise ValidationError("filters must be a mapping of fields to values, or to {operator: value}.")
        given = dict(filters or {})
        # A filter without a value is one that nothing was found for in the question.
        known = {name: value for name, value in given.items() if name in FILTERS and value not in (None, "")}
        ignored = tuple(str(name) for name in given if name not in FILTERS)
        found = as_snippets(self._index.search(query, filters=known, top_k=top_k))
        dropped = not found and bool(known) and self._retries and found.check_error is None
        if dropped:
            found = as_snippets(self._index.search(query, filters={}, top_k=top_k))
        return Narrative(tuple(found), ignored, dropped, found.truncated, found.rerank_error, found.check_error)


def build_narrative_retriever(
    retriever: "Retriever",
    *,
    scope: Scope,
    authorization: Authorization,
    mode: str = "auto",
    glossary: Mapping[str, Sequence[str]] | None = None,
    reranker: "Reranker | None" = None,
    retry_without_filters: bool = False,
    **arguments: Any,
) -> NarrativeRetriever:
    """Over a corpus: words and vectors fused, a glossary's variants, and a reranker that keeps the order when it fails.

    ``retriever`` stays its owner's, who closes it. Other arguments are those of `Retriever.retrieve`.
    """
    settled: dict[str, Any] = {**arguments}
    if glossary is not None:
        settled["rewriter"] = Glossary(glossary)
    if reranker is not None:
        settled |= {"reranker": reranker, "on_rerank_error": "keep"}
    index = CorpusIndex(retriever, scope, authorization, mode, settled)
    return NarrativeRetriever(index, retry_without_filters=retry_without_filters)


def build_chunk_retriever(
    chunks: Sequence[NarrativeChunk],
    *,
    mode: str = "auto",
    glossary: Mapping[str, Sequence[str]] | None = None,
    embedder: "Callable[[], Embedder | None] | None" = None,
    retry_without_filters: bool = False,
) -> NarrativeRetriever:
    """Over chunks in memory: offline, and without a model unless ``embedder`` makes one."""
    index = ChunkIndex(chunks, embedder=embedder, mode=mode, rewriter=None if glossary is None else Glossary(glossary))
    return NarrativeRetriever(index, retry_without_filters=retry_without_filters)
