"""``kill -9`` at each place of a re-index: it ends as if nothing had happened, and embeds next to nothing twice."""

import asyncio
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Final

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.embed_batch import COMMIT_CHUNKS
from activities.store import Store
from activities.store.pages.staging import BATCH_CHUNKS
from tests.pipeline import stops
from tests.pipeline.editions import CHUNKING, DOCUMENTS, PARTS, write_edition
from tests.pipeline.harness import Pipeline, Shelf, visible
from tests.pipeline.heard_embedder import embedded_texts
from tests.pipeline.own_servers import OwnPostgres, OwnTemporal, own_postgres, own_temporal
from tests.pipeline.reindexing import builds, count, reindex, start_reindex
from tests.pipeline.stops import Place, stopping_at
from tests.pipeline.worker_process import WorkerProcess

pytestmark = pytest.mark.long

PLACES: Final = {
    "before the build": Place("INSERT", "build", "NEW.state = 'building'"),
    "before its pages are listed": Place("INSERT", "page", "NEW.kind = 'reindex'"),
    "before a text is cut": Place("INSERT", "cut", "true"),
    "mid-batch": stops.MID_BATCH,
    "before a page is carried over": Place("INSERT", "span", "true"),
    "before the flip": Place("UPDATE", "scope", "NEW.live_build <> OLD.live_build"),
}
# A terminated workflow is what a new run finds after an operator gave up on the first.
HITS: Final = [
    *(("worker", place) for place in PLACES),
    *(("postgres", place) for place in ("mid-batch", "before a page is carried over", "before the flip")),
    ("workflow", "mid-batch"),
]


@pytest.fixture(scope="module")
def own_pg() -> Iterator[OwnPostgres]:
    with own_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def own_engine() -> Iterator[OwnTemporal]:
    with own_temporal() as server:
        yield server


@pytest.mark.parametrize(("victim", "place"), HITS)
async def test_a_killed_process_costs_nothing_but_time(
    victim: str, place: str, own_pg: OwnPostgres, own_engine: OwnTemporal, shelf: Shelf, tmp_path: Path
) -> None:
    dsn, journal = own_pg.new_database(), tmp_path / "journal"
    client = await Client.connect(own_engine.address, data_converter=pydantic_data_converter)
    write_edition(shelf, 1)
    async with WorkerProcess(dsn, own_engine.address, journal) as worker:
        with Store.open(dsn) as store:
            pipeline = Pipeline(store, client)
            pipeline.register(shelf, chunking=CHUNKING)
            await pipeline.sync(shelf)
            before, embedded_before = visible(store), embedded_texts(journal)
            async with stopping_at(PLACES[place], dsn) as stop:
                handle = await start_reindex(pipeline, embedder="hash:128", chunker=CHUNKING.fingerprint)
                await stop.reached()
                if victim == "postgres":
                    own_pg.kill()
                    own_pg.start()
                else:
                    worker.kill()
                    if victim == "workflow":
                        await handle.terminate()
                    await stop.let_go()
                    await worker.start()
                assert visible(store) == before
                async with asyncio.timeout(120):
                    if victim == "workflow":
                        result = await reindex(pipeline, embedder="hash:128", chunker=CHUNKING.fingerprint)
                    else:
                        result = await handle.result()
            assert (result.sources, result.chunks) == (DOCUMENTS, DOCUMENTS * PARTS)
            assert visible(store) == before
            assert [state for _, state, _ in builds(store)] == ["retired", "live"]
            assert count(store, "chunk") == 2 * DOCUMENTS * PARTS
    embedded = embedded_texts(journal) - embedded_before
    embedded_twice = embedded_texts(journal).total() - 2 * DOCUMENTS * PARTS
    assert len(embedded) == DOCUMENTS * PARTS
    batches = ceil(DOCUMENTS * PARTS / BATCH_CHUNKS)  # of which two are embedded at once
    assert embedded_twice <= batches * COMMIT_CHUNKS < DOCUMENTS * PARTS  # of each what was not committed yet
