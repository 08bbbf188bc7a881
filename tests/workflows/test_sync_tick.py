"""What a schedule or a webhook starts: a sync begins, or the one that is under way makes one more pass."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.worker import (
    Interceptor,
    StartChildWorkflowInput,
    Worker,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ChildWorkflowHandle

from headwater.client import HeadwaterClient
from headwater.contracts import SyncResult, SyncTickResult
from headwater.models import Scope
from headwater.workflow_ids import sync_workflow_id
from tests.workflows.scripted_activities import Script
from workflows import queues
from workflows.sync_tick import SyncTick

SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")


@dataclass(frozen=True)
class Ticks:
    """Ticks for a connector of this test's own."""

    client: Client
    connector: str

    async def tick(self) -> SyncTickResult:
        wanted = {"scope": SCOPE.model_dump(), "connector": self.connector, "requested_by": "a test"}
        result: SyncTickResult = await self.client.execute_workflow(
            "SyncTick", wanted, id=f"tick:{uuid.uuid4()}", task_queue=queues.TICKS, result_type=SyncTickResult
        )
        return result

    @property
    def sync(self) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(sync_workflow_id(SCOPE, self.connector), result_type=SyncResult)


@contextlib.asynccontextmanager
async def ticking(client: Client, script: Script, *interceptors: Interceptor) -> AsyncIterator[Ticks]:
    ticks = Ticks(client, f"shelf-{uuid.uuid4().hex[:8]}")
    async with (
        script.served(client),
        Worker(client, task_queue=queues.TICKS, workflows=[SyncTick], interceptors=interceptors),
    ):
        yield ticks


async def test_a_tick_begins_a_sync_and_does_not_wait_for_it(temporal_client: Client) -> None:
    script = Script(pages=1)
    _, go_on = script.hold("list_page 1")
    async with ticking(temporal_client, script) as ticks:
        told = await ticks.tick()
        assert told == SyncTickResult(workflow_id=ticks.sync.id, started=True)
        described = await ticks.sync.describe()
        assert described.status is WorkflowExecutionStatus.RUNNING
        assert described.raw_description.execution_config.workflow_execution_timeout.ToTimedelta().days == 7
        go_on.set()
        assert (await ticks.sync.result()).pages == 1
    assert [(begun.connector, begun.requested_by) for begun in script.begun] == [(ticks.connector, "a test")]


async def test_ticks_during_a_sync_are_one_more_pass(temporal_client: Client) -> None:
    script = Script(pages=1)
    reached, go_on = script.hold("publish_page 1")
    async with ticking(temporal_client, script) as ticks:
        await ticks.tick()
        await asyncio.wait_for(reached.wait(), 20)
        assert [(await ticks.tick()).started for _ in range(3)] == [False, False, False]
        go_on.set()
        await ticks.sync.result()
    assert len(script.begun) == 2


async def test_a_sync_that_ends_before_it_hears_is_followed_by_another(temporal_client: Client) -> None:
    script = Script(pages=1)
    async with ticking(temporal_client, script, TooLate(1)) as ticks:
        assert (await ticks.tick()).started
        await ticks.sync.result()
    assert len(script.begun) == 1


async def test_a_tick_that_can_neither_start_nor_tell_gives_up(temporal_client: Client) -> None:
    async with ticking(temporal_client, Script(), TooLate(10**6)) as ticks:
        with pytest.raises(WorkflowFailureError) as failed:
            await asyncio.wait_for(ticks.tick(), 20)
    assert "can be neither started nor told" in str(failed.value.cause)


async def test_a_host_says_that_something_changed(temporal_client: Client) -> None:
    script = Script(pages=1)
    reached, go_on = script.hold("publish_page 1")
    headwater = await HeadwaterClient.connect(None, client=temporal_client, requested_by="a webhook")
    async with ticking(temporal_client, script) as ticks:
        await headwater.nudge(SCOPE, ticks.connector)
        await asyncio.wait_for(reached.wait(), 20)
        begun = len(script.begun)
        for _ in range(3):
            await headwater.nudge(SCOPE, ticks.connector)
        go_on.set()
        await ticks.sync.result()
    assert (begun, len(script.begun)) == (1, 2)
    assert script.begun[0].requested_by == "a webhook"


@pytest.mark.parametrize("raw", [None, {"scope": SCOPE.model_dump()}, {"scope": {}, "connector": "shelf"}])
async def test_what_names_no_connector_is_invalid_input(temporal_client: Client, raw: Any) -> None:
    async with ticking(temporal_client, Script()):
        with pytest.raises(WorkflowFailureError) as failed:
            await temporal_client.execute_workflow("SyncTick", raw, id=f"tick:{uuid.uuid4()}", task_queue=queues.TICKS)
    assert isinstance(failed.value.cause, ApplicationError) and failed.value.cause.type == "InvalidInput"


@dataclass(frozen=True)
class TooLate(Interceptor):
    """Says so often that a sync is running already, which has ended by the time it is told anything."""

    times: int

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        times = self.times

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(_Outbound(outbound, times))

        return Inbound


class _Outbound(WorkflowOutboundInterceptor):
    def __init__(self, next: WorkflowOutboundInterceptor, times: int) -> None:
        super().__init__(next)
        self._times = times

    async def start_child_workflow(self, input: StartChildWorkflowInput) -> ChildWorkflowHandle[Any, Any]:
        if self._times > 0:
            self._times -= 1
            raise WorkflowAlreadyStartedError(input.id, input.workflow)
        return await super().start_child_workflow(input)
