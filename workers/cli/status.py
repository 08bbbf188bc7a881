"""`headwater status`: the corpora, or the documents of one."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from rich.table import Table

from headwater.models import Scope
from headwater.states import SourceState
from workers.cli.console import Output, plain
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import WrongUsage, arguments
from workers.cli.services import open_services

STATES: Final = [state.value for state in SourceState]
LIMIT_MAX: Final = 1_000
# What JSON calls values, and a person; a list is compared as a whole.
KINDS: Final = {
    "string": "text",
    "number": "number",
    "boolean": "true or false",
    "array": 'list, given whole: KEY=["…"]',
    "object": "object, given whole",
    "null": "null",
}


@click.command("status", short_help="Show the corpora, or the documents of one.")
@click.option("--corpus", metavar="T/R/C", help="Show this corpus and its documents.")
@click.option("--state", type=click.Choice(STATES), help="Only documents in this state; with --corpus.")
@click.option(
    "--limit",
    type=click.IntRange(1, LIMIT_MAX),
    default=50,
    show_default=True,
    metavar="N",
    help="How many documents; with --corpus.",
)
@click.option("--cursor", metavar="C", help="Go on after the page that ended with this cursor; with --corpus.")
@click.option(
    "--keys",
    "wants_keys",
    is_flag=True,
    help="Instead of its documents, the keys that a --filter can name; with --corpus.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_invocation
def status_command(
    invocation: Invocation,
    *,
    corpus: str | None,
    state: str | None,
    limit: int,
    cursor: str | None,
    wants_keys: bool,
    as_json: bool,
) -> None:
    """Show every corpus, or with --corpus one of them and its documents: their states, reasons and freshness.

    --keys lists the metadata that documents and passages have, for `headwater search --filter`, and what its values are.
    """
    if corpus is None and (state is not None or cursor is not None or wants_keys):
        raise WrongUsage("--state, --cursor and --keys speak of the documents of one corpus: give --corpus too.")
    if wants_keys and (state is not None or cursor is not None):
        raise WrongUsage("--keys is of all documents: leave --state and --cursor out.")
    with arguments():
        scope = Scope.parse(corpus) if corpus is not None else None
    invocation.start_logging()
    document = _read(invocation, scope, state, limit, cursor, wants_keys=wants_keys)
    if scope is not None and not document["corpora"]:
        invocation.output.note(f"Corpus {scope} does not exist: `headwater status` lists those that do.")
    if as_json:
        invocation.output.json(document)
    else:
        show(invocation.output, document)


def _read(
    invocation: Invocation,
    scope: Scope | None,
    state: str | None,
    limit: int,
    cursor: str | None,
    *,
    wants_keys: bool,
) -> dict[str, Any]:
    """The document that ``--json`` prints."""
    from activities.store import Store, status

    with (
        open_services(invocation, temporal=False) as services,
        Store.open(services.database_url, schema=services.schema, max_size=1) as store,
    ):
        document: dict[str, Any] = {"corpora": status.corpora(store, scope)}
        if scope is not None and wants_keys:
            document["keys"] = status.keys(store, scope)
        elif scope is not None:
            wanted = None if state is None else SourceState(state)
            document |= status.sources(store, scope, state=wanted, limit=limit, cursor=cursor)
        return document


def show(output: Output, document: Mapping[str, Any]) -> None:
    """The document of ``--json`` for a person."""
    corpora: Sequence[Mapping[str, Any]] = document["corpora"]
    if corpora:
        output.out.print(_corpora(corpora))
        for corpus in corpora:
            for connector in corpus["connectors"]:
                synced = f"last synced {connector['last_sync_at']}" if connector["last_sync_at"] else "never synced"
                error = f"; {connector['error']}" if connector["error"] else ""
                output.line(f"{corpus['corpus']}: connector {connector['name']} ({connector['kind']}), {synced}{error}")
    elif "sources" not in document and "keys" not in document:
        output.line("No corpus yet: `headwater sync folder PATH --corpus T/R/C --grant everyone` makes one.")
    if document.get("sources"):
        output.out.print()
        output.out.print(_sources(document["sources"]))
    if document.get("keys"):
        output.out.print()
        output.out.print(_keys(document["keys"]))
    elif corpora and "keys" in document:
        output.line("No document or passage has any metadata.")
    if document.get("next_cursor"):
        output.note(f"There are more: --cursor {document['next_cursor']}")


def _corpora(corpora: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("corpus", "generation", "documents", "chunks", "states", "embedder", "language")
    for corpus in corpora:
        states = ", ".join(f"{count:,} {state}" for state, count in corpus["by_state"].items())
        generation = f"{corpus['generation']:,}{' pinned' if corpus['pinned'] else ''}"
        numbers = (f"{corpus[key]:,}" for key in ("sources", "chunks"))
        made_with = (corpus["space"]["embedder"], corpus["language"] or "no words yet")
        table.add_row(*map(plain, (corpus["corpus"], generation, *numbers, states, *made_with)))
    return table


def _sources(sources: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("document", "state", "freshness", "chunks", "bytes", "revision", "reason")
    for source in sources:
        numbers = (f"{source[key] or 0:,}" for key in ("chunks", "bytes", "revision"))
        shown = (source["source_id"], source["state"], source["freshness"], *numbers, source["reason"])
        table.add_row(*map(plain, shown))
    return table


def _keys(keys: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("key", "documents", "values")
    for each in keys:
        kinds = ", ".join(KINDS[kind] for kind in each["types"])
        table.add_row(*map(plain, (each["key"], f"{each['sources']:,}", kinds)))
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        is_number = heading in ("generation", "documents", "chunks", "bytes", "revision")
        table.add_column(heading, overflow="fold", justify="right" if is_number else "left")
    return table
