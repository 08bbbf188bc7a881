"""A command at work: connected to Temporal, with workers of its own where nobody else works."""

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from workers.cli.context import Invocation
from workers.cli.errors import CommandFailed
from workers.cli.services import Services, connect_temporal
from workers.cli.worker import worker_options
from workers.options import ROLES

if TYPE_CHECKING:
    from temporalio.client import Client

    from activities.embedder_source import EmbedderSource
    from activities.store import Store


@dataclass(frozen=True)
class Work:
    """What a command waits with: ``stop`` is set by Ctrl-C, ``trouble`` ends when the servers are gone for good."""

    client: "Client"
    stop: asyncio.Event
    trouble: Coroutine[Any, Any, str]


@asynccontextmanager
async def working(
    invocation: Invocation,
    services: Services,
    store: "Store",
    *,
    what: str,
    roles: Collection[str] = ROLES,
    embedders: "EmbedderSource | None" = None,
) -> AsyncIterator[Work]:
    """Somebody works on ``roles``, or the command fails with a sentence that says how to start workers."""
    from workers.cli import pollers
    from workers.cli.interrupts import interrupts
    from workers.worker import running_workers

    output, on_workers_gone = invocation.output, None
    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(interrupts(before_leaving=output.show_cursor))
        client = await connect_temporal(services)
        if not services.has_workers:
            options = worker_options(invocation.settings, roles)
            await stack.enter_async_context(running_workers(client, store, options, embedders=embedders))
        elif services.is_embedded:
            on_workers_gone = partial(output.note, _up_is_gone(what))
        else:
            idle = await pollers.idle_queues(client, roles=roles)
            if idle:
                raise CommandFailed(pollers.sentence(idle, services.temporal_address))
        trouble = services.trouble(on_workers_gone=on_workers_gone)
        try:
            yield Work(client, stop, trouble)
        finally:
            trouble.close()  # whoever failed before waiting never ran it


def _up_is_gone(what: str) -> str:
    return (
        f"`headwater up` has ended, and nobody works on this {what} now: start it again, or press Ctrl-C and run the "
        "command again."
    )
