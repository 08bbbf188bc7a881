"""Calling a host's own activity for its records: tried until it succeeds, and what it says is not repeated."""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.contracts.deletion import Handler
    from workflows.failures import cause_of
    from workflows.policies import HANDLER_RETRY, HANDLER_TIMEOUT


async def call_handler(handler: Handler, told: BaseModel, *, task: str, did: str, stays: str) -> int:
    """How many records the handler changed. What it is for and what it ``did``, and what ``stays``, are for sentences."""
    where = f"The {task} handler {handler.kind} ({handler.activity} on {handler.task_queue})"
    rest = f"correct it, then send the request again. {stays}"
    try:
        count: Any = await workflow.execute_activity(
            handler.activity,
            told,
            task_queue=handler.task_queue,
            start_to_close_timeout=HANDLER_TIMEOUT,
            retry_policy=HANDLER_RETRY,
            summary=f"layer {handler.kind}",
        )
    except (ActivityError, asyncio.CancelledError) as error:
        if is_cancelled_exception(error):
            raise
        # Its own words may repeat what it worked on, and the sentence is kept: in the history, and in the audit of a move.
        kind = cause_of(error).type or "an error"
        raise ApplicationError(
            f"{where} failed with {kind}: {rest}", type="HandlerFailed", non_retryable=True
        ) from None
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ApplicationError(
            f"{where} did not answer with how many records it {did}, a whole number from 0: {rest}",
            type="InvalidLayerCount",
            non_retryable=True,
        )
    return count
