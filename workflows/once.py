"""A request of a host, carried out once: what every workflow with a ``request_id`` does around its own work."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.contracts import BeginRequest, BegunRequest, Done, EndRequest
    from headwater.contracts import RequestInput
    from workflows.act import act
    from workflows.failures import cause_of, told_by_cause

Answer = TypeVar("Answer", bound=BaseModel)


async def once(
    request: RequestInput,
    answer_type: type[Answer],
    work: Callable[[int], Awaitable[Answer]],
    *,
    makes_corpus: bool = False,
) -> Answer:
    """The answer to ``request``: the one it was given before, or what ``work`` returns for the request's number.

    While another workflow carries it out, its answer is awaited. When ``work`` fails, the request is free to be sent again.
    Fails with the innermost cause, so that a host sees the type that an activity raised.
    """
    info = workflow.info()
    with told_by_cause():
        begun = await act(
            "begin_request",
            BeginRequest(
                scope=request.scope,
                workflow=info.workflow_type,
                request_id=request.request_id,
                payload_sha256=payload_hash(request),
                workflow_id=info.workflow_id,
                run_id=info.first_execution_run_id,
                makes_corpus=makes_corpus,
            ),
            BegunRequest,
        )
    if begun.result is not None:
        return answer_type.model_validate(begun.result)
    ending = EndRequest(tenant_id=request.scope.tenant_id, request_no=begun.request_no)
    try:
        answer = await work(begun.request_no)
    except (ActivityError, ApplicationError, ChildWorkflowError, asyncio.CancelledError) as error:
        await act("end_request", ending, Done)
        if is_cancelled_exception(error):
            raise
        raise cause_of(error) from None
    result = answer.model_dump(mode="json", by_alias=True)
    await act("end_request", ending.model_copy(update={"result": result}), Done)
    return answer


def payload_hash(request: RequestInput) -> str:
    """SHA-256 of all that the request asks for, as hexadecimal digits. Who asks is not part of it.

    Defaults are left out, so that a request that was sent before a field was added is the same after.
    """
    asked = request.model_dump(mode="json", by_alias=True, exclude={"requested_by"}, exclude_defaults=True)
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
