"""The spans of a whole question: which there are, below what, and what they tell."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from headwater import AsyncRetriever, Authorization, RerankError, Retriever, Scope
from headwater.embedders.hashing import HashEmbedder
from headwater.libraries import AsyncLibraries, Libraries
from headwater.rerankers.fake import FakeReranker
from headwater.rerankers.profiles import KeptOrder
from tests.integration.retrieval.corpus_rows import CorpusRows
from tests.integration.retrieval.everything_said import Said

ALICE = Authorization(principal_id="alice", tenant_id="t1")
STEPS = {
    "embedding.query",
    "retrieval.vector_search",
    "retrieval.lexical",
    "retrieval.fusion",
    "retrieval.rerank",
    "prompt.assembly",
}


@pytest.fixture
def filled(corpus: CorpusRows) -> CorpusRows:
    for number in range(3):
        corpus.add(f"open-{number}", f"apples number {number}")
    corpus.add("hidden", "apples apples", readers=["user:bob"])
    corpus.count_terms()
    return corpus


@pytest.fixture
def second(reading: str, scope: Scope) -> Iterator[CorpusRows]:
    other = scope.model_copy(update={"corpus_id": f"{scope.corpus_id}-second"})
    with psycopg.connect(reading, autocommit=True) as connection:
        corpus = CorpusRows(connection, other, HashEmbedder(64))
        corpus.add("elsewhere", "apples of another corpus")
        yield corpus


class Broken(FakeReranker):
    def rerank(self, query: str, hits: Any) -> Any:
        raise RuntimeError("apples number 1")


def asked(
    said: Said, dsn: str, corpus: CorpusRows, *, is_async: bool = False, **arguments: Any
) -> dict[str, ReadableSpan]:
    """The spans of one question, by name."""
    whole = {"scope": corpus.scope, "authorization": ALICE, **arguments}
    opening: dict[str, Any] = {"embedder": HashEmbedder(64), "telemetry": said.telemetry}

    async def ask() -> None:
        async with AsyncRetriever.connect(dsn, **opening) as retriever:
            await retriever.retrieve("apples", **whole)

    if is_async:
        asyncio.run(ask())
    else:
        with Retriever.connect(dsn, **opening) as retriever:
            retriever.retrieve("apples", **whole)
    spans = said.spans.get_finished_spans()
    assert len({span.name for span in spans}) == len(spans), "one of each"
    return {span.name: span for span in spans}


def below(span: ReadableSpan, spans: dict[str, ReadableSpan]) -> set[str]:
    assert span.context is not None
    return {name for name, each in spans.items() if each.parent and each.parent.span_id == span.context.span_id}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_each_step_has_a_span_below_its_question(reading: str, filled: CorpusRows, is_async: bool) -> None:
    spans = asked(Said(), reading, filled, is_async=is_async, lexical="bm25", reranker=FakeReranker(), top_k=2)

    request = spans["rag_request"]
    assert request.parent is None
    assert below(request, spans) | below(spans["retrieval.vector_search"], spans) == STEPS
    for span in spans.values():
        assert span.status.is_unset
        assert all(re.fullmatch(r"rag\.[a-z0-9._]+", key) for key in span.attributes or {})
    assert {"rag.top_k": 2, "rag.lexical": "bm25", "rag.scopes": 1}.items() <= dict(request.attributes or {}).items()


def test_what_is_shown_is_told_by_id_and_rank_and_what_is_withheld_by_number(reading: str, filled: CorpusRows) -> None:
    spans = asked(Said(), reading, filled, top_k=2, on_access_denied=lambda denial: None)

    events = [(event.name, dict(event.attributes or {})) for event in spans["rag_request"].events]
    shown = [told for name, told in events if name == "chunk_retrieved"]
    assert [told["rag.rank"] for told in shown] == [1, 2]
    assert all(str(told["rag.chunk_id"]).startswith("open-") for told in shown)
    assert [told for name, told in events if name == "rag.acl_denied"] == [{"rag.denied": 1}]


def test_without_a_lexical_leg_and_a_reranker_there_are_no_spans_of_theirs(reading: str, filled: CorpusRows) -> None:
    spans = asked(Said(), reading, filled)
    assert not {"retrieval.lexical", "retrieval.rerank"} & set(spans)


def test_an_error_flags_the_step_it_came_from_and_the_question(reading: str, filled: CorpusRows) -> None:
    said = Said()
    with pytest.raises(RerankError):
        asked(said, reading, filled, reranker=Broken())

    spans = {span.name: span for span in said.spans.get_finished_spans()}
    flagged = {name for name, span in spans.items() if (span.attributes or {}).get("rag.error")}
    assert flagged == {"rag_request", "retrieval.rerank"}
    assert "apples" not in "".join(span.to_json() for span in spans.values())


def test_of_what_is_shown_the_score_is_told_beside_the_rank(reading: str, filled: CorpusRows) -> None:
    """The similarity, as the hit has it."""
    with Retriever.connect(reading, embedder=HashEmbedder(64)) as retriever:
        result = retriever.retrieve("apples", scope=filled.scope, authorization=ALICE, lexical="bm25")
    spans = asked(Said(), reading, filled, lexical="bm25")

    shown = [dict(event.attributes or {}) for event in spans["rag_request"].events if event.name == "chunk_retrieved"]
    assert shown == [
        {"rag.chunk_id": hit.chunk_id, "rag.rank": rank, "rag.score": hit.score}
        for rank, hit in enumerate(result.hits, start=1)
    ]
    assert len(shown) == 3


def test_a_generation_is_told_of_one_corpus_and_of_several_none(
    reading: str, filled: CorpusRows, second: CorpusRows
) -> None:
    filled.log(7)
    one = asked(Said(), reading, filled)["rag_request"].attributes or {}
    both: dict[str, Any] = {"scope": None, "scopes": [filled.scope, second.scope]}
    several = asked(Said(), reading, filled, **both)["rag_request"].attributes or {}

    assert (one["rag.scopes"], one["rag.generation"]) == (1, 7)
    assert (several["rag.scopes"], several["rag.hits"]) == (2, 4)
    assert "rag.generation" not in several


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("has_parent", [False, True])
def test_of_several_libraries_each_is_a_question_below_the_whole(
    reading: str, filled: CorpusRows, second: CorpusRows, is_async: bool, has_parent: bool
) -> None:
    said = Said()
    parent = TracerProvider().get_tracer("host").start_span("host's") if has_parent else None
    opening: dict[str, Any] = {"embedder": HashEmbedder(64), "telemetry": said.below(parent)}
    libraries = {"a": filled.scope, "b": second.scope}

    async def ask() -> None:
        async with AsyncRetriever.connect(reading, **opening) as retriever:
            await AsyncLibraries(retriever, libraries).retrieve("apples", authorization=ALICE)

    if is_async:
        asyncio.run(ask())
    else:
        with Retriever.connect(reading, **opening) as retriever:
            Libraries(retriever, libraries).retrieve("apples", authorization=ALICE)

    spans = said.spans.get_finished_spans()
    above = {span.context.span_id: span.parent.span_id if span.parent else None for span in spans if span.context}
    of_parent = parent.get_span_context().span_id if parent is not None else None
    questions = [span for span in spans if span.name == "rag_request" and span.context]
    (whole,) = (span for span in questions if (span.attributes or {})["rag.scopes"] == 2)
    assert whole.context is not None and above[whole.context.span_id] == of_parent
    assert [span.parent.span_id for span in questions if span is not whole and span.parent] == [
        whole.context.span_id
    ] * 2
    assert {span.name for span in spans if span.parent and span.parent.span_id == whole.context.span_id} == {
        "rag_request",
        "prompt.assembly",
    }
    assert (whole.attributes or {})["rag.hits"] == 4


def test_a_reranker_that_kept_the_order_is_told_as_one_that_failed(reading: str, filled: CorpusRows) -> None:
    class Degraded(FakeReranker):
        def rerank(self, query: str, hits: Any) -> Any:
            return KeptOrder.of(hits, "The judge said apples.")

    asking: dict[str, dict[str, Any]] = {
        "fine": {"reranker": FakeReranker()},
        "degraded": {"reranker": Degraded()},
        "kept": {"reranker": Broken(), "on_rerank_error": "keep"},
    }
    told = {
        name: dict(asked(Said(), reading, filled, **arguments)["retrieval.rerank"].attributes or {})
        for name, arguments in asking.items()
    }

    assert {name: each["rag.failed"] for name, each in told.items()} == {"fine": False, "degraded": True, "kept": True}
    assert all(set(each) == {"rag.hits", "rag.failed"} for each in told.values()), "and no word of why"
