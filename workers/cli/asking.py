"""Asking a public workflow by its name, as any host does, and its answer."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from workers.cli.context import Invocation
from workers.cli.question import Answer, Question
from workers.cli.services import Services

if TYPE_CHECKING:
    from temporalio.client import WorkflowHandle

    from activities.store import Store


def ask(
    invocation: Invocation,
    services: Services,
    store: "Store",
    question: Question[Answer],
    *,
    beside: "Callable[[WorkflowHandle[Any, Any]], Awaitable[None]] | None" = None,
) -> Answer:
    """The workflow's answer, with workers of this command's own where nobody else works.

    ``beside`` runs along until there is an answer. Ctrl-C cancels the run, if this command started it. Whatever the workflow
    fails with is one sentence: wrong usage for `InvalidInput`, else a failure.
    """
    return asyncio.run(_ask(invocation, services, store, question, beside))


async def _ask(
    invocation: Invocation,
    services: Services,
    store: "Store",
    question: Question[Answer],
    beside: "Callable[[WorkflowHandle[Any, Any]], Awaitable[None]] | None",
) -> Answer:
    from workers.cli.requesting import Request
    from workers.cli.waiting import wait_for
    from workers.cli.working import working

    output = invocation.output
    async with AsyncExitStack() as stack:
        work = await stack.enter_async_context(
            working(invocation, services, store, what=question.what, roles=question.roles)
        )
        request = Request(work.client, question, output.note)
        if beside is not None:
            watching = asyncio.ensure_future(beside(request.run.handle))
            stack.callback(watching.cancel)
        return await wait_for(request, stop=work.stop, trouble=work.trouble, on_stopping=output.note)
