"""A corpus to ask, and a way to ask it that is once the sync retriever and once the async one."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import psycopg
import pytest
from psycopg import sql

from headwater import AsyncRetriever, Authorization, RetrievalResult, Retriever, Scope
from headwater.embedders import Embedder
from headwater.embedders.hashing import HashEmbedder
from tests.integration.retrieval.corpus_rows import CorpusRows
from tests.integration.retrieval.everything_said import Said, everything_logged
from tests.integration.retrieval.hidden_source import fill_open
from tests.integration.retrieval.wire import Wire
from tests.rerank.server import RunningReranker, by_words, in_order, running_reranker

ALICE = Authorization(principal_id="alice", tenant_id="t1")


class Ask(Protocol):
    """Asks as alice in the test's own corpus, unless the arguments say otherwise."""

    def __call__(self, query: str, **arguments: Any) -> RetrievalResult: ...


@pytest.fixture(scope="session")
def reading(postgres: str, template_db: str) -> Iterator[str]:
    """One database for all tests of reading: each has a corpus of its own there."""
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE reading TEMPLATE {}").format(sql.Identifier(template_db)))
        yield postgres.rpartition("/")[0] + "/reading"
        admin.execute("DROP DATABASE reading WITH (FORCE)")


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder(64)


@pytest.fixture
def scope() -> Scope:
    return Scope(tenant_id="t1", resource_id="docs", corpus_id=f"corpus-{next(_numbers)}")


_numbers = itertools.count(1)


@pytest.fixture
def corpus(reading: str, scope: Scope, embedder: HashEmbedder) -> Iterator[CorpusRows]:
    with psycopg.connect(reading, autocommit=True) as connection:
        yield CorpusRows(connection, scope, embedder)


@pytest.fixture
def said() -> Iterator[Said]:
    """All that is logged or told to a collector of spans while a test runs."""
    said = Said()
    with everything_logged(said):
        yield said


@pytest.fixture
def reranker() -> Iterator[RunningReranker]:
    """One on the wire, which orders by the words that a passage has of the query."""
    with running_reranker(by_words(lambda scores: in_order(scores, "score"), "texts")) as running:
        yield running


@pytest.fixture
def filled(corpus: CorpusRows) -> CorpusRows:
    """With what anybody may read."""
    fill_open(corpus)
    return corpus


@pytest.fixture(scope="session", params=["sync", "async"])
def standing(request: pytest.FixtureRequest, reading: str) -> Iterator["Asker"]:
    """A retriever that is open all the time: most questions need none of their own, which would take most of their time."""
    nowhere = Scope(tenant_id="t1", resource_id="docs", corpus_id="nowhere")
    asker = Asker(reading, HashEmbedder(64), nowhere, is_async=request.param == "async")
    yield asker
    asker.close()


@pytest.fixture
def ask(standing: "Asker", reading: str, scope: Scope, embedder: HashEmbedder) -> Ask:
    answer: Callable[..., RetrievalResult] = _async if standing.is_async else _sync
    usual = {"scope": scope, "authorization": ALICE}
    of_its_own = {"dsn": reading, "schema": "headwater", "embedder": embedder}

    def ask(query: str, **arguments: Any) -> RetrievalResult:
        if of_its_own.keys().isdisjoint(arguments):
            return standing.ask(query, **{**usual, **arguments})
        return answer(query, **{**usual, **of_its_own, **arguments})

    return ask


def _sync(query: str, *, dsn: str, schema: str, embedder: str | Embedder, **arguments: Any) -> RetrievalResult:
    with Retriever.connect(dsn, embedder=embedder, schema=schema) as retriever:
        return retriever.retrieve(query, **arguments)


def _async(query: str, *, dsn: str, schema: str, embedder: str | Embedder, **arguments: Any) -> RetrievalResult:
    async def answer() -> RetrievalResult:
        async with AsyncRetriever.connect(dsn, embedder=embedder, schema=schema) as retriever:
            return await retriever.retrieve(query, **arguments)

    return asyncio.run(answer())


class Asker:
    """One retriever that stays open, and asks in a thread of its own so that a test can act meanwhile."""

    def __init__(self, dsn: str, embedder: Embedder, scope: Scope, *, is_async: bool) -> None:
        self.is_async = is_async
        self._usual: dict[str, Any] = {"scope": scope, "authorization": ALICE}
        self._thread = ThreadPoolExecutor(1)
        self._runner = asyncio.Runner()
        self._retriever: Retriever | AsyncRetriever
        if is_async:
            self._retriever = AsyncRetriever.connect(dsn, embedder=embedder)
            self._thread.submit(self._runner.run, self._retriever.__aenter__()).result()
        else:
            self._retriever = Retriever.connect(dsn, embedder=embedder)

    def start(self, query: str, **arguments: Any) -> Future[RetrievalResult]:
        """The answer, when there is one."""
        return self._thread.submit(self._ask, query, {**self._usual, **arguments})

    def ask(self, query: str, **arguments: Any) -> RetrievalResult:
        return self.start(query, **arguments).result(timeout=60)

    def close(self) -> None:
        if isinstance(self._retriever, AsyncRetriever):
            self._thread.submit(self._runner.run, self._retriever.close()).result()
            self._thread.submit(self._runner.close).result()
        else:
            self._retriever.close()
        self._thread.shutdown()

    def _ask(self, query: str, arguments: dict[str, Any]) -> RetrievalResult:
        if isinstance(self._retriever, AsyncRetriever):
            return self._runner.run(self._retriever.retrieve(query, **arguments))
        return self._retriever.retrieve(query, **arguments)


@pytest.fixture
def wire(reading: str) -> Iterator[Wire]:
    with Wire(reading) as wire:
        yield wire


@pytest.fixture(params=["sync", "async"])
def asker(request: pytest.FixtureRequest, wire: Wire, scope: Scope, embedder: HashEmbedder) -> Iterator[Asker]:
    """Asks through the wire."""
    asker = Asker(wire.dsn, embedder, scope, is_async=request.param == "async")
    yield asker
    asker.close()
