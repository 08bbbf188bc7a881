"""The order of a sync: what waits for what, what is tried again, and what those get who ask meanwhile."""

import asyncio
import uuid
from typing import Any

import pytest
from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from headwater.contracts import SyncNow, SyncResult
from tests.workflows.scripted_activities import Script
from workflows import queues
from workflows.sync_corpus import PAGES_A_RUN, PASSES_A_RUN, SyncCorpus

SCOPE = {"tenant_id": "t1", "resource_id": "docs", "corpus_id": "handbook"}
INPUT: dict[str, Any] = {"scope": SCOPE, "connector": "shelf"}


async def start(client: Client, request: Any = INPUT) -> WorkflowHandle[Any, SyncResult]:
    """By name and with raw JSON, as a host in any language would."""
    handle: WorkflowHandle[Any, SyncResult] = await client.start_workflow(
        "SyncCorpus", request, id=f"sync:{uuid.uuid4()}", task_queue=queues.CONTROL, result_type=SyncResult
    )
    return handle


async def failure_of(handle: WorkflowHandle[Any, SyncResult]) -> ApplicationError:
    """The innermost cause of a failed run."""
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    cause: BaseException = failed.value
    while cause.__cause__ is not None:
        cause = cause.__cause__
    assert isinstance(cause, ApplicationError)
    return cause


async def test_pages_are_published_in_order_and_summed_up(temporal_client: Client) -> None:
    script = Script(pages=3)
    async with script.served(temporal_client):
        result = await (await start(temporal_client)).result()
    assert result == SyncResult(
        corpus="t1/docs/handbook", connector="shelf", pages=3, upserted=270, deleted=12, skipped=36,
        regranted=15, withheld=3, failed=5, embedded_chunks=720, reused_chunks=48, exhausted=True, generation=7,
        withheld_reasons={"grants_unreadable": 6},
    )  # fmt: skip
    moves = [call for call in script.calls if call.split()[0] in {"publish_page", "advance_checkpoint"}]
    assert moves == [f"{name} {page}" for page in (1, 2, 3) for name in ("publish_page", "advance_checkpoint")]
    assert script.ended[0].paused is False


async def test_the_next_page_is_prepared_while_one_embeds(temporal_client: Client) -> None:
    script = Script(pages=2)
    embedding, go_on = script.hold("embed_batch 1.0")
    prepared, prepare = script.hold("prepare_page 2")
    prepare.set()
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        await asyncio.wait_for(prepared.wait(), 10)
        assert "publish_page 1" not in script.calls
        go_on.set()
        await handle.result()


async def test_nothing_is_published_before_every_batch_is_embedded(temporal_client: Client) -> None:
    script = Script(pages=1, batches=20)
    async with script.served(temporal_client):
        await (await start(temporal_client)).result()
    assert script.calls.index("publish_page 1") > max(
        at for at, call in enumerate(script.calls) if call.startswith("embed_batch")
    )
    assert script.count("embed_batch") == 20


async def test_a_page_without_documents_still_moves_the_checkpoint(temporal_client: Client) -> None:
    script = Script(pages=1, items=0)
    async with script.served(temporal_client):
        await (await start(temporal_client)).result()
    assert script.calls == ["begin_pass 1", "list_page 1", "publish_page 1", "advance_checkpoint 1", "end_pass"]


async def test_max_pages_pauses_the_pass(temporal_client: Client) -> None:
    script = Script(pages=5)
    async with script.served(temporal_client):
        result = await (await start(temporal_client, {**INPUT, "max_pages": 2})).result()
    assert (result.pages, result.exhausted) == (2, False)
    assert script.ended[0].paused is True
    assert "list_page 3" not in script.calls


async def test_an_outage_is_waited_out(skipping: WorkflowEnvironment) -> None:
    outage = [ApplicationError("Postgres is out of reach.", type="OperationalError") for _ in range(25)]
    script = Script(pages=1, failures={"publish_page 1": outage})
    async with script.served(skipping.client):
        result = await (await start(skipping.client)).result()
    assert result.pages == 1
    assert script.count("publish_page") == 26


@pytest.mark.parametrize("call", ["list_page 1", "prepare_page 2", "embed_batch 1.1", "publish_page 2"])
async def test_a_permanent_fault_fails_the_run_and_gives_the_lease_back(temporal_client: Client, call: str) -> None:
    fault = ApplicationError("The folder is gone.", type="SourceUnavailable")
    script = Script(pages=2, failures={call: [fault]})
    async with script.served(temporal_client):
        cause = await failure_of(await start(temporal_client))
    assert (cause.type, cause.message) == ("SourceUnavailable", "The folder is gone.")
    assert script.calls.count(call) == 1
    assert [ended.error for ended in script.ended] == ["The folder is gone."]


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({}, "scope"),
        ({"scope": SCOPE}, "connector"),
        ({**INPUT, "scope": {**SCOPE, "tenant_id": "a/b"}}, "scope"),
        ({**INPUT, "connector": ""}, "connector"),
        ({**INPUT, "max_pages": 65}, "max_pages"),
        ({**INPUT, "page_size": 201}, "page_size"),
        ("not an object", "input"),
        (None, "input"),
    ],
)
async def test_a_malformed_input_fails_the_workflow_at_once(temporal_client: Client, request_: Any, field: str) -> None:
    script = Script()
    async with script.served(temporal_client):
        cause = await failure_of(await start(temporal_client, request_))
    assert cause.type == "InvalidInput"
    assert cause.message.startswith(f"{field}: ")
    assert script.calls == []


