"""``kill -9`` of each process at each place of a running sync: the sync completes, and no reader ever notices.

Every document is visible in a first edition, and the sync that is hit replaces all of them by a second one.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.embed_batch import COMMIT_CHUNKS
from activities.store import Store
from headwater.contracts import SyncResult
from headwater.embedders import resolve_embedder
from tests.pipeline import stops
from tests.pipeline.editions import CHUNKING, DOCUMENTS, PAGE_SIZE, PARTS, parts_of, readers, write_edition
from tests.pipeline.harness import SPEC, Pipeline, Shelf
from tests.pipeline.heard_embedder import embedded_texts
from tests.pipeline.own_servers import OwnPostgres, OwnTemporal, own_postgres, own_temporal
from tests.pipeline.stops import Place, stopping_at
from tests.pipeline.watching_reader import WatchingReader
from tests.pipeline.worker_process import WorkerProcess

pytestmark = pytest.mark.long

PLACES: Final = {
    "mid-listing": stops.MID_LISTING,
    "before staging": stops.BEFORE_STAGING,
    "mid-batch": stops.MID_BATCH,
    "between staging and publish": stops.BEFORE_PUBLISHING,
    "after publish before the checkpoint": stops.BEFORE_CHECKPOINT,
}


@pytest.fixture(scope="module")
def own_pg() -> Iterator[OwnPostgres]:
    with own_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def own_engine() -> Iterator[OwnTemporal]:
    with own_temporal() as server:
        yield server


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("victim", ["worker", "temporal", "postgres"])
async def test_a_killed_process_costs_nothing_but_time(
    victim: str, place: Place, own_pg: OwnPostgres, own_engine: OwnTemporal, shelf: Shelf, tmp_path: Path
) -> None:
    dsn, journal = own_pg.new_database(), tmp_path / "journal"
    client = await Client.connect(own_engine.address, data_converter=pydantic_data_converter)
    async with WorkerProcess(dsn, own_engine.address, journal) as worker:
        await publish_first_edition(dsn, client, shelf)
        embedded_before = embedded_texts(journal)
        write_edition(shelf, 2)
        with WatchingReader(dsn, resolve_embedder(SPEC)) as reader, Store.open(dsn) as store:
            await reader.rounds(1)
            assert reader.editions == {1}
            async with stopping_at(place, dsn) as stop:
                handle = await Pipeline(store, client).start(shelf, page_size=PAGE_SIZE)
                await stop.reached()
                await reader.rounds(2)
                if victim == "postgres":
                    own_pg.kill()
                    own_pg.start()
                elif victim == "temporal":
                    own_engine.kill()
                    await reader.rounds(2)
                    own_engine.start()
                    await stop.let_go()
                else:
                    worker.kill()
                    await reader.rounds(2)
                    await stop.let_go()
                    await worker.start()
                async with asyncio.timeout(120):
                    result = await handle.result()
            await reader.rounds(1)
        assert reader.faults == []
        assert reader.editions == {2}
        assert victim == "postgres" or reader.outages == 0
        check_result(result)
        embedded = embedded_texts(journal) - embedded_before
        assert len(embedded) == DOCUMENTS * PARTS
        assert embedded.total() - len(embedded) <= COMMIT_CHUNKS
        check_store(dsn, client, shelf)
        with Store.open(dsn) as store:
            again = await Pipeline(store, client).sync(shelf, page_size=PAGE_SIZE)
        assert (again.skipped, again.upserted, again.embedded_chunks) == (DOCUMENTS, 0, 0)


async def publish_first_edition(dsn: str, client: Client, shelf: Shelf) -> None:
    write_edition(shelf, 1)
    with Store.open(dsn) as store:
        pipeline = Pipeline(store, client)
        pipeline.register(shelf, access=readers(), chunking=CHUNKING)
        check_result(await pipeline.sync(shelf, page_size=PAGE_SIZE))


def check_result(result: SyncResult) -> None:
    assert (result.upserted, result.deleted, result.skipped, result.failed) == (DOCUMENTS, 0, 0, 0)
    assert (result.pages, result.exhausted) == (DOCUMENTS // PAGE_SIZE, True)
    assert (result.embedded_chunks, result.reused_chunks) == (DOCUMENTS * PARTS, 0)


def check_store(dsn: str, client: Client, shelf: Shelf) -> None:
    """The second edition is there, each document once, and each page of both editions was published once."""
    with Store.open(dsn) as store:
        assert Pipeline(store, client).visible() == {
            shelf.id_of(f"{document:02}.txt"): "\n--\n".join(parts_of(document, 2)) for document in range(DOCUMENTS)
        }
        with store.connection() as connection:
            published = connection.execute("SELECT count(*) FROM headwater.pointer_log").fetchone()
    assert published == (2 * DOCUMENTS // PAGE_SIZE,)
