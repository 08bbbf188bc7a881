"""Moves of sources: pages in order, the first failure or all of them, cancelling, and handlers of hosts."""

import asyncio
import uuid
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from activities.contracts.repoint import FAILURES_MAX, MovedPage
from headwater.contracts import FailedRename, RenameSourcesResult, RepointResult
from tests.workflows.scripted_moves import MOVED, MoveScript
from workflows import queues
from workflows.rename_sources import PAGES_A_RUN, RenameSources

SCOPE = {"tenant_id": "t1", "resource_id": "docs", "corpus_id": "handbook"}
ALICE = {"principal_id": "alice", "tenant_id": "t1"}
PAIRS = [{"from": f"a{number}", "to": f"b{number}"} for number in range(3)]
DENIED = ApplicationError("alice has no grant for b1.", type="AccessError", non_retryable=True)

Handle = WorkflowHandle[Any, Any]


async def start(client: Client, workflow: str, **fields: Any) -> Handle:
    """By name and with raw JSON, as a host in any language would."""
    return await client.start_workflow(
        workflow,
        {"scope": SCOPE, "request_id": "r1", "authorization": ALICE, **fields},
        id=f"move:{uuid.uuid4()}",
        task_queue=queues.CONTROL,
        result_type=RepointResult if workflow == "RepointSource" else RenameSourcesResult,
    )


async def rename(client: Client, **fields: Any) -> RenameSourcesResult:
    result: RenameSourcesResult = await (await start(client, "RenameSources", **fields)).result()
    return result


async def failure_of(handle: Handle) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


async def test_a_cursor_is_returned_while_edges_are_left(temporal_client: Client) -> None:
    script = MoveScript({"a": [MOVED.model_copy(update={"after": "derived/2#7#1"}), MovedPage(rewritten_edges=1)]})
    async with script.served(temporal_client):
        first = await (await start(temporal_client, "RepointSource", **{"from": "a", "to": "b"}, page_size=2)).result()
        again = {"from": "a", "to": "b", "request_id": "r2", "cursor": first.cursor}
        second = await (await start(temporal_client, "RepointSource", **again)).result()
    assert (first.moved_sources, first.moved_chunks, first.rewritten_edges, first.batched) == (1, 3, 2, True)
    assert first.cursor and second == RepointResult(from_id="a", to_id="b", rewritten_edges=1)
    assert [(each.after, each.page_size) for each in script.wanted] == [(None, 2), ("derived/2#7#1", 4_096)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cursor": "garbage"}, "cursor: is not a resume token"),
        ({"page_size": 0}, "page_size: "),
        ({"to": "a"}, "input: from and to are both a"),
        ({"authorization": None}, "authorization: "),
        ({"max_records": 0}, "max_records: "),
    ],
)
async def test_what_is_malformed_is_refused_before_anything_is_read(
    temporal_client: Client, fields: dict[str, Any], said: str
) -> None:
    script = MoveScript()
    async with script.served(temporal_client):
        failure = await failure_of(await start(temporal_client, "RepointSource", **{"from": "a", "to": "b", **fields}))
    assert failure.type == "InvalidInput" and failure.message.startswith(said)
    assert not script.begun and not script.calls


async def test_a_set_that_meets_itself_is_refused_before_anything_is_read(temporal_client: Client) -> None:
    script = MoveScript()
    async with script.served(temporal_client):
        handle = await start(temporal_client, "RenameSources", renames=[PAIRS[0], {"from": "b0", "to": "c"}])
        assert (await failure_of(handle)).message.startswith("input: renames name b0 twice")
    assert not script.begun and not script.calls


async def test_no_pairs_need_no_store(temporal_client: Client) -> None:
    script = MoveScript()
    async with script.served(temporal_client):
        assert await rename(temporal_client, renames=[]) == RenameSourcesResult()
    assert not script.begun and not script.calls and not script.ended


async def test_pairs_are_moved_in_order_and_their_pages_folded(temporal_client: Client) -> None:
    pages = [MOVED.model_copy(update={"after": "x#1#1"}), MovedPage(rewritten_edges=4, after="y#1#1"), MovedPage()]
    script = MoveScript({"a1": pages}, wiki=[5])
    async with script.served(temporal_client):
        result = await rename(temporal_client, renames=PAIRS)
    assert script.calls == ["a0", "a1", "a1 x#1#1", "a1 y#1#1", "a2"]
    assert [each.step for each in script.wanted][1:4] == ["pair 1 page 0", "pair 1 page 1", "pair 1 page 2"]
    one: dict[str, Any] = {"moved_sources": 1, "moved_chunks": 3}
    assert result.results == (
        RepointResult(from_id="a0", to_id="b0", rewritten_edges=2, layers={"wiki": 5}, **one),
        RepointResult(from_id="a1", to_id="b1", rewritten_edges=6, layers={"wiki": 10}, **one),
        RepointResult(from_id="a2", to_id="b2", rewritten_edges=2, layers={"wiki": 5}, **one),
    )
    assert (result.failures, result.failed) == ((), 0)


