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
from workers.cli.syncing import CUT_SHORT, Starter, Sync

# The run ends one workflow task after our result; longer means that somebody else keeps it going.
LINGER_S: Final = 10.0
# Whoever pressed Ctrl-C waits no longer than this for a Temporal that is away; an embedded one is back by then.
STOP_PATIENCE_S: Final = 10.0
SAY_AFTER_S: Final = 1.0
LEAVE: Final = "Ctrl-C again leaves at once."


async def run_sync(
    sync: Sync,
    *,
    stop: asyncio.Event,
    trouble: Coroutine[Any, Any, str],
    on_stopping: Callable[[str], None],
    patience_s: float = STOP_PATIENCE_S,
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
        raise Interrupted(await _stopped(sync, on_stopping, patience_s))
    finally:
        for task in (working, stopping, failing):
            task.cancel()
        await asyncio.gather(working, stopping, failing, return_exceptions=True)


async def _finished(sync: Sync, working: "asyncio.Task[SyncResult]") -> SyncResult:
    try:
        result = await working
    except (WorkflowUpdateFailedError, WorkflowFailureError, RPCError) as error:
        raise CommandFailed(await _reason(sync, error)) from error
    with suppress(TimeoutError, RPCError):
        await asyncio.wait_for(_own_end(sync), LINGER_S)
    return result


async def _own_end(sync: Sync) -> None:
    """Our workers stay for the last workflow task of our run."""
    if await sync.starter() is Starter.WE:
        await sync.ended()


async def _stopped(sync: Sync, say: Callable[[str], None], patience_s: float) -> str:
    """Stops our run as soon as Temporal hears us; the sentence that says what became of it."""
    stopping = asyncio.create_task(sync.cancel_own())
    try:
        await asyncio.wait((stopping,), timeout=min(SAY_AFTER_S, patience_s))
        if not stopping.done():
            say(f"Temporal does not answer; the sync is stopped if it does within {patience_s:.0f} s. {LEAVE}")
            await asyncio.wait((stopping,), timeout=patience_s)
        if not stopping.done():
            return (
                f"Interrupted, but Temporal does not answer: if it has begun this sync, that goes on. {_by_hand(sync)}"
            )
        starter = await stopping
    except RPCError as error:
        return f"Interrupted, but Temporal refuses to stop the sync ({error.status.name}). {_by_hand(sync)}"
    finally:
        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)
    if starter is Starter.NOBODY:
        return "Interrupted; no sync of this folder is running."
    if starter is Starter.OTHERS:
        return "Interrupted; the running sync was started elsewhere and goes on."
    say(f"Stopping between two batches; what is published stays. {LEAVE}")
    await sync.ended()
    return "Interrupted; the next sync goes on where this one stopped."


def _by_hand(sync: Sync) -> str:
    return f"To stop it, cancel {sync.workflow_id} in Temporal's web page."


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
        if isinstance(error, ApplicationError) and error.message and error.type not in CUT_SHORT:
            found = error.message
        error = (
            error.cause if isinstance(error, FailureError | WorkflowFailureError | WorkflowUpdateFailedError) else None
        )
    return found
