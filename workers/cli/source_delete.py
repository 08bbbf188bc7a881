"""`headwater source delete`: one document ends. What was derived from it stays."""

import click

from headwater.contracts import DeleteSourcesInput, DeleteSourcesResult
from headwater.models import Scope
from workers.cli.asking import ask
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, arguments
from workers.cli.named_source import not_found, require_corpus
from workers.cli.options import with_corpus, with_json
from workers.cli.question import Question, fresh_request_id
from workers.cli.services import open_services


@click.command("delete", short_help="Delete a document from the corpus.")
@click.argument("source_id", metavar="ID")
@with_corpus
@with_json
@pass_invocation
def delete_command(invocation: Invocation, *, source_id: str, corpus: str, as_json: bool) -> None:
    """Delete the document ID from the corpus: its text, its state and its grants. What was derived from it stays.

    Where it came from is not touched: the next sync of a folder that still holds it publishes it again, under the folder's
    rule. To hide what was derived from it too, use `headwater source propagate`.
    """
    from activities.store import Store

    with arguments():
        scope = Scope.parse(corpus)
    invocation.start_logging()
    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        require_corpus(store, scope)
        with arguments():
            wanted = DeleteSourcesInput(
                scope=scope,
                request_id=fresh_request_id(),
                source_ids=(source_id,),
                requested_by="headwater source delete",
            )
        result = ask(
            invocation, services, store, Question("DeleteSources", wanted, DeleteSourcesResult, what="deletion")
        )
        if not any(source.deleted for source in result.sources):
            raise CommandFailed(not_found(store, scope, source_id))
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    else:
        invocation.output.line(f"{source_id} is deleted (generation {result.generation}).")