async def test_the_first_failure_ends_it_and_later_pairs_are_left_alone(temporal_client: Client) -> None:
    script = MoveScript({"a1": [DENIED]})
    async with script.served(temporal_client):
        failure = await failure_of(await start(temporal_client, "RenameSources", renames=PAIRS))
    assert (failure.type, failure.message) == ("AccessError", "alice has no grant for b1.")
    assert script.calls == ["a0", "a1"] and [each.from_id for each in script.failures] == ["a1"]
    assert [each.result for each in script.ended] == [None]


async def test_told_to_go_on_it_lists_what_failed(temporal_client: Client) -> None:
    script = MoveScript({"a1": [DENIED]})
    async with script.served(temporal_client):
        result = await rename(temporal_client, renames=PAIRS, continue_on_error=True)
    failed = FailedRename(from_id="a1", to_id="b1", error="alice has no grant for b1.", code="ERR_HEADWATER_ACCESS")
    assert (result.failures, result.failed) == ((failed,), 1) and script.failures == [failed]
    assert [each.from_id for each in result.results] == ["a0", "a2"] and len(script.calls) == 3


@pytest.mark.long
async def test_many_failures_are_counted_and_the_first_are_listed(temporal_client: Client) -> None:
    long = ApplicationError("x" * 900, type="StoreError", non_retryable=True)
    pairs = [{"from": f"a{number}", "to": f"b{number}"} for number in range(FAILURES_MAX + 5)]
    script = MoveScript({pair["from"]: [long] for pair in pairs})
    async with script.served(temporal_client):
        result = await rename(temporal_client, renames=pairs, continue_on_error=True)
    assert (len(result.failures), result.failed, result.results) == (FAILURES_MAX, FAILURES_MAX + 5, ())
    assert {len(each.error) for each in result.failures} == {256}


async def test_a_prefix_is_moved_page_by_page_and_told_as_one(temporal_client: Client) -> None:
    refused = FailedRename(from_id="old/3", to_id="new/3", error="occupied", code="ERR_HEADWATER_PERMANENT")
    first = MovedPage(
        moved_sources=4_096, moved_chunks=9_000, after="old/2", until="old/2", failures=[refused], failed=3
    )
    script = MoveScript({"old/": [first, MovedPage(moved_sources=7, moved_chunks=8, until="old/9")]}, wiki=[1])
    async with script.served(temporal_client):
        prefix = {"from": "old/", "to": "new/"}
        result = await rename(temporal_client, prefix=prefix, continue_on_error=True)
    assert result == RenameSourcesResult(
        results=(
            RepointResult(from_id="old/", to_id="new/", moved_sources=4_103, moved_chunks=9_008, layers={"wiki": 2}),
        ),
        failures=(refused,),
        failed=3,
    )
    assert [(each["is_prefix"], each["after"], each["until"]) for each in script.told] == [
        (True, None, "old/2"),
        (True, "old/2", "old/9"),
    ]
    assert all(each.is_prefix and each.passes_over for each in script.wanted)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_page_of_a_prefix_that_fails_leaves_those_before_moved(temporal_client: Client, goes_on: bool) -> None:
    first = MovedPage(moved_sources=2, moved_chunks=2, after="old/2", until="old/2")
    occupied = ApplicationError("old/3 cannot be moved.", type="MoveRefused", non_retryable=True)
    script = MoveScript({"old/": [first, occupied]})
    async with script.served(temporal_client):
        handle = await start(
            temporal_client, "RenameSources", prefix={"from": "old/", "to": "new/"}, continue_on_error=goes_on
        )
        if goes_on:
            result = await handle.result()
            assert [each.moved_sources for each in result.results] == [2]
            assert [(each.from_id, each.code) for each in result.failures] == [("old/", "ERR_HEADWATER_PERMANENT")]
        else:
            assert (await failure_of(handle)).type == "MoveRefused"
    assert [each.error for each in script.failures] == ["old/3 cannot be moved."]


