"""`headwater sync folder`: one sync of a local folder, waiting for its end."""

import click

from headwater.contracts import SyncCorpusInput
from workers.cli.context import Invocation, pass_invocation
from workers.cli.folder_request import read_request, register
from workers.cli.offering import SyncGroup
from workers.cli.one_sync import sync_once
from workers.cli.services import open_services


@click.group("sync", cls=SyncGroup, short_help="Bring a corpus up to date with its documents.")
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
@click.option("--strict", is_flag=True, help="End with status 1 if any document failed; one that is withheld did not.")
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
        wanted = SyncCorpusInput(
            scope=request.scope, connector=row.name, full=request.full, requested_by="headwater sync"
        )
        return sync_once(invocation, services, store, embedders, row, wanted, strict=strict, as_json=as_json)
