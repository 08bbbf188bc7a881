"""Asking for a sync: started or joined, and asked again under the same id after an outage of Temporal."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import Any, Final, TypeVar
from uuid import uuid4

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateHandle,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from headwater.contracts import SyncCorpusInput, SyncNow, SyncResult
from headwater.workflow_ids import sync_workflow_id
from workflows.queues import CONTROL

WORKFLOW: Final = "SyncCorpus"
UPDATE: Final = "sync_now"
STARTED_FOR: Final = "started_for"
ASK_AGAIN_S: Final = 0.5
ABSENCES: Final = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)
# A sync waits out outages without end; this bounds a run that nobody looks at.
RUN_TIMEOUT: Final = timedelta(days=7)
# What an update says that was under way when its workflow ended, or was cancelled; the workflow itself knows why.
CUT_SHORT: Final = ("AcceptedUpdateCompletedWorkflow", "Cancelled")


T = TypeVar("T")


class Starter(Enum):
    """Who started a run."""

    WE = "this command"
    OTHERS = "somebody else"
    NOBODY = "there is none"


@dataclass(frozen=True)
class Sync:
    """A sync that is asked for, under an id of its own: asking again after an outage asks the same question."""

    client: Client
    request: SyncCorpusInput
    ask_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def workflow_id(self) -> str:
        return sync_workflow_id(self.request.scope, self.request.connector)

    @property
    def handle(self) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(self.workflow_id)

    async def result(self) -> SyncResult:
        """What a pass did that began after this call. Temporal's absences are waited out."""
        update_id = self.ask_id
        ask = start = partial(self._start_or_join, update_id)
        while True:
            try:
                answer = await ask()
            except (RPCError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
                if _is_own_cancellation() or not (_is_not_found(error) or _is_absence(error)):
                    raise
                if _is_not_found(error):
                    ask = start  # the run ended between two questions
                    continue
                await asyncio.sleep(ASK_AGAIN_S)
                if ask is start:
                    ask = partial(self._recall, update_id)
                continue
            except WorkflowUpdateFailedError as error:
                if not await self._was_left(error):
                    raise
                await asyncio.sleep(ASK_AGAIN_S)  # it may be ending still
                update_id = uuid4().hex  # Temporal would answer the old one as it did before
                ask = start = partial(self._start_or_join, update_id)
                continue
            if answer.result is not None:
                return answer.result
            ask = partial(self._ask, None, answer.ticket)

    async def _start_or_join(self, update_id: str) -> SyncNow:
        """The answer of a run of our own, or of the one that runs already."""
        start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
            WORKFLOW,
            self.request.model_dump(mode="json"),
            id=self.workflow_id,
            task_queue=CONTROL,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            execution_timeout=RUN_TIMEOUT,
            memo={STARTED_FOR: self.ask_id},
        )
        try:
            answer: SyncNow = await self.client.execute_update_with_start_workflow(
                UPDATE,
                {"ticket": None, "full": self.request.full},
                id=update_id,
                start_workflow_operation=start,
                result_type=SyncNow,
            )
        except WorkflowAlreadyStartedError:
            return await self._ask(update_id, None)
        finally:
            # The operation keeps a future of its own, which complains when nobody looks at its error.
            with suppress(BaseException):
                await start.workflow_handle()
        return answer

    async def _ask(self, update_id: str | None, ticket: int | None) -> SyncNow:
        answer: SyncNow = await self.handle.execute_update(
            UPDATE,
            {"ticket": ticket, "full": self.request.full},
            id=update_id,
            result_type=SyncNow,
        )
        return answer

    async def _recall(self, update_id: str) -> SyncNow:
        """The answer to what was asked before the connection broke, even if the run has ended meanwhile."""
        asked: WorkflowUpdateHandle[SyncNow] = self.handle.get_update_handle(update_id, result_type=SyncNow)
        return await asked.result()

    async def _was_left(self, error: WorkflowUpdateFailedError) -> bool:
        """Whether we waited for somebody's run, and they cancelled it: that is no reason for us not to sync."""
        if not (isinstance(error.cause, ApplicationError) and error.cause.type in CUT_SHORT):
            return False
        run = await _answered(self.handle.describe)
        return (
            run.status in (WorkflowExecutionStatus.CANCELED, WorkflowExecutionStatus.RUNNING)
            and await run.memo_value(STARTED_FOR, None) != self.ask_id
        )

    async def starter(self) -> Starter:
        """Who started the run that goes on now. Raises `RPCError` where Temporal does not say."""
        try:
            run = await self.handle.describe()
        except RPCError as error:
            if _is_not_found(error):
                return Starter.NOBODY
            raise
        if run.status != WorkflowExecutionStatus.RUNNING:
            return Starter.NOBODY
        return Starter.WE if await run.memo_value(STARTED_FOR, None) == self.ask_id else Starter.OTHERS

    async def cancel_own(self) -> Starter:
        """Cancel the run that goes on, if this command started it. Temporal's absences are waited out."""
        starter = await _answered(self.starter)
        if starter is Starter.WE:
            try:
                await _answered(self.handle.cancel)
            except RPCError as error:
                if _is_not_found(error):
                    return Starter.NOBODY  # it ended before it heard
                raise
        return starter

    async def ended(self) -> None:
        """Return when the run is over, however it ended."""
        try:
            await self.handle.result()
        except (WorkflowFailureError, RPCError):
            return


async def _answered(ask: Callable[[], Awaitable[T]]) -> T:
    """What Temporal answers, asked again as long as it is away."""
    while True:
        try:
            return await ask()
        except RPCError as error:
            if _is_own_cancellation() or not _is_absence(error):
                raise
        await asyncio.sleep(ASK_AGAIN_S)


def _is_own_cancellation() -> bool:
    # The client turns it into an error that looks like an absence of the server.
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_not_found(error: Exception) -> bool:
    return isinstance(error, RPCError) and error.status == RPCStatusCode.NOT_FOUND


def _is_absence(error: Exception) -> bool:
    return isinstance(error, WorkflowUpdateRPCTimeoutOrCancelledError) or (
        isinstance(error, RPCError) and error.status in ABSENCES
    )
