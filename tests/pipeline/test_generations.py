"""Going back and collecting with running workers: a sync after a rollback, and a schedule that collects."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from activities.store import Store
from activities.store.generations import listing
from headwater.contracts import CollectGarbageResult, SetGenerationResult
from headwater.workflow_ids import scope_workflow_id
from tests.integration.seen import table
from tests.pipeline.harness import SCOPE, Pipeline, Shelf, running_pipeline
from workers.options import WorkerOptions
from workers.schedules import COLLECTING
from workflows import queues

KEEPING_NOTHING = WorkerOptions(max_document_bytes=1 << 20, keep_generations=0, keep_days=0)


async def ask(client: Client, workflow: str, result_type: type[Any], **fields: Any) -> Any:
    return await client.execute_workflow(
        workflow,
        {"scope": SCOPE.model_dump(), **fields},
        id=scope_workflow_id(workflow, SCOPE),
        task_queue=queues.CONTROL,
        result_type=result_type,
    )


@pytest.fixture
async def edited(pipeline: Pipeline, shelf: Shelf) -> Pipeline:
    """a.md was synced as "one", then as "two"; b.md only once."""
    pipeline.register(shelf)
    shelf.write("a.md", "one")
    shelf.write("b.md", "the other")
    await pipeline.sync(shelf)
    shelf.write("a.md", "two!")
    await pipeline.sync(shelf)
    return pipeline


@pytest.fixture
async def collecting(store: Store, temporal_client: Client) -> AsyncIterator[Pipeline]:
    """Workers that keep nothing old, and a schedule that they made."""
    options = replace(KEEPING_NOTHING, collect_every=timedelta(hours=1))
    async with running_pipeline(store, temporal_client, options=options) as running:
        yield running
    await temporal_client.get_schedule_handle(COLLECTING).delete()


@pytest.mark.parametrize("full", [False, True])
async def test_a_sync_after_a_rollback_brings_back_what_the_origin_holds(
    edited: Pipeline, shelf: Shelf, full: bool
) -> None:
    back = await ask(edited.client, "SetGeneration", SetGenerationResult, generation=1)
    assert (back.generation, back.stale) == (1, 1)
    assert edited.visible() == {shelf.id_of("a.md"): "one", shelf.id_of("b.md"): "the other"}
    synced = await edited.sync(shelf, full=full)
    assert (synced.upserted, synced.failed) == (1, 0)
    assert edited.visible() == {shelf.id_of("a.md"): "two!", shelf.id_of("b.md"): "the other"}
    assert {row["freshness"] for row in table(edited.store, "ingestion")} == {"current"}
    assert [row["kind"] for row in listing(edited.store, SCOPE)["generations"]] == [
        "publish", "fork", "publish", "publish",
    ]  # fmt: skip


async def test_an_origin_that_went_back_too_is_read_again_when_readers_go_forward(
    edited: Pipeline, shelf: Shelf
) -> None:
    await ask(edited.client, "SetGeneration", SetGenerationResult, generation=1)
    shelf.write("a.md", "one")
    assert (await edited.sync(shelf)).upserted == 0
    await ask(edited.client, "SetGeneration", SetGenerationResult, generation=2)
    assert edited.visible()[shelf.id_of("a.md")] == "two!"
    await edited.sync(shelf)
    assert edited.visible()[shelf.id_of("a.md")] == "one"


async def test_a_pinned_corpus_is_synced_behind_its_readers(edited: Pipeline, shelf: Shelf) -> None:
    await ask(edited.client, "SetGeneration", SetGenerationResult, pin=True)
    shelf.write("a.md", "three")
    assert (await edited.sync(shelf)).upserted == 1
    assert (await edited.sync(shelf)).upserted == 0  # unchanged, though readers do not see it
    assert edited.visible()[shelf.id_of("a.md")] == "two!"
    await ask(edited.client, "SetGeneration", SetGenerationResult, pin=False)
    assert edited.visible()[shelf.id_of("a.md")] == "three"


async def test_a_generation_that_is_not_there_is_told_to_the_host(edited: Pipeline) -> None:
    with pytest.raises(WorkflowFailureError) as failed:
        await ask(edited.client, "SetGeneration", SetGenerationResult, generation=9)
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "InvalidInput"
    assert "Generation 9 of t1/docs/handbook is not there (1 to 2 are)" in failed.value.cause.message


async def test_the_schedule_of_the_workers_collects_what_is_old(collecting: Pipeline, shelf: Shelf) -> None:
    collecting.register(shelf)
    for text in ("one", "two!", "three"):
        shelf.write("a.md", text)
        await collecting.sync(shelf)
    schedule = collecting.client.get_schedule_handle(COLLECTING)
    await schedule.trigger()
    async with asyncio.timeout(30):
        while len(table(collecting.store, "document_version")) > 1:
            await asyncio.to_thread(collecting.visible)
    await collecting.client.get_workflow_handle(scope_workflow_id("CollectGarbage", SCOPE)).result()
    assert collecting.visible() == {shelf.id_of("a.md"): "three"}
    # Whoever asks for it is told; the schedule has left nothing to free.
    with_limits = await ask(collecting.client, "CollectGarbage", CollectGarbageResult, requested_by="ops")
    assert with_limits == CollectGarbageResult(oldest_generation=3)
    assert [row["actor"] for row in table(collecting.store, "audit") if row["action"] == "collect_garbage"] == ["ops"]
