"""One sync of a connector, waiting for its end, and what a person is told of it: what all `sync` commands share."""

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Final

from headwater.contracts import SyncCorpusInput, SyncResult
from headwater.errors import HeadwaterError
from headwater.models import Scope
from workers.cli.console import Output
from workers.cli.context import Invocation
from workers.cli.denials import withheld_lines
from workers.cli.errors import EXIT_FAILED
from workers.cli.progress import display_for, follow
from workers.cli.services import Services
from workers.settings import Settings

if TYPE_CHECKING:
    from activities.embedder_source import EmbedderSource
    from activities.store import Store
    from activities.store.connectors import ConnectorRow

FAILURES_SHOWN: Final = 10
GARBAGE_PAGES: Final = 50  # of 100 documents: under a second


def sync_once(
    invocation: Invocation,
    services: Services,
    store: "Store",
    embedders: "EmbedderSource",
    row: "ConnectorRow",
    wanted: SyncCorpusInput,
    *,
    strict: bool,
    as_json: bool,
) -> int:
    """The command's exit status, after a pass that began when it was asked for, and all that is said of it.

    What is withheld is no failure, also with ``strict``: it was dealt with as its origin says. It is told of in every sync.
    """
    scope = wanted.scope
    result = asyncio.run(_sync(invocation, services, store, embedders, row, wanted, quiet=as_json))
    if not services.has_workers:
        collect_little(store, scope, invocation.settings)
    held_at = pinned_generation(store, scope)
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    else:
        report(invocation.output, result)
    if held_at is not None:
        invocation.output.note(
            f"The corpus is pinned: readers stay at generation {held_at}; `headwater generation unpin --corpus "
            f"{scope}` shows them what was published since."
        )
    return EXIT_FAILED if strict and result.failed else 0


async def _sync(
    invocation: Invocation,
    services: Services,
    store: "Store",
    embedders: "EmbedderSource",
    row: "ConnectorRow",
    wanted: SyncCorpusInput,
    *,
    quiet: bool,
) -> SyncResult:
    from activities.store.progress import pass_progress
    from workers.cli.syncing import Sync
    from workers.cli.waiting import wait_for
    from workers.cli.working import working

    async with AsyncExitStack() as stack:
        display = stack.enter_context(display_for(invocation.output, quiet=quiet))
        work = await stack.enter_async_context(working(invocation, services, store, what="sync", embedders=embedders))
        watching = asyncio.create_task(
            follow(display, lambda: pass_progress(store, row.connector_id), say=invocation.output.note)
        )
        stack.callback(watching.cancel)
        result = await wait_for(
            Sync(work.client, wanted), stop=work.stop, trouble=work.trouble, on_stopping=invocation.output.note
        )
        if display is not None:
            # A quick sync ends between two looks; whoever watches sees where it ended all the same.
            with suppress(HeadwaterError):
                display.show(await asyncio.to_thread(pass_progress, store, row.connector_id), is_last=True)
        return result


def pinned_generation(store: "Store", scope: Scope) -> int | None:
    """Where readers are held; None where they follow."""
    from activities.store.status import pinned_generation as pinned

    with suppress(HeadwaterError):  # the sync is done, whatever can be said beside it
        return pinned(store, scope)
    return None


def collect_little(store: "Store", scope: Scope, settings: Settings) -> None:
    """Nobody stays who would collect garbage on a schedule, so that each sync ends with some of it."""
    from activities.store.garbage import garbage

    keep = garbage.Keep(generations=settings.keep_generations, seconds=settings.keep_days * 86_400)
    # The documents are in: that some garbage stays until the next sync is no failure of this one.
    with suppress(HeadwaterError):
        garbage.collect_little(store, scope, keep, transactions=GARBAGE_PAGES)


def report(output: Output, result: SyncResult) -> None:
    """The result for a person: counts on stdout, what is withheld and what failed with their reasons."""
    withheld = sum(result.withheld_reasons.values())
    chunks = "chunk" if result.embedded_chunks == 1 else "chunks"
    counts = (
        f"{result.upserted:,} published",
        f"{result.skipped:,} unchanged",
        *([f"{result.regranted:,} with other readers"] if result.regranted else ()),
        f"{result.deleted:,} deleted",
        *([f"{withheld:,} withheld"] if withheld else ()),
        f"{result.failed:,} failed",
    )
    output.line(
        f"{result.corpus}, connector {result.connector}: {', '.join(counts)}; {result.embedded_chunks:,} {chunks} embedded, "
        f"{result.reused_chunks:,} reused; generation {result.generation}."
    )
    for line in withheld_lines(result.withheld_reasons):
        output.line(f"  {line}")
    shown = result.failures[:FAILURES_SHOWN]
    for failure in shown:
        output.line(f"  {failure.state}: {failure.source_id}: {failure.reason or 'no reason recorded'}")
    if result.failed > len(shown):
        output.line(
            f"  and {result.failed - len(shown):,} more: headwater status --corpus {result.corpus} --state STATE"
        )
