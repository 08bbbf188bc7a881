"""Waiting for a sync: until its result, until Ctrl-C, or until the servers are gone for good."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.service import RPCError

from headwater.contracts import SyncResult
from workers.cli.errors import CommandFailed, Interrupted
from workers.cli.syncing import ENDED_FIRST, Sync

# The run ends one workflow task after our result; longer means that somebody else keeps it going.
LINGER_S: Final = 10.0


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
        if working.done():
            return await _finished(sync, working)
        working.cancel()
        if not await sync.is_ours():
            raise Interrupted("Interrupted; the running sync was started elsewhere and goes on.")
        on_stopping("Stopping between two batches; what is published stays. Ctrl-C again leaves at once.")
        await sync.handle.cancel()
        await sync.ended()
        raise Interrupted("Interrupted; the next sync goes on where this one stopped.")
    finally:
        for task in (working, stopping, failing):
            task.cancel()
        await asyncio.gather(working, stopping, failing, return_exceptions=True)


async def _finished(sync: Sync, working: "asyncio.Task[SyncResult]") -> SyncResult:
    try:
        result = await working
    except (WorkflowUpdateFailedError, WorkflowFailureError, RPCError) as error:
        raise CommandFailed(await _reason(sync, error)) from error
    if await sync.is_ours():
        # Our workers stay for its last workflow task.
        with suppress(TimeoutError):
            await asyncio.wait_for(sync.ended(), LINGER_S)
    return result


async def _reason(sync: Sync, error: Exception) -> str:
    """The sentence an activity gave, through all that Temporal wrapped around it."""
    sentence = _application_sentence(error)
    if sentence is None:
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
        if isinstance(error, ApplicationError) and error.message and error.type != ENDED_FIRST:
            found = error.message
        error = (
            error.cause if isinstance(error, FailureError | WorkflowFailureError | WorkflowUpdateFailedError) else None
        )
    return found
