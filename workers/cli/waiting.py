"""Waiting for what a command asked for: until its result, until Ctrl-C, or until the servers are gone for good."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.service import RPCError

from headwater.client.runs import CUT_SHORT
from workers.cli.errors import CommandFailed, Interrupted, WrongUsage, as_typed
from workers.cli.own_run import OwnRun, Starter

# The run ends one workflow task after our result; longer means that somebody else keeps it going.
LINGER_S: Final = 10.0
# Whoever pressed Ctrl-C waits no longer than this for a Temporal that is away; an embedded one is back by then.
STOP_PATIENCE_S: Final = 10.0
SAY_AFTER_S: Final = 1.0
LEAVE: Final = "Ctrl-C again leaves at once."
INVALID: Final = "InvalidInput"

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


@dataclass(frozen=True)
class Words:
    """What is said of a run that somebody interrupts."""

    what: str
    absent: str
    stopping: str
    stopped: str


class Asked(Protocol[T_co]):
    """Something that a command asked for."""

    @property
    def run(self) -> OwnRun: ...
    @property
    def words(self) -> Words: ...
    async def result(self) -> T_co: ...


async def wait_for(
    asked: Asked[T],
    *,
    stop: asyncio.Event,
    trouble: Coroutine[Any, Any, str],
    on_stopping: Callable[[str], None],
    patience_s: float = STOP_PATIENCE_S,
) -> T:
    """The result; `Interrupted` when ``stop`` is set first, `CommandFailed` with what ``trouble`` returns."""
    working = asyncio.create_task(asked.result())
    stopping = asyncio.create_task(stop.wait())
    failing = asyncio.create_task(trouble)
    try:
        await asyncio.wait((working, stopping, failing), return_when=asyncio.FIRST_COMPLETED)
        if failing.done():
            raise CommandFailed(failing.result())
        if working.done():
            return await _finished(asked, working)
        working.cancel()
        raise Interrupted(f"Interrupted{await _stopped(asked, on_stopping, patience_s)}")
    finally:
        for task in (working, stopping, failing):
            task.cancel()
        await asyncio.gather(working, stopping, failing, return_exceptions=True)


async def _finished(asked: Asked[T], working: "asyncio.Task[T]") -> T:
    try:
        result = await working
    except (WorkflowUpdateFailedError, WorkflowFailureError, RPCError) as error:
        raise await _failure(asked, error) from error
    with suppress(TimeoutError, RPCError):
        await asyncio.wait_for(_own_end(asked.run), LINGER_S)
    return result


async def _own_end(run: OwnRun) -> None:
    """Our workers stay for the last workflow task of our run."""
    if await run.starter() is Starter.WE:
        await run.ended()


async def _stopped(asked: Asked[Any], say: Callable[[str], None], patience_s: float) -> str:
    """Stops our run as soon as Temporal hears us; what became of it, as the end of a sentence."""
    words = asked.words
    stopping = asyncio.create_task(asked.run.cancel_own())
    try:
        await asyncio.wait((stopping,), timeout=min(SAY_AFTER_S, patience_s))
        if not stopping.done():
            say(f"Temporal does not answer; the {words.what} is stopped if it does within {patience_s:.0f} s. {LEAVE}")
            await asyncio.wait((stopping,), timeout=patience_s)
        if not stopping.done():
            return f", but Temporal does not answer: if it has begun this {words.what}, that goes on. {_by_hand(asked)}"
        starter = await stopping
    except RPCError as error:
        return f", but Temporal refuses to stop the {words.what} ({error.status.name}). {_by_hand(asked)}"
    finally:
        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)
    if starter is Starter.NOBODY:
        return f"; {words.absent}."
    if starter is Starter.OTHERS:
        return f"; the running {words.what} was started elsewhere and goes on."
    say(f"{words.stopping} {LEAVE}")
    await asked.run.ended()
    return f"; {words.stopped}."


def _by_hand(asked: Asked[Any]) -> str:
    return f"To stop it, cancel {asked.run.workflow_id} in Temporal's web page."


async def _failure(asked: Asked[Any], error: Exception) -> CommandFailed | WrongUsage:
    """The sentence an activity gave, through all that Temporal wrapped around it."""
    said = _application_error(error)
    if said is None:
        try:
            await asyncio.wait_for(asked.run.handle.result(), LINGER_S)
        except WorkflowFailureError as failure:
            if is_cancelled_exception(failure.cause):
                return CommandFailed(f"The {asked.words.what} was cancelled by somebody else: run it again.")
            said = _application_error(failure)
        except (RPCError, TimeoutError):
            pass
    if said is not None:
        return WrongUsage(as_typed(said.message)) if said.type == INVALID else CommandFailed(said.message)
    return CommandFailed(
        f"Temporal reports {type(error).__name__}: see the run {asked.run.workflow_id} in its web page."
    )


def _application_error(error: BaseException | None) -> ApplicationError | None:
    found = None
    while error is not None:
        if isinstance(error, ApplicationError) and error.message and error.type not in CUT_SHORT:
            found = error
        error = (
            error.cause if isinstance(error, FailureError | WorkflowFailureError | WorkflowUpdateFailedError) else None
        )
    return found
