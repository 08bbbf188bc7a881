"""What becomes of a sync that somebody interrupts, also while Temporal is away."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from temporalio.client import (
    CancelWorkflowInput,
    Client,
    DescribeWorkflowInput,
    Interceptor,
    OutboundInterceptor,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
)
from temporalio.service import RPCError, RPCStatusCode

from headwater.contracts import SyncCorpusInput, SyncResult
from headwater.models import Scope
from tests.workflows.scripted_activities import Script
from workers.cli.errors import CommandFailed, Interrupted, exit_status
from workers.cli.own_run import Starter
from workers.cli.syncing import Sync
from workers.cli.waiting import wait_for

R = TypeVar("R")
SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")
# The SDK says so when an activity ends just before it hears that it was cancelled.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot find activity to cancel")
AWAY, REFUSED = RPCStatusCode.UNAVAILABLE, RPCStatusCode.PERMISSION_DENIED


@dataclass
class Faults(Interceptor):
    """A connection on which some calls fail first. ``None`` stands for a call that is never answered."""

    describe: list[RPCStatusCode | None] = field(default_factory=list)
    cancel: list[RPCStatusCode | None] = field(default_factory=list)

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _Faulty(next, self)

    def on(self, client: Client) -> Client:
        config = client.config()
        config["interceptors"] = [self]
        return Client(**config)


class _Faulty(OutboundInterceptor):
    def __init__(self, next: OutboundInterceptor, faults: Faults) -> None:
        super().__init__(next)
        self._faults = faults

    async def describe_workflow(self, input: DescribeWorkflowInput) -> WorkflowExecutionDescription:
        return await _faulty(self._faults.describe, lambda: super(_Faulty, self).describe_workflow(input))

    async def cancel_workflow(self, input: CancelWorkflowInput) -> None:
        await _faulty(self._faults.cancel, lambda: super(_Faulty, self).cancel_workflow(input))


async def _faulty(faults: list[RPCStatusCode | None], call: Callable[[], Awaitable[R]]) -> R:
    if not faults:
        return await call()
    status = faults.pop(0)
    if status is None:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")
    raise RPCError("as it was told to", status, b"")


@dataclass
class Asked:
    """A command that waits for a sync, and what it said."""

    sync: Sync
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    said: list[str] = field(default_factory=list)

    async def result(self, patience_s: float = 5.0) -> SyncResult:
        return await wait_for(
            self.sync, stop=self.stop, trouble=_no_trouble(), on_stopping=self.said.append, patience_s=patience_s
        )


async def _no_trouble() -> str:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


def asked(client: Client, connector: str | None = None) -> Asked:
    return Asked(Sync(client, SyncCorpusInput(scope=SCOPE, connector=connector or f"shelf-{uuid.uuid4().hex[:8]}")))


async def interrupted(client: Client, faults: Faults, *, patience_s: float = 5.0) -> tuple[Asked, str]:
    """A sync that was interrupted in its first batch, and the last sentence of the command."""
    script = Script()
    reached, _go_on = script.hold("embed_batch 1.0")
    command = asked(faults.on(client))
    async with script.served(client):
        running = asyncio.create_task(command.result(patience_s))
        await asyncio.wait_for(reached.wait(), 20)
        command.stop.set()
        with pytest.raises(Interrupted) as ended:
            await asyncio.wait_for(running, 20)
        if await status_of(client, command) == WorkflowExecutionStatus.RUNNING:
            await client.get_workflow_handle(command.sync.run.workflow_id).terminate()
    assert exit_status(ended.value) == 130
    return command, str(ended.value)


async def status_of(client: Client, command: Asked) -> WorkflowExecutionStatus | None:
    return (await client.get_workflow_handle(command.sync.run.workflow_id).describe()).status


@pytest.mark.parametrize(
    "faults",
    [Faults(), Faults(describe=[AWAY, AWAY]), Faults(cancel=[AWAY]), Faults(describe=[AWAY], cancel=[AWAY, AWAY])],
    ids=["there", "away when asked whose it is", "away when told to cancel", "away again and again"],
)
async def test_ones_own_run_is_cancelled_as_soon_as_temporal_hears_it(temporal_client: Client, faults: Faults) -> None:
    command, sentence = await interrupted(temporal_client, faults)
    assert sentence == "Interrupted; the next sync goes on where this one stopped."
    assert "Stopping between two batches" in command.said[-1]
    assert await status_of(temporal_client, command) == WorkflowExecutionStatus.CANCELED


@pytest.mark.parametrize("faults", [Faults(describe=[None]), Faults(cancel=[None])], ids=["whose it is", "to cancel"])
async def test_a_temporal_that_stays_away_is_not_waited_for(temporal_client: Client, faults: Faults) -> None:
    command, sentence = await interrupted(temporal_client, faults, patience_s=0.1)
    assert sentence == (
        "Interrupted, but Temporal does not answer: if it has begun this sync, that goes on. "
        f"To stop it, cancel {command.sync.run.workflow_id} in Temporal's web page."
    )
    assert "Temporal does not answer" in command.said[0]


@pytest.mark.parametrize("faults", [Faults(describe=[REFUSED]), Faults(cancel=[REFUSED])], ids=["to look", "to cancel"])
async def test_a_temporal_that_refuses_is_believed(temporal_client: Client, faults: Faults) -> None:
    command, sentence = await interrupted(temporal_client, faults)
    assert sentence == (
        "Interrupted, but Temporal refuses to stop the sync (PERMISSION_DENIED). "
        f"To stop it, cancel {command.sync.run.workflow_id} in Temporal's web page."
    )


async def test_a_run_that_ended_before_it_heard_is_not_said_to_go_on(temporal_client: Client) -> None:
    _, sentence = await interrupted(temporal_client, Faults(cancel=[RPCStatusCode.NOT_FOUND]))
    assert sentence == "Interrupted; no sync of this connector is running."


async def test_a_run_of_others_goes_on(temporal_client: Client) -> None:
    script = Script()
    reached, go_on = script.hold("embed_batch 1.0")
    first = asked(temporal_client)
    second = asked(Faults(describe=[AWAY]).on(temporal_client), first.sync.request.connector)
    async with script.served(temporal_client):
        running = asyncio.create_task(first.result())
        await asyncio.wait_for(reached.wait(), 20)
        second.stop.set()
        with pytest.raises(Interrupted, match="was started elsewhere and goes on"):
            await second.result()
        go_on.set()
        assert (await running).generation == 7
    assert await first.sync.run.cancel_own() is Starter.NOBODY
    assert await asked(temporal_client).sync.run.cancel_own() is Starter.NOBODY


@pytest.mark.parametrize("faults", [Faults(), Faults(describe=[AWAY, AWAY])], ids=["there", "away"])
async def test_whoever_waited_for_a_run_that_was_cancelled_gets_their_own(
    temporal_client: Client, faults: Faults
) -> None:
    script = Script()
    reached, go_on = script.hold("embed_batch 1.0")
    first = asked(temporal_client)
    second = asked(faults.on(temporal_client), first.sync.request.connector)
    async with script.served(temporal_client):
        own = asyncio.create_task(first.result())
        await asyncio.wait_for(reached.wait(), 20)
        waiting = asyncio.create_task(second.result())
        await asyncio.wait_for(_joined(second), 20)
        first.stop.set()
        with pytest.raises(Interrupted):
            await own
        go_on.set()
        assert (await asyncio.wait_for(waiting, 20)).generation == 7


async def test_a_run_that_somebody_else_cancelled_is_said_to_be(temporal_client: Client) -> None:
    script = Script()
    reached, _go_on = script.hold("embed_batch 1.0")
    command = asked(temporal_client)
    async with script.served(temporal_client):
        running = asyncio.create_task(command.result())
        await asyncio.wait_for(reached.wait(), 20)
        await command.sync.run.handle.cancel()
        with pytest.raises(CommandFailed, match=r"was cancelled by somebody else: run it again\.$"):
            await running


async def _joined(command: Asked) -> None:
    """Returns when the run that goes on has accepted what the command asks."""
    accepted = set[str]()
    while command.sync.ask_id not in accepted:
        history = await command.sync.run.handle.fetch_history()
        accepted = {
            event.workflow_execution_update_accepted_event_attributes.protocol_instance_id for event in history.events
        }
