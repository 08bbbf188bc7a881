"""`headwater sync folder`: one sync of a local folder, waiting for its end."""

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from headwater.contracts import SyncCorpusInput, SyncResult
from headwater.models import Scope
from workers.cli.console import Output
from workers.cli.context import Invocation, pass_invocation
from workers.cli.corpus import embedder_note, ensure_corpus
from workers.cli.errors import EXIT_FAILED, CommandFailed, WrongUsage, arguments
from workers.cli.folders import KnownFolder, choose_connector
from workers.cli.progress import display_for, follow
from workers.cli.services import Services, connect_temporal, open_services

if TYPE_CHECKING:
    from activities.connectors.access_rule import AccessRule
    from activities.embedder_source import EmbedderSource
    from activities.store import Store
    from activities.store.connectors import ConnectorRow

FAILURES_SHOWN: Final = 10
UP_IS_GONE: Final = (
    "`headwater up` has ended, and nobody works on this sync now: start it again, or press Ctrl-C and sync again."
)


@dataclass(frozen=True)
class FolderRequest:
    """What the command line asked for."""

    scope: Scope
    root: str
    name: str | None
    rule: "AccessRule | None"
    access_file: str | None
    full: bool


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

    A folder that was moved goes on under its old documents' ids with --name OLD and the new PATH.

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
        row = _register(invocation, store, services, embedders, request)
        result = asyncio.run(_sync(invocation, services, store, embedders, row, request, quiet=as_json))
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    else:
        report(invocation.output, result)
    return EXIT_FAILED if strict and result.failed else 0


def read_request(
    path: str,
    corpus: str,
    name: str | None,
    grants: tuple[str, ...],
    access: str | None,
    full: bool,
    *,
    may_be_elsewhere: bool,
) -> FolderRequest:
    """The request, checked before any service is started. Raises `WrongUsage`."""
    from activities.connectors.access_rule import AccessRule
    from activities.connectors.folder_ids import path_to_text
    from headwater.ids import check_scope_part

    if grants and access is not None:
        raise WrongUsage("--grant and --access cannot be given together: put all rules into the --access file.")
    with arguments():
        scope = Scope.parse(corpus)
        if name is not None:
            check_scope_part(name, "connector")
        rule = (
            AccessRule.from_grants(grants) if grants else AccessRule.from_file(access) if access is not None else None
        )
    return FolderRequest(
        scope=scope,
        root=path_to_text(_real_folder(path, may_be_elsewhere=may_be_elsewhere)),
        name=name,
        rule=rule,
        access_file=access,
        full=full,
    )


def _real_folder(path: str, *, may_be_elsewhere: bool) -> str:
    real = os.path.realpath(path)
    if os.path.isdir(real):
        return real
    if os.path.lexists(path):
        raise WrongUsage(f"{path} is not a folder: give the folder that holds it.")
    if may_be_elsewhere and os.path.isabs(path):
        return os.path.normpath(path)  # configured workers may run where this path exists
    raise WrongUsage(f"{path} does not exist: give the path of a folder.")


def _register(
    invocation: Invocation, store: "Store", services: Services, embedders: "EmbedderSource", request: FolderRequest
) -> "ConnectorRow":
    """The connector's row, made or changed as asked; says what the person should know."""
    from activities.connectors import default_connector_name, folder_config
    from activities.connectors.folder_ids import path_from_text
    from activities.store.connectors import connectors_of, ensure_connector

    output = invocation.output
    known = {row.name: row for row in connectors_of(store, request.scope) if row.kind == "folder"}
    choice = choose_connector(
        [KnownFolder(row.name, row.config["root"]) for row in known.values()],
        root=request.root,
        name=request.name,
        default_name=default_connector_name(request.scope, path_from_text(request.root)),
        is_gone=lambda root: not os.path.lexists(path_from_text(root)),
    )
    build = ensure_corpus(store, request.scope, invocation.settings)
    if services.is_embedded:
        embedders.of(build)  # configured workers have their own models, and check for themselves
    for note in (*choice.notes, embedder_note(build, request.scope, invocation.settings)):
        if note:
            output.note(note)
    config = folder_config(path_from_text(request.root), access=request.rule, access_file=request.access_file)
    if request.rule is None and not choice.is_new:
        config = dict(known[choice.name].config) | {"root": request.root}
    if config["access"] is None:
        output.warn(
            "Nobody may read these documents: they are indexed, and found by no one until a sync is given "
            "--grant or --access."
        )
    return ensure_connector(store, build.scope_id, choice.name, "folder", config, new_rule=request.rule is not None)


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
    from activities.store.staging import pass_progress
    from workers.cli import pollers
    from workers.cli.syncing import Sync, interrupts, run_sync
    from workers.cli.worker import worker_options
    from workers.worker import running_workers

    async with AsyncExitStack() as stack:
        display = stack.enter_context(display_for(invocation.output, quiet=quiet))
        stop = await stack.enter_async_context(interrupts(before_leaving=invocation.output.show_cursor))
        client = await connect_temporal(services)
        on_workers_gone = None
        if not services.has_workers:
            await stack.enter_async_context(
                running_workers(client, store, worker_options(invocation.settings), embedders=embedders)
            )
        elif services.is_embedded:
            on_workers_gone = partial(invocation.output.note, UP_IS_GONE)
        else:
            idle = await pollers.idle_queues(client)
            if idle:
                raise CommandFailed(pollers.sentence(idle, services.temporal_address))
        if display is not None:
            watching = asyncio.create_task(follow(display, lambda: pass_progress(store, row.connector_id)))
            stack.callback(watching.cancel)
        wanted = SyncCorpusInput(
            scope=request.scope, connector=row.name, full=request.full, requested_by="headwater sync"
        )
        return await run_sync(
            Sync(client, wanted),
            stop=stop,
            trouble=services.trouble(on_workers_gone=on_workers_gone),
            on_stopping=invocation.output.note,
        )


def report(output: Output, result: SyncResult) -> None:
    """The result for a person: counts on stdout, failures with their reasons."""
    output.line(
        f"{result.corpus}, connector {result.connector}: {result.upserted:,} published, {result.skipped:,} unchanged, "
        f"{result.deleted:,} deleted, {result.failed:,} failed; "
        f"{result.embedded_chunks:,} chunks embedded, {result.reused_chunks:,} reused; generation {result.generation}."
    )
    shown = result.failures[:FAILURES_SHOWN]
    for failure in shown:
        output.line(f"  {failure.state}: {failure.source_id}: {failure.reason or 'no reason recorded'}")
    if result.failed > len(shown):
        output.line(
            f"  and {result.failed - len(shown):,} more: headwater status --corpus {result.corpus} --state STATE"
        )
