"""What alice may not read is nowhere either where one question goes to several corpora, to libraries or to a large partition."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from headwater import (
    AsyncRetriever,
    Authorization,
    RetrievalResult,
    Retriever,
    Scope,
    context_provider,
    resolve_reranker,
)
from headwater.embedders.hashing import HashEmbedder
from headwater.libraries import AsyncLibraries, Libraries
from headwater.limits import FEW_CHUNKS, POSTINGS
from headwater.rerankers.fake import FakeReranker
from headwater.store.db import connect
from headwater.tool import retrieval_tool
from tests.integration.retrieval.corpus_rows import CorpusRows
from tests.integration.retrieval.everything_said import ID, MARKERS, Said
from tests.integration.retrieval.hidden_source import ALICE, BOB, QUERY, fill_open, hidden, hide_all
from tests.integration.retrieval.large_rows import DIMENSIONS, Large, part
from tests.integration.retrieval.large_words import Words, looked_up
from tests.rerank.server import RunningReranker

EVERYTHING = ("public", "internal", "confidential", "restricted")
SEARCHES: dict[str, dict[str, Any]] = {
    "vector": {},
    "exact": {"exact": True},
    "bm25": {"lexical": "bm25", "filter": {"kind": "fruit"}},
    "fts": {"lexical": "fts", "fusion": "weighted", "top_k": 32, "candidates": 128},
    "arranged": {"lexical": "bm25", "post_processors": "mmr,compress,window,lost_in_middle"},
}


@pytest.fixture
def second(corpus: CorpusRows) -> CorpusRows:
    """Another corpus, which holds nothing that is hidden."""
    scope = corpus.scope.model_copy(update={"corpus_id": f"{corpus.scope.corpus_id}-second"})
    rows = CorpusRows(corpus.connection, scope, corpus.embedder)
    fill_open(rows)
    rows.count_terms()
    return rows


def opening(said: Said, dimensions: int = 64) -> dict[str, Any]:
    return {
        "embedder": HashEmbedder(dimensions),
        "telemetry": said.telemetry,
        "hosted_sensitivities": EVERYTHING,
    }


def orders(wire: RunningReranker) -> tuple[Any, ...]:
    return None, resolve_reranker(f"tei:{wire.url}", allow_loopback=True, timeout_s=10)


def note_wire(said: Said, wire: RunningReranker) -> None:
    for asked in wire.asked:
        said.note("wire", asked.raw.decode())


def check_told(said: Said, named: set[str], *looked_at: str) -> None:
    """Nothing was said in any of these places, and the audit names those that only a grant is missing for."""
    assert said.markers() == {}
    assert set(looked_at) <= set(said.where), "all was looked at"
    assert {denial.source_id for denial in said.audit} == named


def ask_both(said: Said, dsn: str, scopes: list[Scope], who: Authorization, wire: RunningReranker) -> None:
    """In one question, by every search and reranker."""
    with Retriever.connect(dsn, **opening(said)) as retriever:
        for search in SEARCHES.values():
            for order in orders(wire):
                asked: dict[str, Any] = {**search, "scopes": scopes, "authorization": who, "reranker": order}
                result = said.asking(partial(retriever.retrieve, QUERY, on_access_denied=said.audit.append, **asked))
                assert result is not None and result.hits
    note_wire(said, wire)


def test_a_question_to_two_corpora_says_nothing_of_it(
    said: Said, filled: CorpusRows, second: CorpusRows, reading: str, reranker: RunningReranker
) -> None:
    named = hide_all(filled)
    filled.count_terms()

    ask_both(said, reading, [second.scope, filled.scope], ALICE, reranker)

    check_told(said, named, "result", "json", "wire", "log", "span")


def test_the_grants_of_one_corpus_are_none_in_another(
    said: Said, filled: CorpusRows, second: CorpusRows, reading: str, reranker: RunningReranker
) -> None:
    """Alice may read a source of the same id there."""
    hidden(filled)
    second.add(ID, "apples pears plums")
    filled.count_terms()

    ask_both(said, reading, [second.scope, filled.scope], ALICE, reranker)

    assert all(markers == {ID} for markers in said.markers().values())
    assert {str(denial.scope) for denial in said.audit} == {str(filled.scope)}


def ask_libraries(said: Said, dsn: str, scopes: list[Scope], who: Authorization) -> None:
    """Both as libraries and for a model: sync, async, and what is made for prompts of either."""
    shelves = {"one": scopes[0], "two": scopes[1]}
    usual: dict[str, Any] = {"authorization": who, "on_access_denied": said.audit.append}
    for_model: dict[str, Any] = {"lexical": "bm25", **usual}
    message = [{"role": "user", "content": QUERY}]
    with Retriever.connect(dsn, **opening(said)) as retriever:
        libraries = Libraries(retriever, shelves)
        for search in SEARCHES.values():
            for order in (None, FakeReranker()):
                result = said.asking(partial(libraries.retrieve, QUERY, reranker=order, **search, **usual))
                assert result is not None and result.hits
        for name, tool in {
            "tool": retrieval_tool(retriever, scope=scopes[1], **for_model),
            "tool of libraries": retrieval_tool(libraries, **for_model),
        }.items():
            said.note(name, tool({"query": QUERY}))
        said.note("context", context_provider(libraries, **for_model)(message))

    async def ask() -> None:
        async with AsyncRetriever.connect(dsn, **opening(said)) as retriever:
            libraries = AsyncLibraries(retriever, shelves)
            for search in SEARCHES.values():
                said.note("async", (await libraries.retrieve(QUERY, **search, **usual)).model_dump_json())
            said.note("async tool", await retrieval_tool(retriever, scope=scopes[1], **for_model)({"query": QUERY}))
            said.note("async context", await context_provider(libraries, **for_model)(message))

    asyncio.run(ask())


FOR_A_MODEL = {"tool", "tool of libraries", "context", "async", "async tool", "async context"}


def test_libraries_and_tools_say_nothing_of_it(
    said: Said, filled: CorpusRows, second: CorpusRows, reading: str
) -> None:
    named = hide_all(filled)
    filled.count_terms()

    ask_libraries(said, reading, [second.scope, filled.scope], ALICE)

    check_told(said, named, *FOR_A_MODEL)


def ask_async(said: Said, dsn: str, scope: Scope, who: Authorization, wire: RunningReranker) -> None:
    """All at once, by every search and reranker."""

    async def ask() -> list[RetrievalResult]:
        async with AsyncRetriever.connect(dsn, **opening(said)) as retriever:
            usual: dict[str, Any] = {"scope": scope, "authorization": who, "on_access_denied": said.audit.append}
            return [
                await retriever.retrieve(QUERY, reranker=order, **search, **usual)
                for search in SEARCHES.values()
                for order in orders(wire)
            ]

    for result in asyncio.run(ask()):
        assert result.hits
        said.note("json", result.model_dump_json())
    note_wire(said, wire)


def test_async_questions_that_are_reranked_say_nothing_of_it(
    said: Said, filled: CorpusRows, reading: str, reranker: RunningReranker
) -> None:
    named = hide_all(filled)
    filled.count_terms()

    ask_async(said, reading, filled.scope, ALICE, reranker)

    check_told(said, named, "json", "wire", "log", "span")


@pytest.fixture
def large(corpus: CorpusRows) -> CorpusRows:
    """An empty corpus in a partition of its own."""
    scope = corpus.scope.model_copy(update={"corpus_id": f"{corpus.scope.corpus_id}-large"})
    rows = CorpusRows(corpus.connection, scope, HashEmbedder(DIMENSIONS))
    rows.begin_build(is_large=True)
    rows.make_graph()
    rows.show_build()
    return rows


def believed_large(corpus: CorpusRows) -> None:
    """Postgres takes it for one of ten million passages, so that its indexes are read."""
    corpus.count_terms()
    corpus.analyze()
    corpus.execute("UPDATE pg_class SET reltuples = 1e7 WHERE relname = %s", f"chunk_s{corpus.slab}")


def ask_large(said: Said, dsn: str, corpus: CorpusRows, who: Authorization, wire: RunningReranker) -> None:
    believed_large(corpus)
    with Retriever.connect(dsn, **opening(said, DIMENSIONS)) as retriever:
        for search in SEARCHES.values():
            for order in orders(wire):
                asked: dict[str, Any] = {**search, "scope": corpus.scope, "authorization": who, "reranker": order}
                result = said.asking(partial(retriever.retrieve, QUERY, on_access_denied=said.audit.append, **asked))
                assert result is not None and result.hits
    note_wire(said, wire)
    with connect(dsn) as asking:  # the rows themselves, before anything looks again
        words, usual = Words(Large(corpus, asking)), {"few_chunks": FEW_CHUNKS, "postings": POSTINGS}
        for lexical in ("bm25", "fts"):
            bound = words.bound(QUERY, reader=who.principal_id, lexical=lexical)
            said.note("rows", asking.execute(words.sql(lexical=lexical, candidates=128, **usual), bound).fetchall())
        plan = words.plan(QUERY, reader=who.principal_id, **usual)
        assert looked_up(plan, "first_look") and "never executed" not in part(plan, "walked").splitlines()[0]


def test_a_large_partition_says_nothing_of_it(
    said: Said, large: CorpusRows, reading: str, reranker: RunningReranker
) -> None:
    fill_open(large)
    named = hide_all(large)

    ask_large(said, reading, large, ALICE, reranker)

    check_told(said, named, "result", "json", "rows", "wire", "log", "span")


def test_somebody_who_may_read_it_finds_it_in_each_of_these_ways(
    filled: CorpusRows, second: CorpusRows, large: CorpusRows, reading: str, reranker: RunningReranker
) -> None:
    """Or the search for it would prove nothing."""
    for corpus in (filled, large):
        hidden(corpus)
    filled.count_terms()
    fill_open(large)
    both = [second.scope, filled.scope]

    ways: list[tuple[set[str], Callable[[Said], None]]] = [
        ({"result", "json"}, lambda said: ask_both(said, reading, both, BOB, reranker)),
        ({"result", "json", "async"}, lambda said: ask_libraries(said, reading, both, BOB)),
        ({"json"}, lambda said: ask_async(said, reading, filled.scope, BOB, reranker)),
        ({"result", "json", "rows"}, lambda said: ask_large(said, reading, large, BOB, reranker)),
    ]
    for places, ask in ways:
        said = Said()
        ask(said)
        found = said.markers()
        assert all(found[place] == set(MARKERS) for place in places)
        assert all(ID in found[place] for place in FOR_A_MODEL & set(said.where))
