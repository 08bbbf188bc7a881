"""The order of a re-index: rounds until it is level, the pause at the end, aborting, and the timer after the flip."""

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from activities.contracts.reindex import BegunReindex, RetireBuildInput
from headwater.contracts.reindex import ReindexCorpusResult, ReindexProgress
from headwater.models import Scope
from headwater.workflow_ids import request_workflow_id
from tests.workflows.scripted_reindex import ReindexScript
from workflows import queues
from workflows.reindex_corpus import PAGES_A_RUN, ROUNDS, ReindexCorpus


def asked(corpus: str = "handbook", **fields: Any) -> dict[str, Any]:
    return {"scope": {"tenant_id": "t1", "resource_id": "docs", "corpus_id": corpus}, **fields}


async def start(client: Client, request: Any = None) -> WorkflowHandle[Any, ReindexCorpusResult]:
    """By name and with raw JSON, as a host in any language would; each in a corpus of its own."""
    handle: WorkflowHandle[Any, ReindexCorpusResult] = await client.start_workflow(
        "ReindexCorpus",
        asked(uuid.uuid4().hex) if request is None else request,
        id=f"reindex:{uuid.uuid4()}",
        task_queue=queues.CONTROL,
        result_type=ReindexCorpusResult,
    )
    return handle


async def failure_of(handle: WorkflowHandle[Any, Any]) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


async def progress_of(handle: WorkflowHandle[Any, Any]) -> ReindexProgress:
    progress: ReindexProgress = await handle.query("progress", result_type=ReindexProgress)
    return progress


async def test_rounds_follow_each_other_until_the_build_is_level(temporal_client: Client) -> None:
    script = ReindexScript(rounds=(2, 1, 0))
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        result = await handle.result()
    assert result == ReindexCorpusResult(
        build=2, generation=7, sources=200, chunks=512, embedded_chunks=720, reused_chunks=48
    )
    kept = [call for call in script.calls if call.split()[0] in {"list_green", "publish_green", "flip_build"}]
    assert kept == [
        "list_green 1", "publish_green 1", "publish_green 2", "flip_build",
        "list_green 2", "publish_green 3", "flip_build",
        "list_green 3", "flip_build",
    ]  # fmt: skip
    assert "index_slab" not in script.calls


async def test_what_was_asked_for_reaches_the_activity(temporal_client: Client) -> None:
    script = ReindexScript(rounds=(0,))
    request = asked(
        uuid.uuid4().hex, embedder="hash:64", chunker="chars", retire_after_s=5, requested_by="somebody", x=1
    )
    async with script.served(temporal_client):
        await (await start(temporal_client, request)).result()
    wanted = script.wanted[0]
    assert (wanted.embedder, wanted.chunker, wanted.retire_after_s, wanted.requested_by, wanted.promote) == (
        "hash:64", "chars", 5, "somebody", False,
    )  # fmt: skip


async def test_a_malformed_input_is_named(temporal_client: Client) -> None:
    async with ReindexScript().served(temporal_client):
        failure = await failure_of(await start(temporal_client, asked(retire_after_s=-1)))
    assert (failure.type, "retire_after_s" in failure.message) == ("InvalidInput", True)


async def test_a_large_build_is_indexed_once_it_is_filled(temporal_client: Client) -> None:
    script = ReindexScript(
        rounds=(1, 1), begun=BegunReindex(tenant_id="t1", build_id=2, slab=4, retire_after_s=3_600.0)
    )
    async with script.served(temporal_client):
        await (await start(temporal_client)).result()
    kept = [call for call in script.calls if call.split()[0] in {"publish_green", "flip_build", "index_slab"}]
    assert kept == ["publish_green 1", "index_slab", "flip_build", "publish_green 2", "flip_build"]


async def test_where_nothing_is_to_be_done_nothing_is_done(temporal_client: Client) -> None:
    begun = BegunReindex(
        tenant_id="t1", build_id=1, is_live=True, generation=4, sources=9, chunks=27, retire_after_s=1.0
    )
    script = ReindexScript(begun=begun)
    async with script.served(temporal_client):
        result = await (await start(temporal_client)).result()
    assert result == ReindexCorpusResult(build=1, generation=4, sources=9, chunks=27)
    assert script.calls == ["begin_reindex"]


async def test_publishing_is_held_only_in_a_last_round_that_follows_five(temporal_client: Client) -> None:
    script = ReindexScript(rounds=[1] * (ROUNDS + 1))
    async with script.served(temporal_client):
        await (await start(temporal_client)).result()
    listed = [call for call in script.calls if call.startswith("list_green")]
    assert listed == [*(f"list_green {number}" for number in range(1, ROUNDS + 1)), f"list_green {ROUNDS + 1} held"]


async def test_what_never_comes_level_is_refused_and_can_be_gone_on_with(temporal_client: Client) -> None:
    script = ReindexScript(rounds=[1] * (ROUNDS + 3))
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        failure = await failure_of(handle)
    assert failure.type == "NotLevel"
    assert "3 documents changed" in failure.message and "goes on where this one stopped" in failure.message
    assert not any(call.startswith("abort") for call in script.calls)


