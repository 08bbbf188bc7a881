"""Cancelling a sync, and asking for one while another runs: nothing is half there, and nobody's turn is lost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError

from activities.embed_batch import COMMIT_CHUNKS
from activities.store import Store
from headwater.contracts import SyncNow, SyncResult
from headwater.workflow_ids import sync_workflow_id
from tests.pipeline import stops
from tests.pipeline.editions import CHUNKING, DOCUMENTS, PAGE_SIZE, PARTS, parts_of, write_edition
from tests.pipeline.harness import SCOPE, Pipeline, Shelf, running_pipeline
from tests.pipeline.heard_embedder import counting, embedded_texts
from tests.pipeline.stops import stopping_at
from workflows import queues


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Where each text that is embedded leaves a line."""
    return tmp_path / "journal"


@pytest.fixture
async def published(store: Store, temporal_client: Client, shelf: Shelf, journal: Path) -> AsyncIterator[Pipeline]:
    """Running workers, a first edition that readers see, and a second one in the folder."""
    async with running_pipeline(store, temporal_client, resolve=counting(journal)) as pipeline:
        write_edition(shelf, 1)
        pipeline.register(shelf, chunking=CHUNKING)
        await pipeline.sync(shelf, page_size=PAGE_SIZE)
        write_edition(shelf, 2)
        yield pipeline


def edition(shelf: Shelf, number: int, documents: range = range(DOCUMENTS)) -> dict[str, str]:
    return {shelf.id_of(f"{document:02}.txt"): "\n--\n".join(parts_of(document, number)) for document in documents}


def holder(store: Store) -> str | None:
    with store.connection() as connection:
        row = connection.execute("SELECT owner FROM headwater.checkpoint").fetchone()
    assert row is not None
    owner: str | None = row[0]
    return owner


async def cancelled(handle: WorkflowHandle[object, SyncResult]) -> None:
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    assert (await handle.describe()).status == WorkflowExecutionStatus.CANCELED


async def test_cancelling_in_a_batch_publishes_nothing_and_loses_only_what_had_no_commit(
    published: Pipeline, database: str, shelf: Shelf, journal: Path
) -> None:
    before = embedded_texts(journal)
    async with stopping_at(stops.MID_BATCH, database) as stop:
        handle = await published.start(shelf, page_size=PAGE_SIZE)
        await stop.reached()
        await handle.cancel()
        await cancelled(handle)
        assert published.visible() == edition(shelf, 1)
        assert holder(published.store) is None
    result = await published.sync(shelf, page_size=PAGE_SIZE)
    assert (result.upserted, result.failed) == (DOCUMENTS, 0)
    assert published.visible() == edition(shelf, 2)
    embedded = embedded_texts(journal) - before
    assert len(embedded) == DOCUMENTS * PARTS
    assert embedded.total() - len(embedded) <= COMMIT_CHUNKS


async def test_cancelling_in_a_publication_leaves_the_page_whole(
    published: Pipeline, database: str, shelf: Shelf, journal: Path
) -> None:
    before = embedded_texts(journal)
    async with stopping_at(stops.BEFORE_PUBLISHING, database) as stop:
        handle = await published.start(shelf, page_size=PAGE_SIZE)
        await stop.reached()
        await handle.cancel()
        await stop.let_go()
        await cancelled(handle)
    first, second = range(PAGE_SIZE), range(PAGE_SIZE, DOCUMENTS)
    assert published.visible() == edition(shelf, 2, first) | edition(shelf, 1, second)
    result = await published.sync(shelf, page_size=PAGE_SIZE)
    assert (result.upserted, result.skipped) == (DOCUMENTS - PAGE_SIZE, PAGE_SIZE)
    assert published.visible() == edition(shelf, 2)
    assert max((embedded_texts(journal) - before).values()) == 1


async def test_the_connector_says_that_its_sync_was_cancelled(published: Pipeline, database: str, shelf: Shelf) -> None:
    async with stopping_at(stops.BEFORE_STAGING, database) as stop:
        handle = await published.start(shelf)
        await stop.reached()
        await handle.cancel()
        await cancelled(handle)
    with published.store.connection() as connection:
        assert connection.execute("SELECT last_error FROM headwater.connector").fetchone() == (
            "The sync was cancelled.",
        )


async def test_who_asks_during_a_sync_gets_what_came_before_they_asked(
    published: Pipeline, database: str, shelf: Shelf
) -> None:
    async with stopping_at(stops.BEFORE_STAGING, database) as stop:
        handle = await published.start(shelf)
        await stop.reached()
        shelf.write("late.txt", "Too late for the pass that runs.")
        asked = asyncio.create_task(handle.execute_update("sync_now", {}, result_type=SyncNow))
        await accepted(handle)
        assert not asked.done()
        await stop.let_go()
        answer = await asked
        result = await handle.result()
    assert answer.result == result
    assert (result.upserted, result.skipped) == (1, DOCUMENTS)
    assert published.visible()[shelf.id_of("late.txt")] == "Too late for the pass that runs."


async def accepted(handle: WorkflowHandle[object, SyncResult]) -> None:
    """Returns when the run knows of the update."""
    async with asyncio.timeout(20):
        async for event in handle.fetch_history_events(wait_new_event=True):
            if event.HasField("workflow_execution_update_accepted_event_attributes"):
                return


async def test_a_second_workflow_on_the_connector_fails_and_names_the_first(
    published: Pipeline, database: str, shelf: Shelf
) -> None:
    async with stopping_at(stops.BEFORE_STAGING, database) as stop:
        handle = await published.start(shelf)
        await stop.reached()
        request = {"scope": SCOPE.model_dump(), "connector": shelf.name}
        with pytest.raises(WorkflowFailureError) as failed:
            async with asyncio.timeout(30):
                await published.client.execute_workflow("SyncCorpus", request, id="another", task_queue=queues.CONTROL)
        await stop.let_go()
        assert (await handle.result()).upserted == DOCUMENTS
    cause: BaseException = failed.value
    while cause.__cause__ is not None:
        cause = cause.__cause__
    assert isinstance(cause, ApplicationError)
    assert cause.type == "AlreadyRunning"
    assert sync_workflow_id(SCOPE, shelf.name) in cause.message
