"""What an outage may not do: be held against a document, or make an attempt look dead."""

import asyncio
import time
from collections.abc import Sequence

import numpy as np
from temporalio.client import Client

from activities.store import Store
from headwater.testing import HashEmbedder
from tests.pipeline.harness import Pipeline, Shelf, running_pipeline

REFUSE = (
    "CREATE SEQUENCE refusals",
    """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         PERFORM nextval('refusals');
         RAISE EXCEPTION 'no room' USING ERRCODE = '53100';
       END $$""",
    "CREATE TRIGGER full_disk BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()",
)


async def refused(store: Store, times: int, deadline_s: float = 60) -> None:
    """Returns when Postgres has refused so many rows: a sequence counts also what is rolled back."""
    async with asyncio.timeout(deadline_s):
        while True:
            with store.connection() as connection:
                row = connection.execute("SELECT last_value FROM refusals WHERE is_called").fetchone()
            if row is not None and row[0] >= times:
                return
            await asyncio.sleep(0.05)


async def test_a_full_disk_sets_no_document_aside(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    pipeline.register(shelf)
    table = f'"{pipeline.store.schema}".document_version'
    with pipeline.store.connection() as connection:
        for statement in REFUSE:
            connection.execute(statement.replace("{table}", table).encode())
    handle = await pipeline.start(shelf)
    await refused(pipeline.store, 5)
    with pipeline.store.connection() as connection:
        connection.execute(f"DROP TRIGGER full_disk ON {table}".encode())
    result = await handle.result()
    assert (result.upserted, result.failed) == (1, 0)
    assert pipeline.visible() == {shelf.id_of("a.md"): "Alpha"}


async def test_a_slow_model_is_not_taken_for_dead(store: Store, temporal_client: Client, shelf: Shelf) -> None:
    """Slower than the heartbeat timeout: before the first vector nothing but the heartbeats says that it works."""
    calls: list[int] = []

    class Slow(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
            calls.append(len(texts))
            time.sleep(12)  # the slowness is what is tested
            return super().embed(texts)

    shelf.write("a.md", "Alpha")
    async with running_pipeline(store, temporal_client, resolve=lambda _: Slow(64)) as pipeline:
        pipeline.register(shelf)
        result = await pipeline.sync(shelf)
    assert result.embedded_chunks == 1
    assert calls == [1]


async def test_a_document_that_belongs_to_somebody_else_is_counted_and_named(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "Alpha")
    shelf.write("b.md", "Beta")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    with pipeline.store.connection() as connection:
        schema = pipeline.store.schema
        connection.execute(f'DELETE FROM "{schema}".membership'.encode())
        connection.execute(f'UPDATE "{schema}".source SET owner = NULL WHERE source_id LIKE %s'.encode(), ["%a.md"])
    shelf.write("a.md", "Alpha, edited")
    result = await pipeline.sync(shelf)
    assert result.failed == 1
    assert [(failure.source_id, failure.state) for failure in result.failures] == [(shelf.id_of("a.md"), "failed")]
    assert "belongs to a host" in (result.failures[0].reason or "")
    assert pipeline.visible()[shelf.id_of("a.md")] == "Alpha"