async def test_a_permanent_fault_is_told_as_it_was_said(temporal_client: Client) -> None:
    fault = ApplicationError("Delete it.", type="BuildConflict", non_retryable=True)
    script = ReindexScript(rounds=(1,), failures={"flip_build": [fault]})
    async with script.served(temporal_client):
        failure = await failure_of(await start(temporal_client))
    assert (failure.type, failure.message) == ("BuildConflict", "Delete it.")


async def test_aborting_stops_between_two_batches(temporal_client: Client) -> None:
    script = ReindexScript(rounds=(3,))
    embedding, _ = script.hold("embed_batch 1.0")
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        aborted = await handle.execute_update("abort", result_type=ReindexProgress)
        failure = await failure_of(handle)
    assert (aborted.phase, failure.type) == ("aborted", "Aborted")
    assert script.calls[-1] == "abort_reindex 2"
    assert not any(call.startswith("publish") for call in script.calls)


async def test_a_flip_that_has_begun_is_not_aborted(temporal_client: Client) -> None:
    script = ReindexScript(rounds=(1,))
    flipping, flip = script.hold("flip_build")
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(flipping.wait(), 10)
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handle.execute_update("abort")
        assert isinstance(refused.value.cause, ApplicationError) and refused.value.cause.type == "TooLate"
        flip.set()
        assert (await handle.result()).generation == 7


async def test_cancelling_keeps_the_build_for_the_next_run(temporal_client: Client) -> None:
    script = ReindexScript(rounds=(1,))
    embedding, _ = script.hold("embed_batch 1.0")
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    assert not any(call.startswith("abort") for call in script.calls)


@pytest.mark.long
async def test_a_long_re_index_goes_on_in_a_new_run(temporal_client: Client) -> None:
    script = ReindexScript(rounds=(PAGES_A_RUN + 2, 1), batches=1)
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await handle.result()
        described = await handle.describe()
        progress = await progress_of(temporal_client.get_workflow_handle(handle.id))
    assert described.run_id != handle.first_execution_run_id
    assert script.calls.count("begin_reindex") == 1
    published = [call for call in script.calls if call.startswith("publish_green")]
    assert published == [f"publish_green {page}" for page in range(1, PAGES_A_RUN + 4)]
    assert (progress.embedded_chunks, progress.round) == (120 * (PAGES_A_RUN + 3), 2)


async def test_an_outage_is_waited_out(skipping: WorkflowEnvironment) -> None:
    outage = [ApplicationError("Postgres is away.", type="StoreUnavailable") for _ in range(25)]
    script = ReindexScript(rounds=(1,), failures={"publish_green 1": outage})
    async with script.served(skipping.client):
        assert (await (await start(skipping.client)).result()).generation == 7
    assert script.calls.count("publish_green 1") == 26


async def test_the_former_build_is_left_to_a_workflow_of_its_own(temporal_client: Client) -> None:
    script, corpus = ReindexScript(rounds=(1,)), uuid.uuid4().hex
    async with script.served(temporal_client):
        await (await start(temporal_client, asked(corpus))).result()
        retiring = temporal_client.get_workflow_handle(
            request_workflow_id("RetireBuild", Scope.parse(f"t1/docs/{corpus}"), "1")
        )
        assert (await retiring.describe()).status is WorkflowExecutionStatus.RUNNING
        assert not any(call.startswith("retire") for call in script.calls)
        await retiring.terminate()


async def test_a_former_build_is_kept_until_its_timer_ends(skipping: WorkflowEnvironment) -> None:
    # After an hour readers have seen it again and left it again, so that it is kept for two minutes more.
    script = ReindexScript(left_s=[120.0, 0.0])
    ended = RetireBuildInput(scope=Scope.parse("t1/docs/handbook"), build_id=1, after_s=3_600.0)
    async with script.served(skipping.client):
        handle = await skipping.client.start_workflow("RetireBuild", ended, id="retire", task_queue=queues.CONTROL)
        await handle.result()
        described = await handle.describe()
    assert script.calls == ["retire_build 1", "retire_build 1"]
    assert described.close_time is not None
    passed = described.close_time - described.start_time
    assert timedelta(seconds=3_720) <= passed < timedelta(seconds=3_800)


async def test_what_is_being_retired_already_is_left_to_its_timer(temporal_client: Client) -> None:
    script, corpus = ReindexScript(rounds=(1, 1)), uuid.uuid4().hex
    async with script.served(temporal_client):
        for _ in range(2):
            assert (await (await start(temporal_client, asked(corpus))).result()).generation == 7
        retiring = request_workflow_id("RetireBuild", Scope.parse(f"t1/docs/{corpus}"), "1")
        await temporal_client.get_workflow_handle(retiring).terminate()


async def test_a_re_index_replays(temporal_client: Client) -> None:
    script = ReindexScript(rounds=(2, 1))
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await handle.result()
    replayer = Replayer(workflows=[ReindexCorpus], data_converter=temporal_client.data_converter)
    await replayer.replay_workflow(await handle.fetch_history())
