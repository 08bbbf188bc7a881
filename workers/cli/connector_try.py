"""`headwater connector test`: whether a connector's origin can be listed, in one sentence."""

import click

from activities.contracts.connectors import TriedConnector, TryConnectorInput
from headwater.models import Scope
from workers.cli.asking import ask
from workers.cli.context import Invocation, pass_invocation
from workers.cli.denials import withheld_lines
from workers.cli.errors import CommandFailed
from workers.cli.named_connector import find_named, parse_name, with_own_corpus
from workers.cli.options import with_json
from workers.cli.question import Question
from workers.cli.services import open_services


@click.command("test", short_help="See whether a connector's source can be listed.")
@click.argument("name", metavar="NAME")
@with_own_corpus
@with_json
@pass_invocation
def test_command(invocation: Invocation, *, name: str, corpus: str | None, as_json: bool) -> None:
    """See whether the source of the connector NAME can be listed from where the workers are, and say what was found or what is wrong.

    Only the beginning is listed; nothing is read, and nothing is changed.
    """
    scope = parse_name(name, corpus)
    invocation.start_logging()
    from activities.store import Store

    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        found = find_named(store, name, scope)
        wanted = TryConnectorInput(scope=found.scope, connector=name, requested_by="headwater connector test")
        question = Question("TryConnector", wanted, TriedConnector, what="trial", roles=("control", "io"))
        tried = ask(invocation, services, store, question)
    if as_json:
        invocation.output.json({"corpus": str(found.scope), "connector": name, **tried.model_dump(mode="json")})
    if tried.unlisted and not tried.listed:
        raise CommandFailed(said(found.scope, name, tried))
    if not as_json:
        invocation.output.line(said(found.scope, name, tried))
        for line in withheld_lines(tried.withheld, account=tried.account):
            invocation.output.line(f"  {line}")


def said(scope: Scope, name: str, tried: TriedConnector) -> str:
    """What was found, in one sentence."""
    connector = f"Connector {name} ({tried.kind}) of {scope}"
    lacks = _unlisted(tried)
    if lacks and not tried.listed:
        return f"{connector} answers, and nothing of it can be listed: {lacks}."
    documents = "1 document" if tried.listed == 1 else f"{tried.listed:,} documents"
    if tried.listed:
        what = f"it lists {documents}{'' if tried.is_all else ' to begin with'}"
    else:
        what = "it holds no document" if tried.is_all else "it answers, and has listed no document yet"
    if tried.withheld:
        what += f", of which nobody may find {sum(tried.withheld.values()):,}"
    return f"{connector} can be reached: {what}{f'; but it could not list {lacks}' if lacks else ''}."


def _unlisted(tried: TriedConnector) -> str:
    if not tried.unlisted:
        return ""
    first, others = tried.unlisted[0], len(tried.unlisted) - 1
    return f"{first.path or 'a part'} ({first.reason.rstrip('.')})" + (f" nor {others} more" if others else "")
