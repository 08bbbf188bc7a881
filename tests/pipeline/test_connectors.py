"""The end of a connector on real services: what stays, what goes, and what comes after it."""

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import (
    Client,
    ScheduleActionExecutionStartWorkflow,
    ScheduleHandle,
    WorkflowExecutionStatus,
    WorkflowFailureError,
)
from temporalio.exceptions import ApplicationError

from activities.contracts.connectors import RemovedConnector, TriedConnector
from activities.store import Store, connector_removal, status
from activities.store.connectors import connectors_of, ensure_connector, find_connector
from activities.store.pages import lease
from headwater.workflow_ids import sync_schedule_id, sync_workflow_id
from tests.pipeline.harness import SCOPE, Pipeline, Shelf, running_pipeline
from workers.options import WorkerOptions
from workers.sync_schedules import SyncSchedules
from workflows import queues


async def run(pipeline: Pipeline, workflow: str, connector: str = "shelf", **fields: Any) -> Any:
    wanted = {"scope": SCOPE.model_dump(), "connector": connector, "requested_by": "ops", **fields}
    return await pipeline.client.execute_workflow(workflow, wanted, id=str(uuid.uuid4()), task_queue=queues.CONTROL)


async def removed(pipeline: Pipeline, sources: str, connector: str = "shelf") -> RemovedConnector:
    return RemovedConnector.model_validate(await run(pipeline, "RemoveConnector", connector, sources=sources))


async def failure_of(asked: Any) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await asked
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


