"""A retriever that is asked for more at once than it has connections."""

import asyncio
import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager

import psycopg
import pytest

from headwater import AsyncRetriever, RetrievalResult, Retriever, Scope, StoreError
from headwater.embedders.hashing import HashEmbedder
from tests.integration.retrieval.conftest import ALICE
from tests.integration.retrieval.corpus_rows import CorpusRows
from tests.integration.retrieval.wire import Wire

BUSY = "All 4 connections of this retriever were busy for 4 s: ask for less at once, or open a second retriever."
WAIT_S = 4.0


@pytest.fixture(autouse=True)
def _one(corpus: CorpusRows) -> None:
    corpus.add("one", "text")


class Traffic:
    """Holds up every question on its way, and sees how many there are."""

    def __init__(self, watcher: psycopg.Connection) -> None:
        self._watcher = watcher

    @property
    def held(self) -> int:
        row = self._watcher.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'headwater-retriever'"
            " AND datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
        assert row is not None
        return int(row[0])


@contextmanager
def held_traffic(database: str) -> Iterator[Traffic]:
    with psycopg.connect(database) as locker, psycopg.connect(database, autocommit=True) as watcher:
        locker.execute("LOCK TABLE headwater.tombstone IN ACCESS EXCLUSIVE MODE")
        yield Traffic(watcher)


def test_forty_threads_have_four_connections_and_wait_once(
    reading: str, wire: Wire, scope: Scope, embedder: HashEmbedder
) -> None:
    with Retriever.connect(wire.dsn, embedder=embedder) as retriever, ThreadPoolExecutor(40) as threads:
        retriever._pool.timeout = WAIT_S
        before = wire.accepted
        with held_traffic(reading) as traffic:
            began = time.monotonic()
            asked = [threads.submit(retriever.retrieve, "text", scope=scope, authorization=ALICE) for _ in range(40)]
            refused = list(itertools.islice(as_completed(asked, timeout=30), 36))
            took = time.monotonic() - began
            assert traffic.held == 4
        answered = [each.result() for each in asked if each not in refused]

    assert {str(each.exception()) for each in refused} == {BUSY}
    assert [len(result.hits) for result in answered] == [1] * 4
    assert WAIT_S <= took < 2 * WAIT_S  # whoever waited once more would need twice as long
    assert wire.accepted - before == 4


async def test_forty_tasks_have_four_connections_and_wait_once(
    reading: str, wire: Wire, scope: Scope, embedder: HashEmbedder
) -> None:
    async with AsyncRetriever.connect(wire.dsn, embedder=embedder) as retriever:
        retriever._pool.timeout = WAIT_S
        before = wire.accepted
        with held_traffic(reading) as traffic:
            began = time.monotonic()
            tasks = [
                asyncio.create_task(retriever.retrieve("text", scope=scope, authorization=ALICE)) for _ in range(40)
            ]
            for refused in itertools.islice(asyncio.as_completed(tasks, timeout=30), 36):
                with pytest.raises(StoreError) as caught:
                    await refused
                assert str(caught.value) == BUSY
            took = time.monotonic() - began
            assert traffic.held == 4
        answers = await asyncio.gather(*tasks, return_exceptions=True)

    assert [len(each.hits) for each in answers if isinstance(each, RetrievalResult)] == [1] * 4
    assert WAIT_S <= took < 2 * WAIT_S  # whoever waited once more would need twice as long
    assert wire.accepted - before == 4


async def test_tasks_that_are_cancelled_leave_their_places_to_others(
    reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    async with AsyncRetriever.connect(reading, embedder=embedder) as retriever:
        with held_traffic(reading) as traffic:
            tasks = [
                asyncio.create_task(retriever.retrieve("text", scope=scope, authorization=ALICE)) for _ in range(8)
            ]
            deadline = time.monotonic() + 20
            while traffic.held < 4:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ends)

        retriever._pool.timeout = WAIT_S
        results = await asyncio.gather(
            *(retriever.retrieve("text", scope=scope, authorization=ALICE) for _ in range(4))
        )
    assert all(result.hits for result in results)


def test_whoever_waits_when_a_retriever_is_closed_is_told_at_once(
    reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    retriever = Retriever.connect(reading, embedder=embedder)
    with ThreadPoolExecutor(6) as threads, held_traffic(reading) as traffic:
        asked = [threads.submit(retriever.retrieve, "text", scope=scope, authorization=ALICE) for _ in range(6)]
        deadline = time.monotonic() + 20
        while traffic.held < 4:
            assert time.monotonic() < deadline
            time.sleep(0.01)  # between two looks at a counter
        began = time.monotonic()
        retriever.close()
        told = list(itertools.islice(as_completed(asked, timeout=20), 2))
        assert all("closed" in str(each.exception()) for each in told)
        assert time.monotonic() - began < 5
