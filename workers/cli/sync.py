"""`headwater sync folder`: one sync of a local folder, waiting for its end."""

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Final

import click

from headwater.contracts import SyncCorpusInput, SyncResult
from headwater.errors import HeadwaterError
from headwater.models import Scope
from workers.cli.console import Output
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import EXIT_FAILED
from workers.cli.folder_request import FolderRequest, read_request, register
from workers.cli.progress import display_for, follow
from workers.cli.services import Services, open_services
from workers.settings import Settings

if TYPE_CHECKING:
    from activities.embedder_source import EmbedderSource
    from activities.store import Store
    from activities.store.connectors import ConnectorRow

FAILURES_SHOWN: Final = 10
GARBAGE_PAGES: Final = 50  # of 100 documents: under a second


@click.group("sync", short_help="Bring a corpus up to date with its documents.")
def sync_group() -> None:
    """Bring a corpus up to date with where its documents come from."""


@sync_group.command("folder", short_help="Sync a local folder once.")
@click.argument("path", metavar="PATH")
@click.option("--corpus", required=True, metavar="T/R/C", help="The corpus, as TENANT/RESOURCE/CORPUS.")
@click.option("--name", metavar="NAME", help="Name of the connector; by default made of the folder's name and path.")
@click.option(
    "--grant",
    "grants",
    multiple=True,
    metavar="GRANT",
    help="Who may read: user:X, group:X or everyone. May be repeated.",
)
@click.option("--access", metavar="FILE", help="Who may read what, by path: a YAML or TOML file. Not with --grant.")
@click.option("--full", is_flag=True, help="Read every document again, also unchanged and failed ones.")
@click.option("--strict", is_flag=True, help="End with status 1 if any document failed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_invocation
def folder_command(
    invocation: Invocation,
    *,
    path: str,
    corpus: str,
    name: str | None,
    grants: tuple[str, ...],
    access: str | None,
    full: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Sync the local folder PATH once: new and changed documents are read, those that are gone are deleted.

    The first sync remembers the folder and who may read it. New documents get that rule; the grants of known ones change
    only when --grant or --access is given. Without either, a new folder is indexed and readable by nobody. Files and
    folders whose name begins with a dot are not read.

    A folder that was moved goes on under its old documents' ids with --name OLD and the new PATH; not with configured
    services, whose folders are where their workers are.

    A second sync of the same folder waits for a pass that starts after it was asked for. Ctrl-C stops only a run that
    this command started, between two batches; the next sync goes on from there.
    """
    settings = invocation.settings
    request = read_request(path, corpus, name, grants, access, full, may_be_elsewhere=settings.uses_configured_services)
    invocation.start_logging()
    from activities.embedder_source import EmbedderSource
    from activities.store import Store

    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        embedders = EmbedderSource()
        row = register(invocation, store, services, embedders, request)
        result = asyncio.run(_sync(invocation, services, store, embedders, row, request, quiet=as_json))
        if not services.has_workers:
            collect_little(store, request.scope, settings)
        held_at = pinned_generation(store, request.scope)
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    else:
        report(invocation.output, result)
    if held_at is not None:
        invocation.output.note(
            f"The corpus is pinned: readers stay at generation {held_at}; `headwater generation unpin --corpus "
            f"{request.scope}` shows them what was published since."
        )
    return EXIT_FAILED if strict and result.failed else 0


async def _sync(
    invocation: Invocation,
    services: Services,
    store: "Store",
    embedders: "EmbedderSource",
    row: "ConnectorRow",
    request: FolderRequest,
    *,
    quiet: bool,
) -> SyncResult:
    from activities.store.progress import pass_progress
    from workers.cli.syncing import Sync
    from workers.cli.waiting import wait_for
    from workers.cli.working import working

    async with AsyncExitStack() as stack:
        display = stack.enter_context(display_for(invocation.output, quiet=quiet))
        work = await stack.enter_async_context(working(invocation, services, store, what="sync", embedders=embedders))
        if display is not None:
            watching = asyncio.create_task(follow(display, lambda: pass_progress(store, row.connector_id)))
            stack.callback(watching.cancel)
        wanted = SyncCorpusInput(
            scope=request.scope, connector=row.name, full=request.full, requested_by="headwater sync"
        )
        result = await wait_for(
            Sync(work.client, wanted), stop=work.stop, trouble=work.trouble, on_stopping=invocation.output.note
        )
        if display is not None:
            # A quick sync ends between two looks; whoever watches sees where it ended all the same.
            with suppress(HeadwaterError):
                display.show(await asyncio.to_thread(pass_progress, store, row.connector_id))
        return result


def pinned_generation(store: "Store", scope: Scope) -> int | None:
    """Where readers are held; None where they follow."""
    from activities.store.status import pinned_generation as pinned

    with suppress(HeadwaterError):  # the sync is done, whatever can be said beside it
        return pinned(store, scope)
    return None


def collect_little(store: "Store", scope: Scope, settings: Settings) -> None:
    """Nobody stays who would collect garbage on a schedule, so that each sync ends with some of it."""
    from activities.store.garbage import garbage

    keep = garbage.Keep(generations=settings.keep_generations, seconds=settings.keep_days * 86_400)
    # The documents are in: that some garbage stays until the next sync is no failure of this one.
    with suppress(HeadwaterError):
        garbage.collect_little(store, scope, keep, transactions=GARBAGE_PAGES)


def report(output: Output, result: SyncResult) -> None:
    """The result for a person: counts on stdout, failures with their reasons."""
    output.line(
        f"{result.corpus}, connector {result.connector}: {result.upserted:,} published, {result.skipped:,} unchanged, "
        f"{result.deleted:,} deleted, {result.failed:,} failed; "
        f"{result.embedded_chunks:,} {'chunk' if result.embedded_chunks == 1 else 'chunks'} embedded, {result.reused_chunks:,} reused; generation {result.generation}."
    )
    shown = result.failures[:FAILURES_SHOWN]
    for failure in shown:
        output.line(f"  {failure.state}: {failure.source_id}: {failure.reason or 'no reason recorded'}")
    if result.failed > len(shown):
        output.line(
            f"  and {result.failed - len(shown):,} more: headwater status --corpus {result.corpus} --state STATE"
        )