def rows(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with store.connection() as connection:
        return connection.execute(sql.replace("{s}", f'"{store.schema}"').encode()).fetchall()


def freshness(store: Store) -> dict[str, tuple[str, str | None]]:
    sources = status.sources(store, SCOPE)["sources"]
    return {each["source_id"]: (each["freshness"].value, each["reason"]) for each in sources}


async def test_a_connector_goes_with_its_documents(pipeline: Pipeline, shelf: Shelf) -> None:
    store = pipeline.store
    for number in range(5):
        shelf.write(f"{number}.md", f"# Number {number}\n")
    shelf.write("broken.pdf", b"%PDF-1.7 and nothing that follows\n")
    pipeline.register(shelf)
    before = await pipeline.sync(shelf)

    assert await removed(pipeline, "delete") == RemovedConnector(kept=0, deleted=6)
    assert pipeline.visible() == {} and pipeline.states() == {}
    assert connectors_of(store, SCOPE) == []
    (corpus,) = status.corpora(store, SCOPE)
    assert corpus["generation"] == before.generation + 1
    for table in ("connector", "checkpoint", "page", "membership", "link"):
        assert rows(store, f"SELECT count(*) FROM {{s}}.{table}") == [(0,)], table
    assert rows(store, "SELECT actor, action, detail - 'connector_id' FROM {s}.audit ORDER BY id DESC LIMIT 1") == [
        ("ops", "remove_connector", {"connector": "shelf", "kind": "folder", "kept": 0, "deleted": 6})
    ]
    assert "has no connector shelf" in (await failure_of(run(pipeline, "SyncCorpus"))).message
    assert "has no connector shelf" in (await failure_of(removed(pipeline, "delete"))).message

    pipeline.register(shelf)
    assert (await pipeline.sync(shelf)).upserted == 5


async def test_documents_that_are_kept_are_stale_until_the_connector_comes_back(
    pipeline: Pipeline, shelf: Shelf
) -> None:
    store = pipeline.store
    shelf.write("a.md", "# Alpha\n")
    shelf.write("b.md", "# Beta\n")
    shelf.write("broken.pdf", b"%PDF-1.7 and nothing that follows\n")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    before = pipeline.visible()

    assert await removed(pipeline, "keep") == RemovedConnector(kept=2, deleted=0)
    assert pipeline.visible() == before
    assert freshness(store) == {
        shelf.id_of(name): ("stale", "connector shelf was removed") for name in ("a.md", "b.md")
    }  # and what could not be read is gone: there was nothing to keep
    assert connectors_of(store, SCOPE) == [] and find_connector(store, SCOPE, "shelf") is None
    assert status.corpora(store, SCOPE)[0]["connectors"] == []
    detail = status.source(store, SCOPE, shelf.id_of("a.md"))
    assert detail is not None and detail["owner"] == "shelf" and detail["grants"]["everyone"]
    assert rows(store, "SELECT config, last_error FROM {s}.connector") == [({}, None)]
    assert "has no connector shelf" in (await failure_of(run(pipeline, "SyncCorpus"))).message

    (shelf.root / "b.md").unlink()
    shelf.write("c.md", "# Gamma\n")
    pipeline.register(shelf)
    result = await pipeline.sync(shelf)
    assert (result.embedded_chunks, result.upserted + result.skipped) == (1, 2)
    # What was gone before it came back, nobody listed: it stays as it was left.
    assert freshness(store) == {
        shelf.id_of("a.md"): ("current", None),
        shelf.id_of("b.md"): ("stale", "connector shelf was removed"),
        shelf.id_of("broken.pdf"): ("current", freshness(store)[shelf.id_of("broken.pdf")][1]),
        shelf.id_of("c.md"): ("current", None),
    }


async def test_what_another_connector_holds_too_stays_as_it_is(pipeline: Pipeline, shelf: Shelf) -> None:
    store = pipeline.store
    shelf.write("a.md", "# Alpha\n")
    shelf.write("b.md", "# Beta\n")
    connector_id = pipeline.register(shelf)
    await pipeline.sync(shelf)
    row = find_connector(store, SCOPE, "shelf")
    assert row is not None
    other = ensure_connector(store, row.scope_id, "other", "folder", {}, new_rule=False)
    with store.connection() as connection:
        connection.execute(
            f"""INSERT INTO "{store.schema}".membership (connector_id, source_pk, pass_no)
                SELECT %s, source_pk, 1 FROM "{store.schema}".source WHERE source_id = %s""".encode(),
            (other.connector_id, shelf.id_of("a.md")),
        )

    assert await removed(pipeline, "keep") == RemovedConnector(kept=1)
    assert freshness(store)[shelf.id_of("a.md")] == ("current", None)
    assert freshness(store)[shelf.id_of("b.md")][0] == "stale"
    assert rows(store, "SELECT connector_id FROM {s}.membership") == [(other.connector_id,)]
    theirs = status.source(store, SCOPE, shelf.id_of("a.md"))
    assert theirs is not None and theirs["owner"] == "other"
    assert rows(store, "SELECT connector_id FROM {s}.connector WHERE removed_at IS NOT NULL") == [(connector_id,)]


async def test_a_connector_that_is_being_synced_is_not_removed(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "# Alpha\n")
    connector_id = pipeline.register(shelf)
    owner = sync_workflow_id(SCOPE, "shelf")
    taken = lease.begin_pass(pipeline.store, connector_id, owner=owner, run="1", full=False)
    for sources in ("keep", "delete"):
        failure = await failure_of(removed(pipeline, sources))
        assert (failure.type, owner in failure.message) == ("AlreadyRunning", True)
    lease.end_pass(pipeline.store, connector_id, fence=taken.fence, pass_no=taken.pass_no, paused=False, error=None)
    await removed(pipeline, "keep")


async def test_a_removal_that_is_given_up_leaves_nothing_stale_for_good(pipeline: Pipeline, shelf: Shelf) -> None:
    store = pipeline.store
    shelf.write("a.md", "# Alpha\n")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    row = find_connector(store, SCOPE, "shelf")
    assert row is not None
    key, scope_id = row.connector_id, row.scope_id
    taken = connector_removal.begin_removal(store, key, owner="remove:1", run="1", actor=None)
    after: int | None = 0
    while after is not None:  # twice the same page, as by an attempt whose answer was lost
        connector_removal.keep_page(store, key, fence=taken.fence, scope_id=scope_id, name="shelf", after=after)
        after = connector_removal.keep_page(store, key, fence=taken.fence, scope_id=scope_id, name="shelf", after=after)
    lease.end_pass(store, key, fence=taken.fence, pass_no=taken.pass_no, paused=False, error="It was cancelled.")
    assert freshness(store) == {shelf.id_of("a.md"): ("stale", "connector shelf was removed")}

    assert (await pipeline.sync(shelf)).embedded_chunks == 0
    assert freshness(store) == {shelf.id_of("a.md"): ("current", None)}


async def test_a_name_that_left_documents_behind_keeps_its_kind(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "# Alpha\n")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    row = find_connector(pipeline.store, SCOPE, "shelf")
    assert row is not None
    await removed(pipeline, "keep")
    with pytest.raises(ValueError, match="left documents behind: choose another name"):
        ensure_connector(pipeline.store, row.scope_id, "shelf", "drive", {}, new_rule=False)


async def test_a_trial_lists_a_little_and_changes_nothing(pipeline: Pipeline, shelf: Shelf) -> None:
    shelf.write("a.md", "# Alpha\n")
    shelf.write("b.md", "# Beta\n")
    pipeline.register(shelf)
    tried = TriedConnector.model_validate(await run(pipeline, "TryConnector"))
    assert tried == TriedConnector(kind="folder", listed=2, is_all=True)
    assert rows(pipeline.store, "SELECT pass_no, fence FROM {s}.checkpoint") == [(0, 0)]
    assert rows(pipeline.store, "SELECT count(*) FROM {s}.source") == [(0,)]

    shelf.root.rename(shelf.root.with_name("elsewhere"))
    failure = await failure_of(run(pipeline, "TryConnector"))
    assert (failure.type, str(shelf.root) in failure.message) == ("SourceUnavailable", True)


async def test_only_workers_that_stay_begin_what_a_schedule_starts(
    store: Store, temporal_client: Client, shelf: Shelf
) -> None:
    schedules = SyncSchedules(temporal_client)
    async with running_pipeline(store, temporal_client) as pipeline:
        shelf.write("a.md", "# Alpha\n")
        pipeline.register(shelf)
        await schedules.set(SCOPE, "shelf", every=timedelta(days=365))
        schedule = temporal_client.get_schedule_handle(sync_schedule_id(SCOPE, "shelf"))
        await schedule.trigger()
        tick = temporal_client.get_workflow_handle(await _started(schedule))
        await pipeline.sync(shelf)  # these workers are at work, and leave the tick alone
        described = await tick.describe()
        assert (described.status, described.history_length) == (WorkflowExecutionStatus.RUNNING, 2)
    staying = WorkerOptions(max_document_bytes=1 << 20, serves_schedules=True)
    async with running_pipeline(store, temporal_client, options=staying) as pipeline:
        assert await tick.result() == {"workflow_id": sync_workflow_id(SCOPE, "shelf"), "started": True}
        await temporal_client.get_workflow_handle(sync_workflow_id(SCOPE, "shelf")).result()
    await schedules.remove(SCOPE, "shelf")


async def _started(schedule: ScheduleHandle) -> str:
    """The id of the workflow that the schedule started."""
    async with asyncio.timeout(20):
        while not (actions := (await schedule.describe()).info.recent_actions):
            pass  # the server tells nobody: it is asked again
    assert isinstance(actions[0].action, ScheduleActionExecutionStartWorkflow)
    return actions[0].action.workflow_id
