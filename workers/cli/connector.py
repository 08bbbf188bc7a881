"""`headwater connector list`: where documents come from."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from headwater.models import Scope
from workers.cli.console import plain
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import arguments
from workers.cli.offering import OfferingGroup
from workers.cli.options import with_json
from workers.cli.services import open_services

if TYPE_CHECKING:
    from activities.store.connectors import PlacedConnector


@click.group("connector", cls=OfferingGroup, short_help="Say where documents come from.")
def connector_group() -> None:
    """Say where the documents of a corpus come from, and look whether they can be reached.

    A local folder needs none of this: `headwater sync folder` makes its connector.
    """


@connector_group.command("list", short_help="Show the connectors.")
@click.option("--corpus", metavar="T/R/C", help="Only of this corpus; by default of all.")
@with_json
@pass_invocation
def list_command(invocation: Invocation, *, corpus: str | None, as_json: bool) -> None:
    """Show the connectors, what they hold, and when each was synced."""
    from activities.store import Store
    from activities.store.connectors import placed_connectors

    with arguments():
        scope = Scope.parse(corpus) if corpus is not None else None
    invocation.start_logging()
    with (
        open_services(invocation, temporal=False) as services,
        Store.open(services.database_url, schema=services.schema, max_size=1) as store,
    ):
        found = placed_connectors(store, scope=scope)
    documents = [_document(each) for each in found]
    if as_json:
        invocation.output.json({"connectors": documents})
    elif documents:
        invocation.output.out.print(table(documents))
    else:
        invocation.output.line(
            "No connector yet: `headwater sync folder` and `headwater connector add drive` make them."
        )


def place(kind: str, config: Mapping[str, Any]) -> str:
    """Where the documents of a connector lie, in a few words."""
    if kind == "folder":
        return str(config.get("root", ""))
    if folders := config.get("folder_ids"):
        return f"{'folder' if len(folders) == 1 else 'folders'} {', '.join(folders)}"
    if drive := config.get("drive_id"):
        return f"shared drive {drive}"
    return "all that the account sees" if kind == "drive" else ""


def table(connectors: Sequence[Mapping[str, Any]]) -> Table:
    """The documents of ``--json`` for a person."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("corpus", "connector", "kind", "documents", "last sync", "of", "error"):
        shown.add_column(heading, overflow="fold", justify="right" if heading == "documents" else "left")
    for each in connectors:
        documents = f"{each['sources']:,}" + (f" ({each['withheld']:,} withheld)" if each["withheld"] else "")
        values = (each["corpus"], each["name"], each["kind"], documents, each["last_sync_at"] or "never")
        shown.add_row(*map(plain, (*values, place(each["kind"], each["config"]), each["error"] or "")))
    return shown


def _document(found: "PlacedConnector") -> dict[str, Any]:
    return {
        "corpus": str(found.scope),
        "name": found.row.name,
        "kind": found.row.kind,
        "sources": found.sources,
        "withheld": found.withheld,
        "last_sync_at": at(found.last_sync_at),
        "error": found.error,
        "config": found.row.config,
    }


def at(moment: datetime | None) -> str | None:
    """A time as all commands write it."""
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")
