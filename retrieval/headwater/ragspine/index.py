"""Where a narrative retriever looks: in a corpus, under a reader's grants, or among chunks that a host holds itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from headwater.embedders import Embedder
from headwater.errors import LimitError, ValidationError
from headwater.fusion import fuse_reciprocal_rank
from headwater.limits import CONTEXT_TOKENS, RESULT_BYTES, TOP_K
from headwater.models import Authorization, Scope
from headwater.ragspine.bm25 import bm25_scores, tokenize
from headwater.ragspine.modes import legs_of
from headwater.ragspine.predicates import PredicateSet, parse_predicates
from headwater.ragspine.snippets import Snippet, Snippets, SnippetScores, snippets_of
from headwater.rewriting import Rewriter, variants
from headwater.sensitivity import RESTRICTED, SENSITIVITIES, allowed_levels, sensitivity_level
from headwater.vectors import check_vectors

if TYPE_CHECKING:
    from headwater.retriever import Retriever

CHUNKS_MAX: Final = 10_000
TOP_K_MAX: Final = 1_000


class Index(Protocol):
    """What a narrative retriever asks."""

    def search(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = TOP_K.cap) -> list[Snippet]:
        """Snippets that satisfy every filter, best first, and nothing that is restricted.

        `Snippets`, which are a list too, can say more of them.
        """
        ...


@dataclass(frozen=True, slots=True)
class CorpusIndex:
    """A Headwater corpus, read in one person's name. ``filters`` are those of `Retriever.retrieve`.

    ``mode`` is one that uses vectors: a corpus is always searched by them too. ``arguments`` go to every search. The limits
    of a result are as wide as they go, for this profile counts snippets: give narrower ones if all is to fit a prompt.
    """

    retriever: "Retriever"
    scope: Scope
    authorization: Authorization
    mode: str = "auto"
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "vector" not in legs_of(self.mode):
            raise ValidationError(
                f"A corpus is searched by its vectors too: mode {self.mode!r} is for chunks in memory (ChunkIndex)."
            )

    def search(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = TOP_K.cap) -> Snippets:
        usual = {
            "lexical": "bm25",
            "max_result_bytes": RESULT_BYTES.cap,
            "max_context_tokens": CONTEXT_TOKENS.cap,
        }
        result = self.retriever.retrieve(
            query,
            **{**usual, **self.arguments, **self._labels()},
            scope=self.scope,
            authorization=self.authorization,
            filter=filters or None,
            top_k=top_k,
        )
        return Snippets(
            snippets_of(result.hits),
            truncated=result.truncated,
            rerank_error=result.rerank_error,
            check_error=result.check_error,
        )

    def _labels(self) -> dict[str, Any]:
        """Without what becomes no snippet: it would take the places of others, and be read by a reranker for nothing."""
        if self.arguments.get("sensitivities") is None:  # then nothing restricted is found
            return {}
        levels = allowed_levels(self.arguments["sensitivities"], "sensitivities")
        return {"sensitivities": [SENSITIVITIES[level] for level in levels if level < RESTRICTED]}


@dataclass(frozen=True, slots=True)
class NarrativeChunk:
    """A chunk in memory. Of its ``metadata``, filters see every field."""

    chunk_id: str
    doc_id: str
    text: str
    title: str | None = None
    locator: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sensitivity: str | None = None


class ChunkIndex:
    """Chunks that a host holds itself, and itself answers for who may read them: no grants are checked here.

    BM25 and, with an ``embedder`` in a mode that allows one, cosines; ranks fused, equal ones by chunk id. The embedder is
    made when it is first needed: in a mode of words alone, never. Filters compare as text, and nothing that they leave out
    is scored or embedded.
    """

    def __init__(
        self,
        chunks: Sequence[NarrativeChunk],
        *,
        embedder: Callable[[], Embedder | None] | None = None,
        mode: str = "auto",
        rewriter: Rewriter | None = None,
    ) -> None:
        if len(chunks) > CHUNKS_MAX:
            raise LimitError(
                f"An index in memory holds at most {CHUNKS_MAX:,} chunks, not {len(chunks):,}: use a corpus."
            )
        if len({chunk.chunk_id for chunk in chunks}) != len(chunks):
            raise ValidationError("Chunks of an index must have an id each: one is there twice.")
        # Restricted chunks are left out here, so that no model and no caller ever sees one.
        self._chunks = [chunk for chunk in chunks if sensitivity_level(chunk.sensitivity) < RESTRICTED]
        self._tokens = [tokenize(chunk.text) for chunk in self._chunks]
        self._make_embedder = embedder if "vector" in legs_of(mode) else None
        self._embedder: Embedder | None = None
        self._vectors: dict[str, NDArray[np.float32]] = {}  # by chunk id, of those that were ever searched
        self._rewriter = rewriter

    def search(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = 50) -> list[Snippet]:
        if type(top_k) is not int or not 1 <= top_k <= TOP_K_MAX:
            raise LimitError(f"top_k must be from 1 to {TOP_K_MAX:,}, not {top_k}.")
        wanted = filters if isinstance(filters, PredicateSet) else parse_predicates(filters or {})
        places = [place for place, chunk in enumerate(self._chunks) if wanted.matches(chunk.metadata)]
        if not places or not query.strip():
            return []
        words: dict[int, float] = {}
        vectors: dict[int, float] = {}
        legs: list[list[tuple[str, int]]] = []  # by chunk id first: what decides between equal ones
        for asked in variants(self._rewriter, query):
            scored = bm25_scores(tokenize(asked), [self._tokens[place] for place in places])
            legs.append(self._leg({p: score for p, score in zip(places, scored, strict=True) if score > 0}, words))
            if (similar := self._similar(asked, places)) is not None:
                legs.append(self._leg(similar, vectors))
        return [
            self._snippet(place, SnippetScores(bm25=words.get(place), vector=vectors.get(place), fused=score))
            for (_, place), score in sorted(fuse_reciprocal_rank(legs), key=lambda fused: (-fused.score, fused.item))[
                :top_k
            ]
        ]

    def _leg(self, scores: Mapping[int, float], best: dict[int, float]) -> list[tuple[str, int]]:
        """The chunks of one ranking, best first. ``best`` keeps the best score of each over all queries."""
        for place, score in scores.items():
            best[place] = max(score, best.get(place, score))
        return sorted(
            ((self._chunks[place].chunk_id, place) for place in scores), key=lambda one: (-scores[one[1]], one[0])
        )

    def _similar(self, query: str, places: Sequence[int]) -> dict[int, float] | None:
        """The cosine of each chunk, those of no likeness too; None without an embedder."""
        if self._embedder is None and self._make_embedder is not None:
            self._embedder, self._make_embedder = self._make_embedder(), None
        embedder = self._embedder
        if embedder is None:
            return None
        new = [place for place in places if self._chunks[place].chunk_id not in self._vectors]
        texts = [query, *(self._chunks[place].text for place in new)]
        asked, *vectors = check_vectors(embedder.embed(texts), count=len(texts), dimensions=embedder.dimensions)
        for place, vector in zip(new, vectors, strict=True):
            self._vectors[self._chunks[place].chunk_id] = vector
        return {place: _cosine(asked, self._vectors[self._chunks[place].chunk_id]) for place in places}

    def _snippet(self, place: int, scores: SnippetScores) -> Snippet:
        chunk = self._chunks[place]
        return Snippet(
            text=chunk.text,
            doc_id=chunk.doc_id,
            title=chunk.title,
            source_locator=chunk.locator,
            chunk_id=chunk.chunk_id,
            metadata=dict(chunk.metadata),
            sensitivity=SENSITIVITIES[sensitivity_level(chunk.sensitivity)],
            scores=scores,
        )


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length else 0.0
