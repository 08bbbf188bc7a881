"""One sync, from asking for it to its result: started or joined, watched, and cancelled only if this command started it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateStage,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, FailureError, WorkflowAlreadyStartedError, is_cancelled_exception
from temporalio.service import RPCError, RPCStatusCode

from headwater.contracts import SyncCorpusInput, SyncNow, SyncResult
from workers.cli.errors import EXIT_INTERRUPTED, CommandFailed, Interrupted
from workflows.ids import sync_workflow_id
from workflows.queues import CONTROL
from workflows.sync_corpus import RUN_TIMEOUT

WORKFLOW: Final = "SyncCorpus"
UPDATE: Final = "sync_now"
# A conflict is answered at once, while an accepted start waits for a worker: silence means that the run is ours.
SETTLE_S: Final = 2.0
# The run ends one workflow task after our result; longer means that somebody else keeps it going.
LINGER_S: Final = 10.0


@dataclass
class Sync:
    """A sync that was asked for."""

    client: Client
    request: SyncCorpusInput
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    is_ours: bool = True

    @property
    def workflow_id(self) -> str:
        return sync_workflow_id(self.request.scope, self.request.connector)

    @property
    def handle(self) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(self.workflow_id)

    async def result(self) -> SyncResult:
        """What a pass did that began after this call."""
        ticket: int | None = None
        while True:
            try:
                answer = await (self._ask(ticket) if ticket is not None else self._start_or_join())
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise
                ticket = None  # the run ended between two questions: the next one starts its own
                continue
            if answer.result is not None:
                return answer.result
            ticket = answer.ticket

    async def _start_or_join(self) -> SyncNow:
        """The answer of a run of our own, or of the one that runs already."""
        self.is_ours = True
        self.settled.clear()
        start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
            WORKFLOW,
            self.request.model_dump(mode="json"),
            id=self.workflow_id,
            task_queue=CONTROL,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            execution_timeout=RUN_TIMEOUT,
        )
        try:
            update = await self.client.start_update_with_start_workflow(
                UPDATE,
                self._question(None),
                start_workflow_operation=start,
                wait_for_stage=WorkflowUpdateStage.ACCEPTED,
                result_type=SyncNow,
            )
        except WorkflowAlreadyStartedError:
            self.is_ours = False
            self.settled.set()
            return await self._ask(None)
        self.settled.set()
        answer: SyncNow = await update.result()
        return answer

    async def _ask(self, ticket: int | None) -> SyncNow:
        answer: SyncNow = await self.handle.execute_update(UPDATE, self._question(ticket), result_type=SyncNow)
        return answer

    def _question(self, ticket: int | None) -> dict[str, Any]:
        return {"ticket": ticket, "full": self.request.full}

    async def cancel(self) -> bool:
        """Stop the run between two batches if this command started it; whether it did."""
        try:
            await asyncio.wait_for(self.settled.wait(), SETTLE_S)
        except TimeoutError:
            pass
        if self.is_ours:
            await self.handle.cancel()
            await self.ended()
        return self.is_ours

    async def ended(self) -> None:
        """Return when the run is over, however it ended."""
        try:
            await self.handle.result()
        except WorkflowFailureError:
            return


async def run_sync(
    sync: Sync, *, stop: asyncio.Event, trouble: Coroutine[Any, Any, str], on_stopping: Callable[[str], None]
) -> SyncResult:
    """The result of ``sync``; `Interrupted` when ``stop`` is set first, `CommandFailed` with what ``trouble`` returns."""
    working = asyncio.create_task(sync.result())
    stopping = asyncio.create_task(stop.wait())
    failing = asyncio.create_task(trouble)
    try:
        await asyncio.wait((working, stopping, failing), return_when=asyncio.FIRST_COMPLETED)
        if failing.done():
            raise CommandFailed(failing.result())
        if not working.done():
            on_stopping("Stopping between two batches; what is published stays. Ctrl-C again leaves at once.")
            was_ours = await sync.cancel()
            raise Interrupted(
                "Interrupted; the next sync goes on where this one stopped."
                if was_ours
                else "Interrupted; the running sync was started elsewhere and goes on."
            )
        result = await working
    except (WorkflowUpdateFailedError, WorkflowFailureError, RPCError) as error:
        raise CommandFailed(await _reason(sync, error)) from error
    finally:
        for task in (working, stopping, failing):
            task.cancel()
    if sync.is_ours:
        try:
            await asyncio.wait_for(sync.ended(), LINGER_S)
        except TimeoutError:
            pass
    return result


async def _reason(sync: Sync, error: Exception) -> str:
    """The sentence an activity gave, through all that Temporal wrapped around it."""
    sentence = _application_sentence(error)
    if sentence is None:
        # An update that dies with its workflow says only so; the workflow's own end has the reason.
        try:
            await asyncio.wait_for(sync.handle.result(), LINGER_S)
        except WorkflowFailureError as failure:
            if is_cancelled_exception(failure.cause):
                return "The sync was cancelled by somebody else: run it again."
            sentence = _application_sentence(failure)
        except (RPCError, TimeoutError):
            pass
    if sentence is not None:
        return sentence
    return f"Temporal reports {type(error).__name__}: see the run {sync.workflow_id} in its web page."


def _application_sentence(error: BaseException | None) -> str | None:
    found = None
    while error is not None:
        if isinstance(error, ApplicationError) and error.message:
            found = error.message
        error = (
            error.cause if isinstance(error, FailureError | WorkflowFailureError | WorkflowUpdateFailedError) else None
        )
    return found


@asynccontextmanager
async def interrupts(before_leaving: Callable[[], None]) -> AsyncIterator[asyncio.Event]:
    """An event that the first Ctrl-C or SIGTERM sets. The second one leaves at once: a blocked thread must not hold it up."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def received() -> None:
        if stop.is_set():
            before_leaving()
            os._exit(EXIT_INTERRUPTED)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, received)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
