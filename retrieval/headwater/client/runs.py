"""Runs of the public workflows, as a host has them: started by name with one JSON object, awaited, and failures told.

Imports Temporal, so only `headwater.client` imports it, and only when it is used.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from temporalio.client import (
    Client,
    TLSConfig,
    WithStartWorkflowOperation,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, FailureError, WorkflowAlreadyStartedError, is_cancelled_exception
from temporalio.service import RPCError, RPCStatusCode

from headwater.errors import (
    AccessError,
    EmbedderMismatch,
    HeadwaterError,
    LimitError,
    PermanentError,
    ScopeError,
    StoreError,
    TransientError,
    ValidationError,
)
from headwater.workflow_ids import TASK_QUEUE

ASKED_FOR: Final = "asked_for"  # the memo by which a run's input is known again
# The error class of each type that a workflow fails with; of any other, waiting does not help.
ERRORS: Final[Mapping[str, type[HeadwaterError]]] = {
    "InvalidInput": ValidationError,
    "AlreadyRunning": TransientError,
    **{
        error.__name__: error
        for error in (
            AccessError,
            EmbedderMismatch,
            LimitError,
            ScopeError,
            StoreError,
            TransientError,
            ValidationError,
        )
    },
}
# What an update says that was under way when its workflow ended: the workflow itself knows why.
CUT_SHORT: Final = ("AcceptedUpdateCompletedWorkflow", "Cancelled")
WAITING_HELPS: Final = (
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.ABORTED,
    RPCStatusCode.UNKNOWN,  # so the SDK calls a connection that broke in the middle of a call
    RPCStatusCode.FAILED_PRECONDITION,  # the workflow is ending: asked again, Temporal says how
)


async def connect(address: str, *, namespace: str, tls: bool | TLSConfig | None, api_key: str | None) -> Client:
    """A client of the Temporal server at ``address``."""
    try:
        return await Client.connect(address, namespace=namespace, tls=tls, api_key=api_key)
    except RuntimeError as error:  # so the SDK calls whatever kept it from connecting; its words may repeat the key
        raise TransientError(
            f"Temporal at {address} does not answer: see that it is up, and what namespace, tls and api_key it wants."
        ) from error


@dataclass(frozen=True, slots=True)
class WorkflowRuns:
    """The runs on one Temporal server."""

    client: Client

    async def answer(self, workflow: str, wanted: Mapping[str, Any], *, workflow_id: str) -> Any:
        """What ``workflow`` returns for ``wanted``. While a run of this id goes on, its end is awaited first.

        For a request that means: the answer of the run that goes on is the answer to the same request, which the workflows see to.
        """
        with told(workflow_id):
            while True:
                try:
                    run = await self._start(workflow, wanted, workflow_id, {})
                except WorkflowAlreadyStartedError:
                    with suppress(WorkflowFailureError):
                        await self._handle(workflow_id).result()
                    continue
                return await run.result()

    async def joined(self, workflow: str, wanted: Mapping[str, Any], *, workflow_id: str, asked_for: str) -> Any:
        """The same for what takes long: a run of this id that was started for the same is joined, another one refused."""
        with told(workflow_id):
            try:
                run = await self._start(workflow, wanted, workflow_id, {ASKED_FOR: asked_for})
            except WorkflowAlreadyStartedError:
                found = await self._handle(workflow_id).describe()
                if await found.memo_value(ASKED_FOR, None) != asked_for:
                    raise TransientError(
                        f"{workflow} of this corpus runs already, for something else (workflow {workflow_id}): "
                        "wait for its end, or stop it."
                    ) from None
                run = self.client.get_workflow_handle(workflow_id, run_id=found.run_id)
            return await run.result()

    async def synced(self, workflow: str, wanted: Mapping[str, Any], *, workflow_id: str) -> Any:
        """What a pass did that began after this call, of a run of our own or of one that goes on."""
        ask: dict[str, Any] = {"ticket": None, "full": wanted.get("full", False)}
        with told(workflow_id):
            while True:
                try:
                    answer = await self._sync_now(workflow, wanted, workflow_id, ask)
                except WorkflowUpdateFailedError as error:
                    if not (isinstance(error.cause, ApplicationError) and error.cause.type in CUT_SHORT):
                        raise
                    await self._handle(workflow_id).result()  # fails with the reason
                    continue
                if answer["result"] is not None:
                    return answer["result"]
                ask = {**ask, "ticket": answer["ticket"]}  # it went on in a new run meanwhile

    async def signalled(self, workflow: str, wanted: Mapping[str, Any], *, workflow_id: str, signal: str) -> None:
        """Sends ``signal`` to the run of this id that goes on, or to one that begins now."""
        with told(workflow_id):
            await self.client.start_workflow(
                workflow, wanted, id=workflow_id, task_queue=TASK_QUEUE, start_signal=signal
            )

    async def query(self, name: str, *, workflow_id: str) -> Any | None:
        """What the run answers that goes on, or did last; ``None`` where there is none."""
        with told(workflow_id):
            try:
                return await self._handle(workflow_id).query(name)
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    return None
                raise

    async def update(self, name: str, *, workflow_id: str) -> bool:
        """Whether a run goes on and took the update."""
        with told(workflow_id):
            try:
                await self._handle(workflow_id).execute_update(name)
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    return False
                raise
            return True

    def _handle(self, workflow_id: str) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(workflow_id)

    async def _start(
        self, workflow: str, wanted: Mapping[str, Any], workflow_id: str, memo: Mapping[str, str]
    ) -> WorkflowHandle[Any, Any]:
        return await self.client.start_workflow(
            workflow,
            wanted,
            id=workflow_id,
            task_queue=TASK_QUEUE,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            memo=memo,
        )

    async def _sync_now(
        self, workflow: str, wanted: Mapping[str, Any], workflow_id: str, ask: Mapping[str, Any]
    ) -> Any:
        start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
            workflow,
            wanted,
            id=workflow_id,
            task_queue=TASK_QUEUE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
        try:
            return await self.client.execute_update_with_start_workflow(
                "sync_now", ask, id=uuid4().hex, start_workflow_operation=start
            )
        finally:
            # The operation keeps a future of its own, which complains when nobody looks at its error.
            with suppress(BaseException):
                await start.workflow_handle()


@contextmanager
def told(workflow_id: str) -> Iterator[None]:
    """What Temporal and the workflow fail with comes out as errors of the library: one sentence each."""
    try:
        yield
    except (WorkflowFailureError, WorkflowUpdateFailedError) as error:
        raise _failure(error, workflow_id) from error
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        if isinstance(error.__cause__, asyncio.CancelledError):
            raise error.__cause__ from None  # so the SDK reports that the caller's own task was cancelled
        raise TransientError("Temporal gave no answer in time: ask again, the work goes on.") from error
    except WorkflowQueryFailedError as error:
        raise TransientError(f"Workflow {workflow_id} does not say where it is: ask again.") from error
    except RPCError as error:
        kind = TransientError if error.status in WAITING_HELPS else PermanentError
        raise kind(f"Temporal refused ({error.status.name}): {error.message[:300]}.") from error


def _failure(error: WorkflowFailureError | WorkflowUpdateFailedError, workflow_id: str) -> HeadwaterError:
    innermost: ApplicationError | None = None
    cause: BaseException | None = error.cause
    if cause is not None and is_cancelled_exception(cause):
        return TransientError(f"Workflow {workflow_id} was cancelled: ask again to have it done.")
    while cause is not None:
        innermost = cause if isinstance(cause, ApplicationError) else innermost
        cause = cause.cause if isinstance(cause, FailureError) else None
    if innermost is None:
        return PermanentError(f"Workflow {workflow_id} ended without an answer ({type(error.cause).__name__}).")
    return ERRORS.get(innermost.type or "", PermanentError)(innermost.message)
