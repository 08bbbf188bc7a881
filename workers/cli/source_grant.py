"""`headwater source grant` and `revoke`: who may read one document, replaced as a whole."""

from collections.abc import Sequence

import click

from headwater.contracts import AccessOutcome, SetSourceAccessInput, SetSourceAccessResult, SourceGrants
from headwater.models import Scope
from workers.cli.asking import ask
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, arguments
from workers.cli.named_source import not_found, require_corpus, similar_ids
from workers.cli.options import with_corpus, with_json
from workers.cli.question import Question, fresh_request_id
from workers.cli.services import open_services


@click.command("grant", short_help="Replace who may read a document.")
@click.argument("source_id", metavar="ID")
@click.option(
    "--grant",
    "grants",
    multiple=True,
    required=True,
    metavar="GRANT",
    help="Who may read: user:X, group:X or everyone. May be repeated.",
)
@with_corpus
@with_json
@pass_invocation
def grant_command(
    invocation: Invocation, *, source_id: str, grants: tuple[str, ...], corpus: str, as_json: bool
) -> None:
    """Replace all grants of the document ID by these. Nobody else may read it from now on.

    An ID that has no document yet gets its grants all the same: whoever is published or renamed to it finds them.
    """
    outcome = _set(invocation, source_id, corpus, grants)
    if as_json:
        invocation.output.json(outcome.model_dump(mode="json"))
    else:
        invocation.output.line(
            f"{source_id} may be read by {', '.join(grants)} and nobody else (access version {outcome.access_version})."
        )


@click.command("revoke", short_help="Take all grants of a document away.")
@click.argument("source_id", metavar="ID")
@with_corpus
@with_json
@pass_invocation
def revoke_command(invocation: Invocation, *, source_id: str, corpus: str, as_json: bool) -> None:
    """Take all grants of the document ID away: nobody may read it from now on. Its text stays."""
    outcome = _set(invocation, source_id, corpus, ())
    if as_json:
        invocation.output.json(outcome.model_dump(mode="json"))
    else:
        invocation.output.line(f"{source_id} may be read by nobody (access version {outcome.access_version}).")


def _set(invocation: Invocation, source_id: str, corpus: str, grants: Sequence[str]) -> AccessOutcome:
    """The set one version above the stored one. Whoever wrote in between wins, and is named."""
    from activities.connectors.access_rule import parse_grants
    from activities.store import Store, status

    with arguments():
        scope, granted = Scope.parse(corpus), parse_grants(grants)
    invocation.start_logging()
    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        require_corpus(store, scope)
        stored = status.access_version(store, scope, source_id)
        if stored is None:
            if not grants:
                raise CommandFailed(not_found(store, scope, source_id))
            similar = similar_ids(store, scope, source_id)
            invocation.output.note(
                f"Corpus {scope} has no document {source_id} yet: the grants wait for it."
                + (f" Did you mean {' or '.join(similar)}?" if similar else "")
            )
        with arguments():
            wanted = SetSourceAccessInput(
                scope=scope,
                request_id=fresh_request_id(),
                grants=(
                    SourceGrants(
                        source_id=source_id,
                        principal_ids=granted.principal_ids,
                        group_ids=granted.group_ids,
                        everyone=granted.everyone,
                        access_version=(stored or 0) + 1,
                    ),
                ),
                requested_by=f"headwater source {'grant' if grants else 'revoke'}",
            )
        question = Question("SetSourceAccess", wanted, SetSourceAccessResult, what="change of grants")
        (outcome,) = ask(invocation, services, store, question).sources
    return written(outcome)


def written(outcome: AccessOutcome) -> AccessOutcome:
    """``outcome``, if the grants are what was asked for; else a failure that says why not."""
    if outcome.conflict is not None:
        raise CommandFailed(
            f"Somebody else changed the grants of {outcome.source_id} at the same time (access version {outcome.access_version}): look "
            "at them with `headwater source show`, and run the command again if yours are still right."
        )
    if outcome.outcome == "denied":
        raise CommandFailed(f"The grants of {outcome.source_id} were not changed: {outcome.reason}.")
    return outcome
