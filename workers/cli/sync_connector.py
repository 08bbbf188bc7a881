"""`headwater sync connector`: one sync of a connector that is there, waiting for its end."""

import click

from headwater.contracts import SyncCorpusInput
from workers.cli.context import Invocation, pass_invocation
from workers.cli.corpus import embedder_note, ensure_corpus
from workers.cli.named_connector import find_named, parse_name, with_own_corpus
from workers.cli.one_sync import sync_once
from workers.cli.options import with_json
from workers.cli.services import open_services


@click.command("connector", short_help="Sync a connector once.")
@click.argument("name", metavar="NAME")
@with_own_corpus
@click.option("--full", is_flag=True, help="List and read everything again, also unchanged and failed documents.")
@click.option("--strict", is_flag=True, help="End with status 1 if any document failed; one that is withheld did not.")
@with_json
@pass_invocation
def sync_connector_command(
    invocation: Invocation, *, name: str, corpus: str | None, full: bool, strict: bool, as_json: bool
) -> int:
    """Sync the connector NAME once: what is new or changed is read, what is gone is deleted, and who may read follows the source.

    A second sync of the same connector waits for a pass that starts after it was asked for. Ctrl-C stops only a run that
    this command started, between two batches; the next sync goes on from there.
    """
    scope = parse_name(name, corpus)
    invocation.start_logging()
    from activities.embedder_source import EmbedderSource
    from activities.store import Store

    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        found = find_named(store, name, scope)
        build = ensure_corpus(store, found.scope, invocation.settings)
        embedders = EmbedderSource()
        if services.is_embedded:
            embedders.of(build)  # configured workers have their own models, and check for themselves
        if note := embedder_note(build, found.scope, invocation.settings):
            invocation.output.note(note)
        wanted = SyncCorpusInput(scope=found.scope, connector=name, full=full, requested_by="headwater sync")
        return sync_once(invocation, services, store, embedders, found.row, wanted, strict=strict, as_json=as_json)