async def test_unknown_fields_are_ignored(temporal_client: Client) -> None:
    script = Script(pages=1)
    async with script.served(temporal_client):
        result = await (await start(temporal_client, {**INPUT, "colour": "blue"})).result()
    assert result.pages == 1


async def test_the_one_who_starts_a_sync_gets_its_first_pass(temporal_client: Client) -> None:
    script = Script(pages=1)
    async with script.served(temporal_client):
        started: WithStartWorkflowOperation[Any, SyncResult] = WithStartWorkflowOperation(
            "SyncCorpus",
            INPUT,
            id=f"sync:{uuid.uuid4()}",
            task_queue=queues.CONTROL,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        )
        answer = await temporal_client.execute_update_with_start_workflow(
            "sync_now", {"ticket": None}, start_workflow_operation=started, result_type=SyncNow
        )
        await (await started.workflow_handle()).result()
    assert answer.ticket == 1
    assert answer.result is not None
    assert script.count("begin_pass") == 1


async def test_a_second_sync_waits_for_a_pass_that_begins_after_it(temporal_client: Client) -> None:
    script = Script(pages=1)
    embedding, go_on = script.hold("embed_batch 1.0")
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        asked = asyncio.create_task(handle.execute_update("sync_now", {"full": True}, result_type=SyncNow))
        await _until(lambda: _wanted(handle, asked))
        go_on.set()
        answer = await asked
        await handle.result()
    assert answer.ticket == 2
    assert answer.result is not None
    assert [begun.full for begun in script.begun] == [False, True]


async def _wanted(handle: WorkflowHandle[Any, SyncResult], asked: "asyncio.Task[SyncNow]") -> bool:
    """Whether the update was accepted: only then does the run know of it."""
    history = await handle.fetch_history()
    return asked.done() or any(
        event.HasField("workflow_execution_update_accepted_event_attributes") for event in history.events
    )


async def _until(condition: Any, deadline_s: float = 10) -> None:
    async with asyncio.timeout(deadline_s):
        while not await condition():
            pass


async def test_a_ticket_from_nowhere_is_a_new_question(temporal_client: Client) -> None:
    script = Script(pages=1)
    embedding, go_on = script.hold("embed_batch 1.0")
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        asked = asyncio.create_task(handle.execute_update("sync_now", {"ticket": 10**9}, result_type=SyncNow))
        await _until(lambda: _wanted(handle, asked))
        go_on.set()
        answer = await asked
        await handle.result()
    assert answer.ticket == 2
    assert script.count("begin_pass") == 2


@pytest.mark.long
async def test_a_run_that_is_nudged_without_end_goes_on_in_a_new_one(temporal_client: Client) -> None:
    script = Script(pages=1, items=0, nudges=PASSES_A_RUN + 2)
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await handle.result()
        first = temporal_client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
        assert (await first.describe()).status == WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert script.count("begin_pass") == PASSES_A_RUN + 3


async def test_whoever_waits_for_a_pass_that_fails_is_told_why(temporal_client: Client) -> None:
    fault = ApplicationError("The folder is gone.", type="SourceUnavailable")
    script = Script(pages=1, failures={"publish_page 1": [fault]})
    async with script.served(temporal_client):
        started: WithStartWorkflowOperation[Any, SyncResult] = WithStartWorkflowOperation(
            "SyncCorpus",
            INPUT,
            id=f"sync:{uuid.uuid4()}",
            task_queue=queues.CONTROL,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        )
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await temporal_client.execute_update_with_start_workflow(
                "sync_now", {}, start_workflow_operation=started, result_type=SyncNow
            )
    assert isinstance(failed.value.cause, ApplicationError)
    assert (failed.value.cause.type, failed.value.cause.message) == ("SourceUnavailable", "The folder is gone.")


async def test_a_nudge_makes_one_more_pass(temporal_client: Client) -> None:
    script = Script(pages=1)
    embedding, go_on = script.hold("embed_batch 1.0")
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        await handle.signal("nudge")
        await handle.signal("nudge")
        go_on.set()
        await handle.result()
    assert script.count("begin_pass") == 2


