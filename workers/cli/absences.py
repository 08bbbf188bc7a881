"""Temporal is away for a moment, or restarts: a command asks again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from temporalio.client import WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError, RPCStatusCode

ASK_AGAIN_S: Final = 0.5
ABSENCES: Final = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)

T = TypeVar("T")


async def answered(ask: Callable[[], Awaitable[T]]) -> T:
    """What Temporal answers, asked again as long as it is away."""
    while True:
        try:
            return await ask()
        except RPCError as error:
            if is_own_cancellation() or not is_absence(error):
                raise
        await asyncio.sleep(ASK_AGAIN_S)


def is_own_cancellation() -> bool:
    # The client turns it into an error that looks like an absence of the server.
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def is_not_found(error: Exception) -> bool:
    return isinstance(error, RPCError) and error.status == RPCStatusCode.NOT_FOUND


def is_absence(error: Exception) -> bool:
    return isinstance(error, WorkflowUpdateRPCTimeoutOrCancelledError) or (
        isinstance(error, RPCError) and error.status in ABSENCES
    )
