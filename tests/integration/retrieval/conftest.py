"""A corpus to ask, and a way to ask it that is once the sync retriever and once the async one."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import psycopg
import pytest
from psycopg import sql

from headwater import AsyncRetriever, Authorization, RetrievalResult, Retriever, Scope
from headwater.embedders import Embedder
from headwater.embedders.hashing import HashEmbedder
from tests.integration.retrieval.corpus_rows import CorpusRows

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


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, reading: str, scope: Scope, embedder: HashEmbedder) -> Ask:
    answer: Callable[..., RetrievalResult] = _sync if request.param == "sync" else _async
    usual = {"embedder": embedder, "scope": scope, "authorization": ALICE}

    def ask(query: str, **arguments: Any) -> RetrievalResult:
        return answer(reading, query, **{**usual, **arguments})

    return ask


def _sync(dsn: str, query: str, *, embedder: str | Embedder, **arguments: Any) -> RetrievalResult:
    with Retriever.connect(dsn, embedder=embedder) as retriever:
        return retriever.retrieve(query, **arguments)


def _async(dsn: str, query: str, *, embedder: str | Embedder, **arguments: Any) -> RetrievalResult:
    async def answer() -> RetrievalResult:
        async with AsyncRetriever.connect(dsn, embedder=embedder) as retriever:
            return await retriever.retrieve(query, **arguments)

    return asyncio.run(answer())