async def test_cancelling_stops_before_the_page_is_published(temporal_client: Client) -> None:
    script = Script(pages=2)
    embedding, _ = script.hold("embed_batch 1.0")
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert (await handle.describe()).status == WorkflowExecutionStatus.CANCELED
    assert "publish_page 1" not in script.calls
    assert [ended.error for ended in script.ended] == ["The sync was cancelled."]


@pytest.mark.long
async def test_a_long_pass_goes_on_in_a_new_run_with_its_counts(temporal_client: Client) -> None:
    script = Script(pages=PAGES_A_RUN + 3, batches=1)
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        result = await handle.result()
        first = temporal_client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
        assert (await first.describe()).status == WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert result.pages == PAGES_A_RUN + 3
    assert result.embedded_chunks == 120 * (PAGES_A_RUN + 3)
    assert script.count("begin_pass") == 1
    assert [call for call in script.calls if call.startswith("list_page")] == [
        f"list_page {page}" for page in range(1, PAGES_A_RUN + 4)
    ]


@pytest.mark.long
async def test_the_ticket_of_a_long_pass_is_good_in_the_new_run(temporal_client: Client) -> None:
    script = Script(pages=PAGES_A_RUN + 1, batches=1)
    async with script.served(temporal_client):
        workflow_id = f"sync:{uuid.uuid4()}"
        started: WithStartWorkflowOperation[Any, SyncResult] = WithStartWorkflowOperation(
            "SyncCorpus",
            INPUT,
            id=workflow_id,
            task_queue=queues.CONTROL,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        )
        answer = await temporal_client.execute_update_with_start_workflow(
            "sync_now", {}, start_workflow_operation=started, result_type=SyncNow
        )
        assert (answer.ticket, answer.result) == (1, None)
        again = await temporal_client.get_workflow_handle(workflow_id).execute_update(
            "sync_now", {"ticket": 1}, result_type=SyncNow
        )
    assert again.result is not None
    assert again.result.pages == PAGES_A_RUN + 1
    assert script.count("begin_pass") == 1


async def test_a_recorded_run_replays(temporal_client: Client) -> None:
    script = Script(pages=3)
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await handle.result()
        history = await handle.fetch_history()
    await Replayer(workflows=[SyncCorpus], data_converter=temporal_client.data_converter).replay_workflow(history)


LOST = ApplicationError("Drive does not know the cursor.", type="InvalidCursor")


async def test_a_cursor_that_its_origin_forgot_is_dropped_and_everything_listed_anew(temporal_client: Client) -> None:
    script = Script(pages=2, failures={"list_page 2": [LOST]})
    async with script.served(temporal_client):
        result = await (await start(temporal_client, {**INPUT, "full": True})).result()
    assert [(ended.error, ended.forget_cursor) for ended in script.ended] == [(LOST.message, True), (None, False)]
    assert [(begun.begun, begun.full) for begun in script.begun] == [(1, True), (2, True)]
    assert (result.pages, result.upserted) == (3, 270), "the page that was published before is counted too"
    assert result.exhausted and script.calls.count("publish_page 2") == 1


async def test_a_cursor_that_is_forgotten_twice_fails_the_sync(temporal_client: Client) -> None:
    script = Script(pages=1, failures={"list_page 1": [LOST, LOST]})
    async with script.served(temporal_client):
        cause = await failure_of(await start(temporal_client))
    assert (cause.type, script.count("begin_pass")) == ("InvalidCursor", 2)
    assert [ended.forget_cursor for ended in script.ended] == [True, False]


async def test_each_pass_that_is_asked_for_may_begin_anew_once(temporal_client: Client) -> None:
    script = Script(pages=1, nudges=0, failures={"list_page 1": [LOST]})
    embedding, go_on = script.hold("embed_batch 1.0")
    async with script.served(temporal_client):
        handle = await start(temporal_client, {**INPUT, "max_pages": 1})
        await asyncio.wait_for(embedding.wait(), 10)
        await handle.signal("nudge")
        script.failures["list_page 1"].append(LOST)
        go_on.set()
        result = await handle.result()
    assert script.count("begin_pass") == 4
    assert result.pages == 1


async def test_whoever_wants_to_be_asked_first_is_told_of_a_forgotten_cursor(temporal_client: Client) -> None:
    script = Script(pages=1, failures={"list_page 1": [LOST]})
    async with script.served(temporal_client):
        cause = await failure_of(await start(temporal_client, {**INPUT, "on_invalid_cursor": "fail"}))
    assert (cause.type, cause.message) == ("InvalidCursor", LOST.message)
    assert [ended.forget_cursor for ended in script.ended] == [False]


async def test_a_run_that_began_anew_replays(temporal_client: Client) -> None:
    script = Script(pages=2, failures={"list_page 2": [LOST]})
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await handle.result()
        history = await handle.fetch_history()
    await Replayer(workflows=[SyncCorpus], data_converter=temporal_client.data_converter).replay_workflow(history)
