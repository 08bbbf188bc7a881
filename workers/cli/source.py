"""`headwater source show`: all that is known of one document, except what it says."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from headwater.ids import SOURCE_ID, check_source_id
from headwater.models import Scope
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, arguments
from workers.cli.services import open_services

if TYPE_CHECKING:
    from activities.store import Store

SIMILAR_SHOWN: Final = 3


@click.group("source", short_help="Look at one document.")
def source_group() -> None:
    """Look at one document of a corpus."""


@source_group.command("show", short_help="Show a document's state, grants and chunks.")
@click.argument("source_id", metavar="ID")
@click.option("--corpus", required=True, metavar="T/R/C", help="The corpus, as TENANT/RESOURCE/CORPUS.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
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
            raise CommandFailed(_not_found(store, scope, source_id))
    if as_json:
        invocation.output.json(found)
    else:
        for line in lines(found):
            invocation.output.line(line)


def _not_found(store: "Store", scope: Scope, given: str) -> str:
    """A path is easily taken for an id: the sentence names documents whose id ends in it."""
    from activities.connectors.folder_ids import encode_path
    from activities.store import status

    path = given.removeprefix("./").lstrip("/") or given or "/"
    endings = [ending for ending in (path, encode_path(os.fsencode(path))) if SOURCE_ID.match(ending)]
    similar = status.sources_ending(store, scope, endings, limit=SIMILAR_SHOWN)
    if similar:
        return f"Corpus {scope} has no document with the id {given}. Did you mean {' or '.join(similar)}?"
    with arguments():
        check_source_id(given, "ID")
    return f"Corpus {scope} has no document {given}: `headwater status --corpus {scope}` lists them."


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