async def test_a_handler_is_called_for_the_first_page_whatever_it_found_and_then_for_work(
    temporal_client: Client,
) -> None:
    script = MoveScript(
        {"a": [MovedPage(after="x#1#1"), MovedPage(rewritten_edges=1, after="y#1#1"), MovedPage()]}, wiki=[1]
    )
    async with script.served(temporal_client):
        (result,) = (await rename(temporal_client, renames=[{"from": "a", "to": "b"}])).results
    assert result.layers == {"wiki": 2} and [each["after"] for each in script.told] == [None, "x#1#1"]
    assert {name: script.told[0][name] for name in ("scope", "from", "to")} == {"scope": SCOPE, "from": "a", "to": "b"}


async def test_a_handler_that_is_away_is_waited_for(skipping: WorkflowEnvironment) -> None:
    script = MoveScript(wiki=[*(RuntimeError("the wiki is down") for _ in range(20)), 4])
    async with script.served(skipping.client):
        (result,) = (await rename(skipping.client, renames=[{"from": "a", "to": "b"}])).results
    assert result.layers == {"wiki": 4} and script.calls == ["a"] and len(script.told) == 21


@pytest.mark.parametrize("answer", [-1, 2.5, True, None])
async def test_an_answer_that_is_no_count_fails_and_says_whose_it_is(temporal_client: Client, answer: Any) -> None:
    script = MoveScript(wiki=[answer])
    async with script.served(temporal_client):
        failure = await failure_of(await start(temporal_client, "RepointSource", **{"from": "a", "to": "b"}))
    assert failure.type == "InvalidLayerCount" and "move handler wiki (rename_wiki_pages on my-wiki)" in failure.message
    assert len(script.failures) == 1


async def test_the_words_of_a_handler_are_not_repeated(temporal_client: Client) -> None:
    secret = ApplicationError("the salary of carol", type="WikiError", non_retryable=True)
    script = MoveScript(wiki=[secret])
    async with script.served(temporal_client):
        result = await rename(temporal_client, renames=[{"from": "a", "to": "b"}], continue_on_error=True)
    (failed,) = result.failures
    assert failed.code == "ERR_HEADWATER" and "failed with WikiError" in failed.error and "salary" not in failed.error


async def test_cancelled_it_ends_between_pages_and_is_no_failure(temporal_client: Client) -> None:
    script = MoveScript(held="a1")
    async with script.served(temporal_client):
        handle = await start(temporal_client, "RenameSources", renames=PAIRS, continue_on_error=True)
        await asyncio.wait_for(script.reached.wait(), 20)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
        assert script.calls == ["a0", "a1"] and not script.failures
        assert [each.result for each in script.ended] == [None], "the request is free to be sent again"
        script.gate.set()
        script.held = None
        result = await rename(temporal_client, renames=PAIRS, continue_on_error=True)
    assert [each.from_id for each in result.results] == ["a0", "a1", "a2"]
    assert [each.step for each in script.wanted][2:] == [f"pair {number} page 0" for number in range(3)]


async def test_cancelled_while_a_handler_works_the_next_pair_is_left_alone(temporal_client: Client) -> None:
    script = MoveScript(wiki=["wait"])
    async with script.served(temporal_client):
        handle = await start(temporal_client, "RenameSources", renames=PAIRS, continue_on_error=True)
        await asyncio.wait_for(script.reached.wait(), 20)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    assert script.calls == ["a0"] and not script.failures


@pytest.mark.long
async def test_a_long_list_goes_on_in_a_new_run(temporal_client: Client) -> None:
    count = PAGES_A_RUN + 3
    pairs = [{"from": f"a{number}", "to": f"b{number}"} for number in range(count)]
    script = MoveScript({"a7": [DENIED]})
    async with script.served(temporal_client):
        handle = await start(temporal_client, "RenameSources", renames=pairs, continue_on_error=True)
        result = await handle.result()
        first = await temporal_client.get_workflow_handle(
            handle.id, run_id=handle.first_execution_run_id
        ).fetch_history()
    assert [each.from_id for each in result.results] == [pair["from"] for pair in pairs if pair["from"] != "a7"]
    assert {each.moved_chunks for each in result.results} == {3} and result.failed == 1
    assert script.calls == [pair["from"] for pair in pairs] and len(script.begun) == 2
    assert len({each.run_id for each in script.begun}) == 1, "one request all the way"
    last = first.events[-1].workflow_execution_continued_as_new_event_attributes
    assert len(last.input.payloads) == 2
    await Replayer(workflows=[RenameSources], data_converter=temporal_client.data_converter).replay_workflow(first)
