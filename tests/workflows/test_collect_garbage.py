"""Collecting one corpus and all of them: what is gone on with, what holds up nobody, what is refused."""

import asyncio
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from activities.contracts.garbage import CollectTickResult
from headwater.contracts import CollectGarbageResult, SetGenerationResult
from headwater.models import Scope
from headwater.workflow_ids import scope_workflow_id
from tests.workflows.scripted_collection import CollectionScript, scopes
from workflows import queues
from workflows.collect_garbage import PAGES_A_RUN
from workflows.collect_tick import AT_ONCE, SCOPES_A_PAGE
from workflows.collect_tick import PAGES_A_RUN as TICK_PAGES

HANDBOOK = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")
SCOPE = HANDBOOK.model_dump()
BAD = [
    {"scope": SCOPE, "generation": -1},
    {"scope": SCOPE, "generation": 1.5},
    {"scope": SCOPE, "generation": "1"},
    {"scope": SCOPE, "generation": True},
    {"scope": SCOPE, "pin": "yes"},
    {"scope": SCOPE, "pin": True, "generation": 1},
    {"scope": SCOPE},
    {"generation": 1},
    None,
]


async def run(client: Client, name: str, raw: Any, result_type: type[Any]) -> Any:
    """By name and with raw JSON, as a host in any language would."""
    return await client.execute_workflow(
        name, raw, id=scope_workflow_id(name, HANDBOOK), task_queue=queues.CONTROL, result_type=result_type
    )


async def failure_of(client: Client, name: str, raw: Any) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await run(client, name, raw, dict)
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


async def tick(client: Client, tenants: list[str] | None = None) -> CollectTickResult:
    raw = {} if tenants is None else {"tenants": tenants}
    result: CollectTickResult = await client.execute_workflow(
        "CollectTick", raw, id="headwater-gc", task_queue=queues.CONTROL, result_type=CollectTickResult
    )
    return result


async def test_a_generation_or_a_pin_is_set_and_the_answer_says_what_readers_see(skipping: WorkflowEnvironment) -> None:
    script = CollectionScript()
    async with script.served(skipping.client):
        moved = await run(skipping.client, "SetGeneration", {"scope": SCOPE, "generation": 2}, SetGenerationResult)
        asked = {"scope": SCOPE, "pin": True, "requested_by": "ops", "unknown": 1}
        pinned = await run(skipping.client, "SetGeneration", asked, SetGenerationResult)
    assert moved == SetGenerationResult(generation=2, build=7, pinned=False, stale=2)
    assert pinned.pinned
    assert [(move.generation, move.pin, move.requested_by) for move in script.moves] == [
        (2, None, None),
        (None, True, "ops"),
    ]


async def test_what_is_no_generation_is_invalid_input_at_once(skipping: WorkflowEnvironment) -> None:
    script = CollectionScript()
    async with script.served(skipping.client):
        for raw in BAD:
            assert (await failure_of(skipping.client, "SetGeneration", raw)).type == "InvalidInput", raw
        for raw in ({"scope": SCOPE, "keep_generations": -1}, {"scope": SCOPE, "older_than_s": 1.5}, {}):
            assert (await failure_of(skipping.client, "CollectGarbage", raw)).type == "InvalidInput", raw
    assert not script.moves and not script.calls


async def test_a_generation_that_is_not_there_is_told_in_the_words_of_the_store(skipping: WorkflowEnvironment) -> None:
    async with CollectionScript().served(skipping.client):
        failure = await failure_of(skipping.client, "SetGeneration", {"scope": SCOPE, "generation": 99})
    assert (failure.type, failure.message) == ("InvalidInput", "Generation 99 is not there (1 to 3 are).")


async def test_all_pages_are_added_up_over_as_many_runs_as_it_takes(skipping: WorkflowEnvironment) -> None:
    script = CollectionScript(pages=PAGES_A_RUN + 3)
    asked = {"scope": SCOPE, "keep_generations": 5, "older_than_s": 60, "requested_by": "ops"}
    async with script.served(skipping.client):
        freed = await run(skipping.client, "CollectGarbage", asked, CollectGarbageResult)
        described = await skipping.client.get_workflow_handle("gc:t1/docs/handbook").describe()
    pages = script.pages
    assert freed == CollectGarbageResult(
        revisions=2 * pages, chunks=10 * pages, documents=pages, builds=pages, oldest_generation=pages
    )
    assert {(call.keep_generations, call.older_than_s, call.requested_by) for call in script.calls} == {(5, 60, "ops")}
    assert described.history_length < 60  # of the last run


