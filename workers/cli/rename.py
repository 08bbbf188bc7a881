"""`headwater rename`: a document goes on under another id, with its text, vectors and history."""

import click

from headwater.contracts import RenameSourcesInput, RenameSourcesResult
from headwater.models import Authorization, Scope
from workers.cli.asking import ask
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, arguments
from workers.cli.named_source import require_corpus
from workers.cli.options import with_corpus, with_json, with_principal
from workers.cli.question import Question, fresh_request_id
from workers.cli.services import open_services


@click.command("rename", short_help="Move a document to another id.")
@click.argument("from_id", metavar="FROM")
@click.argument("to_id", metavar="TO")
@with_corpus
@with_principal
@with_json
@pass_invocation
def rename_command(
    invocation: Invocation,
    *,
    from_id: str,
    to_id: str,
    corpus: str,
    principal: str,
    groups: tuple[str, ...],
    as_json: bool,
) -> None:
    """Move the document FROM to the id TO: its text, vectors and history, and what lineage says of it.

    --as must be granted both ids, or be one of the workers' HEADWATER_SERVICE_PRINCIPALS: grants stay with their id and are never
    copied, so that TO gets its own first, with `headwater source grant`. Nothing is embedded. Documents of folders
    follow their files and cannot be renamed here.
    """
    from activities.store import Store

    with arguments():
        scope = Scope.parse(corpus)
        who = Authorization(principal_id=principal, tenant_id=scope.tenant_id, group_ids=groups)
        wanted = RenameSourcesInput.model_validate(
            {
                "scope": scope,
                "request_id": fresh_request_id(),
                "renames": [{"from": from_id, "to": to_id}],
                "authorization": who,
                "requested_by": "headwater rename",
            }
        )
    invocation.start_logging()
    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        require_corpus(store, scope)
        result = ask(
            invocation, services, store, Question("RenameSources", wanted, RenameSourcesResult, what="renaming")
        )
    if result.failures:
        raise CommandFailed(result.failures[0].error)
    if as_json:
        invocation.output.json(result.model_dump(mode="json", by_alias=True))
        return
    for moved in result.results:
        chunks, edges = counted(moved.moved_chunks, "chunk"), counted(moved.rewritten_edges, "lineage record")
        invocation.output.line(f"{moved.from_id} is now {moved.to_id}: {chunks} moved, {edges} rewritten.")


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
