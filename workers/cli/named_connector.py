"""The connector that a command names, in the corpus that it names or in the only one that has it."""

from typing import TYPE_CHECKING, Final

import click

from headwater.ids import check_scope_part
from headwater.models import Scope
from workers.cli.errors import CommandFailed, WrongUsage, arguments

if TYPE_CHECKING:
    from activities.store import Store
    from activities.store.connectors import PlacedConnector

with_own_corpus: Final = click.option(
    "--corpus", metavar="T/R/C", help="The connector's corpus; needed where several have a connector of that name."
)


def parse_name(name: str, corpus: str | None) -> Scope | None:
    """The corpus, if one is given, of a connector whose name is one. Raises `WrongUsage`."""
    with arguments():
        check_scope_part(name, "connector")
        return None if corpus is None else Scope.parse(corpus)


def find_named(store: "Store", name: str, scope: Scope | None) -> "PlacedConnector":
    """The connector. One that several corpora have is wrong usage without ``scope``; one that is nowhere fails."""
    from activities.store.connectors import placed_connectors

    found = placed_connectors(store, scope=scope, name=name)
    if not found:
        where = f"Corpus {scope} has no connector" if scope else "There is no connector"
        raise CommandFailed(f"{where} {name}: `headwater connector list` lists those that there are.")
    if len(found) > 1:
        corpora = ", ".join(str(each.scope) for each in found[:4]) + (", …" if len(found) > 4 else "")
        raise WrongUsage(f"Connectors of several corpora are named {name} ({corpora}): say which with --corpus.")
    return found[0]
