"""The layers of a propagation: each retried by itself, none in another's way, and none asked twice."""

import asyncio
import uuid
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from activities.contracts.deletion import Propagated
from headwater.contracts import PropagateDeletionResult
from tests.workflows.scripted_deletion import NOTES, WIKI, DeletionScript
from workflows import queues

SCOPE = {"tenant_id": "t1", "resource_id": "docs", "corpus_id": "handbook"}
INPUT: dict[str, Any] = {
    "scope": SCOPE, "request_id": "r1", "source_id": "doc", "authorization": {"principal_id": "alice", "tenant_id": "t1"},
}  # fmt: skip
HIDDEN = Propagated(ids=("doc", "summary", "digest"), tombstoned=3, handlers=(WIKI, NOTES))

Handle = WorkflowHandle[Any, PropagateDeletionResult]


async def start(client: Client, **fields: Any) -> Handle:
    """By name and with raw JSON, as a host in any language would."""
    handle: Handle = await client.start_workflow(
        "PropagateDeletion",
        {**INPUT, **fields},
        id=f"propagate:{uuid.uuid4()}",
        task_queue=queues.CONTROL,
        result_type=PropagateDeletionResult,
    )
    return handle


async def failure_of(handle: Handle) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    cause = failed.value.cause
    assert isinstance(cause, ApplicationError)
    return cause


async def test_a_handler_that_fails_is_retried_alone(skipping: WorkflowEnvironment) -> None:
    broken = [RuntimeError("the wiki is down") for _ in range(20)]
    script = DeletionScript(HIDDEN, {"wiki": [*broken, 2], "notes": [5]})
    async with script.served(skipping.client):
        result = await (await start(skipping.client)).result()
    assert result.layers == {"rag": 7, "wiki": 2, "notes": 5} and list(result.layers) == ["rag", "wiki", "notes"]
    assert {call: script.calls.count(call) for call in ("hide", "rag", "notes", "wiki")} == {
        "hide": 1, "rag": 1, "notes": 1, "wiki": 21,
    }  # fmt: skip
    assert (result.source_id, result.ids, result.tombstoned, result.batched) == ("doc", HIDDEN.ids, 3, True)
    assert script.ended[0].result is not None


@pytest.mark.parametrize("answer", [-1, 2.5, True, "3", None])
async def test_an_answer_that_is_no_count_fails_and_says_whose_it_is(temporal_client: Client, answer: Any) -> None:
    script = DeletionScript(HIDDEN, {"wiki": [answer], "notes": [5]})
    async with script.served(temporal_client):
        failure = await failure_of(await start(temporal_client))
    assert failure.type == "InvalidLayerCount" and "handler wiki (remove_wiki_pages on my-wiki)" in failure.message
    assert script.noted == {"rag": 7, "notes": 5}, "it stops no other"
    assert [ended.result for ended in script.ended] == [None]


async def test_sent_again_the_request_goes_on_with_the_layer_that_is_missing(temporal_client: Client) -> None:
    refused = ApplicationError("the salary of carol", type="WikiError", non_retryable=True)
    script = DeletionScript(HIDDEN, {"wiki": [refused, 3], "notes": [5]})
    async with script.served(temporal_client):
        failure = await failure_of(await start(temporal_client))
        where = "The deletion handler wiki (remove_wiki_pages on my-wiki)"
        assert failure.type == "HandlerFailed" and failure.message.startswith(
            f"{where} failed with WikiError: correct it"
        )
        assert "salary" not in failure.message, "its own words may repeat what it worked on"
        result = await (await start(temporal_client)).result()
    assert result.layers == {"rag": 7, "wiki": 3, "notes": 5}
    assert sorted(script.calls) == ["hide", "hide", "notes", "rag", "wiki", "wiki"]


async def test_a_cancelled_run_leaves_what_is_hidden_and_frees_its_request(temporal_client: Client) -> None:
    script = DeletionScript(HIDDEN, {"wiki": ["wait"]})
    async with script.served(temporal_client):
        handle = await start(temporal_client)
        await asyncio.wait_for(script.waiting.wait(), 20)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    assert script.calls.count("hide") == 1 and [ended.result for ended in script.ended] == [None]


@pytest.mark.parametrize(
    ("reason", "held", "told"),
    [
        ("forgotten", (), ["doc", "summary", "digest"]),
        ("revoked", (1,), ["doc", "digest"]),
        ("legal_hold", (0, 1, 2), ["doc", "summary", "digest"]),
        ("corrected", (2,), ["summary"]),
    ],
)
async def test_a_handler_is_told_what_it_may_remove(
    temporal_client: Client, reason: str, held: tuple[int, ...], told: list[str]
) -> None:
    script = DeletionScript(HIDDEN.model_copy(update={"held": held, "handlers": (WIKI,)}))
    async with script.served(temporal_client):
        await (await start(temporal_client, reason=reason)).result()
    assert script.asked == [{"scope": SCOPE, "source_id": "doc", "ids": told, "reason": reason}]


@pytest.mark.parametrize(
    ("fields", "kind", "says"),
    [
        ({"reason": "because"}, "InvalidInput", "reason"),
        ({"authorization": None}, "InvalidInput", "authorization"),
        ({"authorization": {"principal_id": "alice", "tenant_id": "t2"}}, "ScopeError", "tenant t2"),
        ({"source_id": "doc#0001"}, "InvalidInput", "source_id"),
    ],
)
async def test_bad_input_fails_at_once(temporal_client: Client, fields: dict[str, Any], kind: str, says: str) -> None:
    script = DeletionScript(HIDDEN)
    async with script.served(temporal_client):
        failure = await failure_of(await start(temporal_client, **fields))
    assert failure.type == kind and says in failure.message and not script.calls
