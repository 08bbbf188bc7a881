"""Asking for a sync: started or joined, and asked again under the same id after an outage of Temporal."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import uuid4

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowUpdateFailedError,
    WorkflowUpdateHandle,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError

from headwater.client.runs import CUT_SHORT
from headwater.contracts import SyncCorpusInput, SyncNow, SyncResult
from headwater.workflow_ids import sync_workflow_id
from workers.cli.absences import ASK_AGAIN_S, answered, is_absence, is_not_found, is_own_cancellation
from workers.cli.own_run import RUN_TIMEOUT, OwnRun
from workers.cli.waiting import Words
from workflows.queues import CONTROL

WORKFLOW: Final = "SyncCorpus"
UPDATE: Final = "sync_now"
WORDS: Final = Words(
    what="sync",
    absent="no sync of this connector is running",
    stopping="Stopping between two batches; what is published stays.",
    stopped="the next sync goes on where this one stopped",
)


@dataclass(frozen=True)
class Sync:
    """A sync that is asked for, under an id of its own: asking again after an outage asks the same question."""

    client: Client
    request: SyncCorpusInput
    ask_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def words(self) -> Words:
        return WORDS

    @property
    def run(self) -> OwnRun:
        return OwnRun(self.client, sync_workflow_id(self.request.scope, self.request.connector), self.ask_id)

    async def result(self) -> SyncResult:
        """What a pass did that began after this call. Temporal's absences are waited out."""
        update_id = self.ask_id
        ask = start = partial(self._start_or_join, update_id)
        while True:
            try:
                answer = await ask()
            except (RPCError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
                if is_own_cancellation() or not (is_not_found(error) or is_absence(error)):
                    raise
                if is_not_found(error):
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
            id=self.run.workflow_id,
            task_queue=CONTROL,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            execution_timeout=RUN_TIMEOUT,
            memo=self.run.memo,
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
        answer: SyncNow = await self.run.handle.execute_update(
            UPDATE,
            {"ticket": ticket, "full": self.request.full},
            id=update_id,
            result_type=SyncNow,
        )
        return answer

    async def _recall(self, update_id: str) -> SyncNow:
        """The answer to what was asked before the connection broke, even if the run has ended meanwhile."""
        asked: WorkflowUpdateHandle[SyncNow] = self.run.handle.get_update_handle(update_id, result_type=SyncNow)
        return await asked.result()

    async def _was_left(self, error: WorkflowUpdateFailedError) -> bool:
        """Whether we waited for somebody's run, and they cancelled it: that is no reason for us not to sync."""
        if not (isinstance(error.cause, ApplicationError) and error.cause.type in CUT_SHORT):
            return False
        run = await answered(self.run.handle.describe)
        was_cancelled = run.status in (WorkflowExecutionStatus.CANCELED, WorkflowExecutionStatus.RUNNING)
        return was_cancelled and not await self.run.is_of(run)
