"""How hosts use the library. Type-checked and never run: what stands here keeps its types."""

from collections.abc import Sequence
from typing import Any, Literal, assert_type

import numpy as np
from numpy.typing import NDArray

from headwater import (
    AccessDenied,
    AsyncRetriever,
    Authorization,
    Chunk,
    Citation,
    Embedder,
    Hit,
    Provenance,
    RetrievalResult,
    Retriever,
    Scope,
    Trust,
    chunk_markdown,
    chunk_text,
    fuse_reciprocal_rank,
    resolve_embedder,
    resolve_reranker,
)


class ArrayEmbedder:
    """An embedder of a host's own needs no base class."""

    identity = "mine/1"
    dimensions = 8
    max_tokens = 512

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), self.dimensions), dtype=np.float32)


class ListEmbedder:
    @property
    def identity(self) -> str:
        return "mine/2"

    @property
    def dimensions(self) -> int:
        return 2

    @property
    def max_tokens(self) -> int:
        return 512

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[0.0, 1.0] for _ in texts]


class Reversed:
    """A reranker of a host's own."""

    is_hosted = False

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return list(reversed(hits))


EMBEDDERS: list[Embedder] = [ArrayEmbedder(), ListEmbedder(), resolve_embedder("hash:64")]
SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")
ALICE = Authorization(principal_id="alice", tenant_id="t1", group_ids=("eng",), access_version=3)


def audited(event: AccessDenied) -> None:
    assert_type(event.source_id, str)
    assert_type(event.scope, Scope)
    assert_type(event.reason, Literal["no_grant", "check_failed"])
    assert_type(event.hits, int)
    assert_type(event.error, str | None)


def asks(dsn: str) -> None:
    with Retriever.connect(dsn, embedder="onnx:minilm", schema="headwater") as retriever:
        assert_type(retriever, Retriever)
        result = retriever.retrieve("How do approvals work?", scope=SCOPE, authorization=ALICE)
        assert_type(result, RetrievalResult)
        retriever.retrieve(
            "How do approvals work?",
            scope=SCOPE,
            authorization=ALICE,
            top_k=5,
            candidates=20,
            lexical="bm25",
            fusion="weighted",
            rrf_k=60,
            filter={"category": "security", "year": {"gte": 2024}},
            reranker=resolve_reranker("none"),
            on_rerank_error="keep",
            sensitivities=("public", "internal"),
            exact=True,
            max_result_bytes=65_536,
            max_context_tokens=2_000,
            on_access_denied=audited,
            redactor=str.upper,
            rewriter=lambda query: [query.lower()],
            post_processors="mmr,lost_in_middle",
        )
        retriever.retrieve("q", scopes=[SCOPE, SCOPE], authorization=ALICE, reranker=Reversed())
    Retriever.connect(dsn, embedder=ArrayEmbedder()).close()
    with Retriever(dsn, embedder="hash:64") as retriever:
        assert_type(retriever, Retriever)


async def asks_and_waits(dsn: str) -> None:
    async with AsyncRetriever.connect(dsn, embedder=ListEmbedder()) as retriever:
        assert_type(retriever, AsyncRetriever)
        result = await retriever.retrieve("q", scope=SCOPE, authorization=ALICE, on_access_denied=audited)
        assert_type(result, RetrievalResult)
    retriever = await AsyncRetriever.connect(dsn, embedder="hash:64")
    assert_type(retriever, AsyncRetriever)
    await retriever.close()


def reads(result: RetrievalResult) -> None:
    assert_type(result.query, str)
    assert_type(result.text, str)
    assert_type(result.hits, tuple[Hit, ...])
    assert_type(result.citations, tuple[Citation, ...])
    assert_type(result.truncated, bool)
    assert_type(result.generation, int | None)
    assert_type(result.trust, Trust)
    for hit in result.hits:
        assert_type(hit.text, str)
        assert_type(hit.score, float)
        assert_type(hit.scores.lexical, float | None)
        assert_type(hit.title, str | None)
        assert_type(hit.locator, str | None)
        assert_type(hit.metadata, dict[str, Any])
        assert_type(hit.retrieval_rank, int)
        assert_type(hit.provenance, Provenance)
    for citation in result.citations:
        assert_type(citation.uri, str | None)
        assert_type((citation.start, citation.end, citation.revision), tuple[int, int, int])


def refused(retriever: Retriever) -> None:
    """What must not pass. A wrong call that is accepted makes its comment unused, which is an error too."""
    retriever.retrieve("q", scope=SCOPE)  # type: ignore[call-arg]  # nobody asks  # pyright: ignore[reportCallIssue]
    retriever.retrieve("q", scope=SCOPE, authorization=ALICE, lexical="on")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    retriever.retrieve("q", SCOPE, ALICE)  # type: ignore[call-arg, arg-type]  # by position  # pyright: ignore[reportCallIssue]


def fuses(result: RetrievalResult) -> None:
    for item, score in fuse_reciprocal_rank([["a", "b"], ["a", "c", "b"]], k=60):
        assert_type(item, str)
        assert_type(score, float)
    assert_type(fuse_reciprocal_rank([result.hits, result.hits])[0].item, Hit)


def cuts() -> None:
    assert_type(chunk_text("text", source_id="guide"), list[Chunk])
    assert_type(chunk_markdown("# text", source_id="guide", size=500, overlap=50), list[Chunk])
