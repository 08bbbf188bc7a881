"""`connector remove` while the connector is synced: the sync is ended first, also the one that a schedule begins in between."""

import asyncio
import uuid
from typing import Any

from temporalio import workflow
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.contracts.connectors import RemoveConnectorInput, RemovedConnector
from headwater.models import Scope
from headwater.workflow_ids import sync_workflow_id
from workers.cli.question import Question
from workers.cli.removing import TURNS, Removal
from workers.cli.requesting import Request
from workflows import queues


@workflow.defn(name="SyncCorpus")
class Waiting:
    """A sync that waits for its origin for ever, and has the lease until it is cancelled."""

    @workflow.run
    async def run(self, raw: Any = None) -> None:
        await asyncio.Event().wait()


@workflow.defn(name="RemoveConnector")
class Refused:
    """A removal that finds the lease taken so many times, because a schedule began a sync just before."""

    @workflow.run
    async def run(self, asked: dict[str, Any]) -> dict[str, Any]:
        left = int(asked["requested_by"]) - len(_begun)
        if left > 0:
            scope = Scope.model_validate(asked["scope"])
            begun = sync_workflow_id(scope, asked["connector"])
            await workflow.start_child_workflow(
                "SyncCorpus", id=begun, parent_close_policy=workflow.ParentClosePolicy.ABANDON
            )
            _begun.append(begun)
            raise ApplicationError("Somebody has the lease.", type="AlreadyRunning", non_retryable=True)
        return {"deleted": 3}


_begun: list[str] = []


class Command:
    """A removal, what it said, and the sync that is running."""

    def __init__(self, client: Client, *, refusals: int) -> None:
        _begun.clear()
        self.client, self.said = client, list[str]()
        self.scope = Scope(tenant_id="t1", resource_id="docs", corpus_id=uuid.uuid4().hex)
        wanted = RemoveConnectorInput(
            scope=self.scope, connector="shelf", sources="delete", requested_by=str(refusals)
        )  # fmt: skip
        question = Question("RemoveConnector", wanted, RemovedConnector, what="removal")
        request = Request(client, question, self.said.append)
        self.removal = Removal(client, request, self.scope, "shelf", self.said.append)
        self.sync_id = sync_workflow_id(self.scope, "shelf")

    async def result(self) -> RemovedConnector:
        worker = Worker(
            self.client,
            task_queue=queues.CONTROL,
            workflows=[Waiting, Refused],
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        async with worker:
            return await self.removal.result()


async def test_a_sync_that_is_running_is_ended_first(temporal_client: Client) -> None:
    command = Command(temporal_client, refusals=0)
    await temporal_client.start_workflow("SyncCorpus", id=command.sync_id, task_queue=queues.CONTROL)
    assert (await command.result()).deleted == 3
    run = await temporal_client.get_workflow_handle(command.sync_id).describe()
    assert run.status is WorkflowExecutionStatus.CANCELED
    assert command.said == [f"A sync of connector shelf of {command.scope} is running: it is ended first."]


async def test_without_a_sync_nothing_is_said(temporal_client: Client) -> None:
    command = Command(temporal_client, refusals=0)
    assert (await command.result()).deleted == 3
    assert command.said == []


async def test_a_sync_that_begins_in_between_is_ended_too(temporal_client: Client) -> None:
    command = Command(temporal_client, refusals=TURNS - 1)
    assert (await command.result()).deleted == 3
    assert len(command.said) == TURNS - 1
