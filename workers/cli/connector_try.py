"""`headwater connector test`: whether a connector's origin can be listed, in one sentence."""

import click

from activities.contracts.connectors import TriedConnector, TryConnectorInput
from headwater.models import Scope
from workers.cli.asking import ask
from workers.cli.context import Invocation, pass_invocation
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

    Only a first page is listed; nothing is read, and nothing is changed.
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
    else:
        invocation.output.line(said(found.scope, name, tried))


def said(scope: Scope, name: str, tried: TriedConnector) -> str:
    """What was found, in one sentence."""
    documents = "1 document" if tried.listed == 1 else f"{tried.listed:,} documents"
    if tried.listed:
        what = f"it lists {documents}{'' if tried.is_all else ' to begin with'}"
    else:
        what = "it holds no document" if tried.is_all else "it answers, and has listed no document yet"
    if tried.withheld:
        reasons = ", ".join(sorted(tried.withheld))
        what += f", of which nobody may find {sum(tried.withheld.values()):,} ({reasons})"
    if tried.unlisted:
        first = tried.unlisted[0]
        what += f"; but it could not list {first.path} ({first.reason.rstrip('.')})"
        what += f" nor {len(tried.unlisted) - 1} more" if len(tried.unlisted) > 1 else ""
    return f"Connector {name} ({tried.kind}) of {scope} can be reached: {what}."
