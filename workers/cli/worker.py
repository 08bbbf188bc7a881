"""`headwater worker`: workers against configured services."""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import replace

import click

from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, WrongUsage
from workers.cli.services import Services, connect_temporal, open_services
from workers.options import ROLES, WorkerOptions
from workers.settings import Settings


@click.command("worker", short_help="Run workers against configured services.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice(["all", *ROLES]),
    default=["all"],
    show_default=True,
    help="What this process does. May be repeated.",
)
@pass_invocation
def worker_command(invocation: Invocation, *, roles: tuple[str, ...]) -> None:
    """Run workers against the PostgreSQL of HEADWATER_DATABASE_URL and the Temporal of TEMPORAL_ADDRESS.

    Roles: control decides what comes next, io lists, reads and cuts documents, embed turns chunks into vectors, db
    publishes. Every role must be run somewhere. Ctrl-C or SIGTERM lets running steps reach a safe point, then ends with
    status 0; a second one leaves at once with 130.
    """
    if not invocation.settings.uses_configured_services:
        raise WrongUsage(
            "`headwater worker` works for configured services: set HEADWATER_DATABASE_URL and TEMPORAL_ADDRESS, "
            "or run `headwater up` for the embedded ones."
        )
    invocation.start_logging(level=logging.INFO)
    wanted = frozenset(ROLES) if "all" in roles else frozenset(roles)
    with open_services(invocation, temporal=True) as services:
        asyncio.run(work(invocation, services, wanted))


async def work(invocation: Invocation, services: Services, roles: frozenset[str]) -> None:
    """Run workers of these roles until the first Ctrl-C or SIGTERM."""
    from activities.store import Store
    from workers.cli.interrupts import interrupts
    from workers.worker import running_workers

    output = invocation.output
    with Store.open(services.database_url, schema=services.schema) as store:
        async with interrupts(before_leaving=output.show_cursor) as stop:
            client = await connect_temporal(services, core_logs="WARN")
            # Whoever stays keeps the schedule too; a lone sync collects a little when it ends.
            options = replace(
                worker_options(invocation.settings, roles),
                collect_every=invocation.settings.collects_every,
                serves_schedules=True,
            )
            async with running_workers(client, store, options):
                output.note(f"Ready: {', '.join(role for role in ROLES if role in roles)}. Ctrl-C stops.")
                await _until(stop, services)
                output.note("Stopping; Ctrl-C again leaves at once.")


async def _until(stop: asyncio.Event, services: Services) -> None:
    """Return when ``stop`` is set; raise when the servers are gone for good."""
    stopping = asyncio.create_task(stop.wait())
    failing = asyncio.create_task(services.trouble())
    await asyncio.wait((stopping, failing), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    failing.cancel()
    if not stopping.done():
        raise CommandFailed(failing.result())


def worker_options(settings: Settings, roles: Collection[str] = ROLES) -> WorkerOptions:
    """What the settings say about workers."""
    from activities.contracts.deletion import Handler

    return WorkerOptions(
        max_document_bytes=int(settings.max_document_bytes),
        embedder=settings.embedder,
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.chunk_overlap,
        language=settings.language,
        tenants=frozenset(settings.tenants),
        service_principals=frozenset(settings.granted_services),
        deletion_handlers=[
            Handler(kind=kind, task_queue=queue, activity=name) for kind, queue, name in settings.deletion_layers
        ],
        repoint_handlers=[
            Handler(kind=kind, task_queue=queue, activity=name) for kind, queue, name in settings.repoint_layers
        ],
        keep_generations=settings.keep_generations,
        keep_days=settings.keep_days,
        otlp_endpoint=settings.otlp_endpoint,
        partition_chunks=settings.partition_chunks,
        roles=roles,
    )
