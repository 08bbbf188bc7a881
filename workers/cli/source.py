"""`headwater source show`: all that is known of one document, except what it says."""

from collections.abc import Mapping
from typing import Any

import click

from headwater.ids import SOURCE_ID
from headwater.models import Scope
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, arguments
from workers.cli.named_source import not_found
from workers.cli.offering import OfferingGroup
from workers.cli.options import with_corpus, with_json
from workers.cli.services import open_services


@click.group("source", cls=OfferingGroup, short_help="Look at one document, grant it, delete it.")
def source_group() -> None:
    """Look at one document of a corpus, say who may read it, or delete it."""


@source_group.command("show", short_help="Show a document's state, grants and chunks.")
@click.argument("source_id", metavar="ID")
@with_corpus
@with_json
@pass_invocation
def show_command(invocation: Invocation, *, source_id: str, corpus: str, as_json: bool) -> None:
    """Show the document ID as an operator sees it: state, grants, offsets of its chunks and lineage, never its text."""
    from activities.store import Store, status

    with arguments():
        scope = Scope.parse(corpus)
    invocation.start_logging()
    with (
        open_services(invocation, temporal=False) as services,
        Store.open(services.database_url, schema=services.schema, max_size=1) as store,
    ):
        found = status.source(store, scope, source_id) if SOURCE_ID.match(source_id) else None
        if found is None:
            raise CommandFailed(not_found(store, scope, source_id))
    if as_json:
        invocation.output.json(found)
    else:
        for line in lines(found):
            invocation.output.line(line)


def lines(document: Mapping[str, Any], indent: str = "") -> list[str]:
    """The document as indented lines: a name and a value, or a name and what is below it."""
    written: list[str] = []
    for name, value in document.items():
        label = f"{indent}{name.replace('_', ' ')}:"
        if isinstance(value, dict) and value:
            written += [label, *lines(value, indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            written.append(label)
            written += [f"{indent}  " + ", ".join(f"{key} {part}" for key, part in row.items()) for row in value]
        elif isinstance(value, list):
            written.append(f"{label} {', '.join(map(str, value)) or 'none'}")
        else:
            written.append(f"{label} {'none' if value is None else value}")
    return written
