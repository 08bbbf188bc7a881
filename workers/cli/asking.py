"""Asking a public workflow by its name, as any host does: one JSON object under its fixed id, and its answer."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from uuid import uuid4

from pydantic import BaseModel

from headwater.contracts import RequestInput, WorkflowInput
from headwater.workflow_ids import request_workflow_id, scope_workflow_id
from workers.cli.context import Invocation
from workers.cli.services import Services

if TYPE_CHECKING:
    from temporalio.client import WorkflowHandle

    from activities.store import Store

Answer = TypeVar("Answer", bound=BaseModel)

# What most questions need: no document is read and nothing embedded.
THINKING: Final = ("control", "db")


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """What a command asks of ``workflow``. ``what`` names it in sentences: "deletion", "re-index"."""

    workflow: str
    wanted: WorkflowInput
    answer: type[Answer]
    what: str
    roles: Collection[str] = THINKING
    waits_its_turn: bool = True  # after somebody else's run under the same id; else that one is named

    @property
    def workflow_id(self) -> str:
        if isinstance(self.wanted, RequestInput):
            return request_workflow_id(self.workflow, self.wanted.scope, self.wanted.request_id)
        return scope_workflow_id(self.workflow, self.wanted.scope)


def fresh_request_id() -> str:
    """A request that nobody made before: a command that is run again asks again."""
    return uuid4().hex


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
