"""A sync goes on where it was when its worker is replaced or its database restarted, through the real engine."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from temporalio import activity
from temporalio.client import Client

from activities.embed_batch import COMMIT_CHUNKS
from activities.store import Store
from headwater.errors import TransientError
from tests.pipeline import stops
from tests.pipeline.editions import CHUNKING, DOCUMENTS, PARTS, write_edition
from tests.pipeline.harness import Shelf, running_pipeline
from tests.pipeline.heard_embedder import HeardEmbedder, counting, embedded_texts
from tests.pipeline.own_servers import own_postgres
from tests.pipeline.stops import stopping_at


async def test_a_worker_that_stops_hands_over_and_nothing_is_embedded_twice(
    store: Store, temporal_client: Client, shelf: Shelf
) -> None:
    embedded: list[str] = []
    standing = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stand_until_shutdown(texts: Sequence[str]) -> None:
        if len(embedded) == COMMIT_CHUNKS + 4:
            loop.call_soon_threadsafe(standing.set)
            activity.wait_for_worker_shutdown_sync(30)
        embedded.extend(texts)

    write_edition(shelf, 1)
    async with contextlib.AsyncExitStack() as stopping:
        old = await stopping.enter_async_context(
            running_pipeline(store, temporal_client, resolve=lambda spec: HeardEmbedder(spec, stand_until_shutdown))
        )
        old.register(shelf, chunking=CHUNKING)
        handle = await old.start(shelf)
        await asyncio.wait_for(standing.wait(), 30)
    handed_over_at = len(embedded)
    assert handed_over_at < DOCUMENTS * PARTS
    assert handed_over_at % COMMIT_CHUNKS == 0
    async with running_pipeline(
        store, temporal_client, resolve=lambda spec: HeardEmbedder(spec, embedded.extend)
    ) as new:
        result = await handle.result()
        assert len(new.visible()) == DOCUMENTS
    assert result.embedded_chunks == len(embedded) == len(set(embedded)) == DOCUMENTS * PARTS


async def test_an_embedder_that_is_away_is_waited_for(store: Store, temporal_client: Client, shelf: Shelf) -> None:
    failures = [TransientError("The model is busy.")]

    def busy_once(_: Sequence[str]) -> None:
        if failures:
            raise failures.pop()

    write_edition(shelf, 1)
    resolve = lambda spec: HeardEmbedder(spec, busy_once)
    async with running_pipeline(store, temporal_client, resolve=resolve) as pipeline:
        pipeline.register(shelf, chunking=CHUNKING)
        result = await pipeline.sync(shelf)
    assert (result.upserted, result.failed, failures) == (DOCUMENTS, 0, [])


async def test_a_restart_of_postgres_in_a_publication_is_waited_out(
    temporal_client: Client, shelf: Shelf, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    write_edition(shelf, 1)
    with own_postgres() as server, Store.open(dsn := server.new_database()) as store:
        async with running_pipeline(store, temporal_client, resolve=counting(journal)) as pipeline:
            pipeline.register(shelf, chunking=CHUNKING)
            async with stopping_at(stops.BEFORE_PUBLISHING, dsn) as stop:
                handle = await pipeline.start(shelf)
                await stop.reached()
                server.kill()
                server.start()
                result = await handle.result()
            assert len(pipeline.visible()) == DOCUMENTS
    assert (result.upserted, result.failed, result.embedded_chunks) == (DOCUMENTS, 0, DOCUMENTS * PARTS)
    assert max(embedded_texts(journal).values()) == 1
