"""`headwater generation`: what readers see, and what they could be shown instead."""

from collections.abc import Mapping
from typing import Any, Final

import click
from rich.table import Table

from headwater.contracts import SetGenerationInput, SetGenerationResult
from headwater.errors import ValidationError
from headwater.models import Scope
from workers.cli.asking import ask
from workers.cli.console import plain
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, arguments
from workers.cli.named_source import require_corpus
from workers.cli.offering import OfferingGroup
from workers.cli.options import with_corpus, with_json
from workers.cli.question import Question
from workers.cli.services import open_services

LIMIT_MAX: Final = 1_000


@click.group("generation", cls=OfferingGroup, short_help="Look at a corpus's generations, go back, or stay.")
def generation_group() -> None:
    """Every publication and deletion of a corpus is a generation. Readers see the last one, unless they are told otherwise.

    Grants, revocations and deletions count as they are now, whatever generation readers see.
    """


@generation_group.command("list", short_help="Show the generations that readers can be shown.")
@with_corpus
@click.option(
    "--limit",
    type=click.IntRange(1, LIMIT_MAX),
    default=50,
    show_default=True,
    metavar="N",
    help="How many, beginning with the newest.",
)
@with_json
@pass_invocation
def list_command(invocation: Invocation, *, corpus: str, limit: int, as_json: bool) -> None:
    """Show the generations that readers can be shown, newest first, and which one they see.

    Builds are counted over all corpora, so that those of one have gaps. One is made by `headwater reindex`, in a language.
    What `headwater source propagate` hid is a deletion too.
    """
    from activities.store import Store, generations

    with arguments():
        scope = Scope.parse(corpus)
    invocation.start_logging()
    with (
        open_services(invocation, temporal=False) as services,
        Store.open(services.database_url, schema=services.schema, max_size=1) as store,
    ):
        try:
            listing = generations.listing(store, scope, limit=limit)
        except ValidationError as error:  # the argument is right; there is nothing to show
            raise CommandFailed(str(error)) from error
    if as_json:
        invocation.output.json(listing)
        return
    if listing["generations"]:
        invocation.output.out.print(table(listing))
    pinned = ", pinned" if listing["pinned"] else ""
    invocation.output.line(
        f"Readers of {scope} see generation {listing['live_generation']} of build {listing['live_build']}{pinned}; "
        f"{listing['oldest_generation']} to {listing['head_generation']} can be shown."
    )


def table(listing: Mapping[str, Any]) -> Table:
    """The listing for a person. The arrow is where readers are."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "generation", "build", "language", "kind", "documents", "at"):
        shown.add_column(heading, justify="right" if heading in ("generation", "build", "documents") else "left")
    live = max(
        (row["generation"] for row in listing["generations"] if row["generation"] <= listing["live_generation"]),
        default=None,
    )
    for row in listing["generations"]:
        arrow = "→" if row["generation"] == live else ""
        values = (
            arrow,
            row["generation"],
            row["build"],
            row["language"] or "no words yet",
            row["kind"],
            f"{row['sources']:,}",
            row["at"],
        )
        shown.add_row(*(plain(str(value)) for value in values))
    return shown


@generation_group.command("rollback", short_help="Show readers an older generation, or a newer one again.")
@click.argument("generation", metavar="N", type=click.IntRange(min=0))
@with_corpus
@with_json
@pass_invocation
def rollback_command(invocation: Invocation, *, generation: int, corpus: str, as_json: bool) -> None:
    """Show readers generation N, under today's grants and deletions. The next publication goes on from there.

    Documents that then show an older text are stale; a sync reads them again, and with --full all others too. To keep readers
    there while publishing goes on, pin the corpus.
    """
    result = _set(invocation, corpus, as_json, what="rollback", generation=generation)
    if not as_json:
        invocation.output.line(_shown(corpus, result))
        if result.stale:
            invocation.output.note(
                f"{result.stale:,} {'document shows' if result.stale == 1 else 'documents show'} an older text than the newest, "
                f"or none: the next sync reads those of a folder again (`headwater sync folder PATH --corpus {corpus} --full` "
                "all of them), and what a host pushed comes back when it is pushed again; or roll forward."
            )


@generation_group.command("pin", short_help="Keep readers where they are while publishing goes on.")
@with_corpus
@with_json
@pass_invocation
def pin_command(invocation: Invocation, *, corpus: str, as_json: bool) -> None:
    """Keep readers where they are while publishing goes on. Deletions and grants act at once all the same."""
    result = _set(invocation, corpus, as_json, what="pin", pin=True)
    if not as_json:
        invocation.output.line(_shown(corpus, result))


@generation_group.command("unpin", short_help="Show readers the newest state, and every publication from now on.")
@with_corpus
@with_json
@pass_invocation
def unpin_command(invocation: Invocation, *, corpus: str, as_json: bool) -> None:
    """Show readers the newest state of the corpus, and every publication from now on."""
    result = _set(invocation, corpus, as_json, what="unpin", pin=False)
    if not as_json:
        invocation.output.line(_shown(corpus, result))


def _set(
    invocation: Invocation,
    corpus: str,
    as_json: bool,
    *,
    what: str,
    generation: int | None = None,
    pin: bool | None = None,
) -> SetGenerationResult:
    from activities.store import Store

    with arguments():
        wanted = SetGenerationInput(
            scope=Scope.parse(corpus), requested_by=f"headwater generation {what}", generation=generation, pin=pin
        )
    invocation.start_logging()
    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        require_corpus(store, wanted.scope)
        result = ask(invocation, services, store, Question("SetGeneration", wanted, SetGenerationResult, what=what))
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    return result


def _shown(corpus: str, result: SetGenerationResult) -> str:
    stay = ", and stay there" if result.pinned else ""
    return f"Readers of {corpus} see generation {result.generation} of build {result.build}{stay}."
