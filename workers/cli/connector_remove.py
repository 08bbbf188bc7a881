"""`headwater connector remove`: a connector ends, and its documents with it or without it."""

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

import click

from activities.contracts.connectors import RemoveConnectorInput, RemovedConnector
from headwater.models import Scope
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import WrongUsage
from workers.cli.named_connector import find_named, parse_name, with_own_corpus
from workers.cli.options import with_json
from workers.cli.question import Question
from workers.cli.services import Services, open_services

if TYPE_CHECKING:
    from activities.store import Store

# A re-index that is flipped to meanwhile has pages staged again, which `io` does.
ROLES: Final = ("control", "io", "db")

_KEPT: Final = (
    " What is kept stays readable by those who could read it, whatever changes where it comes from. To delete it later, add {name} again "
    "as it was, sync it and remove it with --delete-sources; or take `headwater source delete` for each document."
)


@click.command("remove", short_help="End a connector.")
@click.argument("name", metavar="NAME")
@with_own_corpus
@click.option("--keep-sources", "keeps", is_flag=True, help="Its documents stay as they are, marked as stale.")
@click.option(
    "--delete-sources", "deletes", is_flag=True, help="Its documents are deleted, as by a sync that finds none."
)
@with_json
@pass_invocation
def remove_command(
    invocation: Invocation, *, name: str, corpus: str | None, keeps: bool, deletes: bool, as_json: bool
) -> None:
    """End the connector NAME, and its schedule. What becomes of its documents is said with one of the two options.

    Kept documents stay readable by those who could read them, and nobody looks after them any more; a connector of the same name and
    kind goes on with them. What another connector holds too stays either way. Nothing is changed where the documents come from.
    A sync of the connector that is running is ended first.
    """
    if keeps == deletes:
        raise WrongUsage("Say what becomes of the connector's documents: --keep-sources or --delete-sources.")
    scope = parse_name(name, corpus)
    invocation.start_logging()
    from activities.store import Store

    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        found = find_named(store, name, scope)
        wanted = RemoveConnectorInput(
            scope=found.scope,
            connector=name,
            sources="keep" if keeps else "delete",
            requested_by="headwater connector remove",
        )
        removed = asyncio.run(_remove(invocation, services, store, wanted))
    if as_json:
        told = {"kept": removed.kept, "deleted": removed.deleted, "schedule": removed.had_schedule}
        invocation.output.json({"corpus": str(found.scope), "connector": name, **told})
    else:
        invocation.output.line(said(found.scope, name, removed, keeps=keeps))


def said(scope: Scope, name: str, removed: RemovedConnector, *, keeps: bool) -> str:
    """What became of it, for a person."""
    count = removed.kept if keeps else removed.deleted
    documents = "1 document" if count == 1 else f"{count:,} documents"
    what = f"{documents} {'is' if count == 1 else 'are'} {'kept, as stale' if keeps else 'deleted'}"
    schedule = " Its schedule is removed too." if removed.had_schedule else ""
    kept = _KEPT.format(name=name) if removed.kept else ""
    return f"Connector {name} of {scope} is removed; {what}.{schedule}{kept}"


async def _remove(
    invocation: Invocation, services: Services, store: "Store", wanted: RemoveConnectorInput
) -> RemovedConnector:
    from workers.cli.removing import Removal
    from workers.cli.requesting import Request
    from workers.cli.waiting import wait_for
    from workers.cli.working import working

    output = invocation.output
    question = Question("RemoveConnector", wanted, RemovedConnector, what="removal", roles=ROLES)
    async with AsyncExitStack() as stack:
        work = await stack.enter_async_context(working(invocation, services, store, what="removal", roles=ROLES))
        request = Request(work.client, question, output.note)
        removal = Removal(work.client, request, wanted.scope, wanted.connector, output.note)
        return await wait_for(removal, stop=work.stop, trouble=work.trouble, on_stopping=output.note)