async def test_an_outage_is_waited_out_and_a_refusal_is_not(skipping: WorkflowEnvironment) -> None:
    outages = [ApplicationError("Postgres is away.", type="StoreUnavailable") for _ in range(20)]
    refusal = ApplicationError("Corpus t1/docs/handbook does not exist.", type="InvalidInput")
    script = CollectionScript(failing={"handbook": [*outages]})
    async with script.served(skipping.client):
        await run(skipping.client, "CollectGarbage", {"scope": SCOPE}, CollectGarbageResult)
        script.failing["handbook"] = [refusal]
        failure = await failure_of(skipping.client, "CollectGarbage", {"scope": SCOPE})
    assert len(script.calls) == 22
    assert failure.message == refusal.message


async def test_a_tick_collects_every_corpus_a_few_at_once(temporal_client: Client) -> None:
    names = [f"t1-few-{number}" for number in range(9)]
    script = CollectionScript(corpora=scopes(*names), held=set(names))
    async with script.served(temporal_client):
        handle = await temporal_client.start_workflow(
            "CollectTick", {}, id="headwater-gc-held", task_queue=queues.CONTROL, result_type=CollectTickResult
        )
        await asyncio.wait_for(script.reached.wait(), 10)
        assert len((await handle.describe()).raw_description.pending_children) == AT_ONCE
        script.gate.set()
        assert await handle.result() == CollectTickResult(collected=9)
    assert sorted(call.scope.corpus_id for call in script.calls) == names


async def test_a_tick_goes_on_in_a_new_run_after_many_pages(skipping: WorkflowEnvironment) -> None:
    tenants = [f"t{number}" for number in range(TICK_PAGES + 3)]
    script = CollectionScript(corpora=scopes("t0-a", f"{tenants[-1]}-z", "other-x"))
    async with script.served(skipping.client):
        assert await tick(skipping.client, tenants) == CollectTickResult(collected=2)
        last = await skipping.client.get_workflow_handle("headwater-gc").describe()
    assert [call.scope.corpus_id for call in script.calls] == ["t0-a", f"{tenants[-1]}-z"]
    assert last.history_length < 12 * TICK_PAGES  # the first run took two activities for each page


async def test_a_tenant_with_many_corpora_is_listed_in_pages(skipping: WorkflowEnvironment) -> None:
    names = [f"t1-{number:03}" for number in range(SCOPES_A_PAGE + 5)]
    script = CollectionScript(corpora=scopes(*names))
    async with script.served(skipping.client):
        assert (await tick(skipping.client)).collected == len(names)
    assert sorted(call.scope.corpus_id for call in script.calls) == names


async def test_a_corpus_that_fails_or_is_being_collected_holds_up_no_other(skipping: WorkflowEnvironment) -> None:
    fault = ApplicationError("It is broken.", type="StoreError")
    script = CollectionScript(corpora=scopes("t1-a", "t1-b", "t1-c"), failing={"t1-a": [fault]}, held={"t1-b"})
    async with script.served(skipping.client):
        busy = script.corpora[1]
        running = await skipping.client.start_workflow(
            "CollectGarbage",
            {"scope": busy.model_dump()},
            id=scope_workflow_id("CollectGarbage", busy),
            task_queue=queues.CONTROL,
        )
        await asyncio.wait_for(script.reached.wait(), 10)
        assert await tick(skipping.client) == CollectTickResult(collected=1, busy=1, failed=1)
        script.gate.set()
        await running.result()


async def test_corpora_that_outgrew_their_place_are_moved_and_not_waited_for(temporal_client: Client) -> None:
    large = scopes("t1-large")[0]
    script = CollectionScript(corpora=[large], outgrown=[large])
    async with script.served(temporal_client):
        assert await tick(temporal_client) == CollectTickResult(collected=1, promoted=1)
        assert await tick(temporal_client) == CollectTickResult(collected=1, promoted=0)  # it is under way
        moving = temporal_client.get_workflow_handle(scope_workflow_id("ReindexCorpus", large))
        assert (await moving.describe()).status is WorkflowExecutionStatus.RUNNING
        await moving.terminate()


async def test_a_cancelled_tick_cancels_what_it_waits_for(temporal_client: Client) -> None:
    script = CollectionScript(corpora=scopes("t1-x"), held={"t1-x"})
    async with script.served(temporal_client):
        handle = await temporal_client.start_workflow(
            "CollectTick", {}, id="headwater-gc-cancelled", task_queue=queues.CONTROL
        )
        await asyncio.wait_for(script.reached.wait(), 10)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await asyncio.wait_for(handle.result(), 20)
        script.gate.set()  # only now: the page that is held must not end before its workflow is told
        collecting = temporal_client.get_workflow_handle(scope_workflow_id("CollectGarbage", script.corpora[0]))
        for each in (handle, collecting):
            assert (await each.describe()).status is WorkflowExecutionStatus.CANCELED
