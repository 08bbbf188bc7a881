"""`headwater source propagate`: a document and all that rests on it is hidden at once, then removed."""

from typing import Final

import click

from headwater.contracts import PropagateDeletionInput, PropagateDeletionResult
from headwater.models import Authorization, Scope
from workers.cli.asking import ask
from workers.cli.console import Output
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import arguments
from workers.cli.named_source import require_corpus
from workers.cli.options import with_corpus, with_json, with_principal
from workers.cli.question import Question, fresh_request_id
from workers.cli.services import open_services

REASONS: Final = ("forgotten", "revoked", "corrected", "legal_hold")
SHOWN: Final = 10


@click.command("propagate", short_help="Delete a document and all that was derived from it.")
@click.argument("source_id", metavar="ID")
@with_corpus
@with_principal
@click.option("--reason", type=click.Choice(REASONS), default="forgotten", show_default=True, help="Why; see above.")
@with_json
@pass_invocation
def propagate_command(
    invocation: Invocation,
    *,
    source_id: str,
    corpus: str,
    principal: str,
    groups: tuple[str, ...],
    reason: str,
    as_json: bool,
) -> None:
    """Hide the document ID and, along lineage, all that was derived from it; then remove it from every layer.

    --as must be granted the document, or be one of the workers' HEADWATER_SERVICE_PRINCIPALS.

    forgotten: may come back with newer text. revoked: never comes back. corrected: what was derived is hidden, the document
    itself stays; whatever names its id in its lineage stays hidden, so publish the corrected text under another id and derive
    anew from that. legal_hold: hidden for good, and nothing is removed.
    """
    from activities.store import Store

    with arguments():
        scope = Scope.parse(corpus)
        who = Authorization(principal_id=principal, tenant_id=scope.tenant_id, group_ids=groups)
        wanted = PropagateDeletionInput.model_validate(
            {
                "scope": scope,
                "request_id": fresh_request_id(),
                "source_id": source_id,
                "authorization": who,
                "reason": reason,
                "requested_by": "headwater source propagate",
            }
        )
    invocation.start_logging()
    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        require_corpus(store, scope)
        question = Question("PropagateDeletion", wanted, PropagateDeletionResult, what="deletion")
        result = ask(invocation, services, store, question)
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    else:
        show(invocation.output, result, reason)


def show(output: Output, result: PropagateDeletionResult, reason: str) -> None:
    """The result for a person."""
    layers = ", ".join(_removed(kind, count) for kind, count in result.layers.items())
    stays = result.ids[:1] if reason == "corrected" else ()  # the document itself is the first of them
    hidden = result.ids[len(stays) :]
    output.line(f"{max(0, result.tombstoned - len(stays)):,} hidden ({reason}); removed: {layers or 'nothing'}.")
    for each in hidden[:SHOWN]:
        output.line(f"  {each}")
    if len(hidden) > SHOWN:
        output.line(f"  and {len(hidden) - SHOWN:,} more: --json lists them all")
    for each in stays:
        output.line(f"{each} itself is shown as before; what names it in its lineage stays hidden.")


def _removed(layer: str, count: int) -> str:
    """What the store holds, in each build that is kept, is the layer `rag`; the others are called by their hosts."""
    if layer == "rag":
        return f"{count:,} stored {'passage' if count == 1 else 'passages'}"
    return f"{count:,} {layer}"
