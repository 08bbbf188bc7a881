"""`headwater gc`: what no reader can be shown any more is freed now, instead of by the schedule."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from headwater.contracts import CollectGarbageInput, CollectGarbageResult
from headwater.models import Scope
from workers.cli.console import Output
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import arguments
from workers.cli.named_source import require_corpus
from workers.cli.options import with_json
from workers.cli.question import THINKING, Question
from workers.cli.services import Services, open_services

if TYPE_CHECKING:
    from activities.store import Store
    from workers.cli.own_run import OwnRun
    from workers.cli.requesting import Request
    from workers.cli.waiting import Words

SCOPES_A_PAGE = 500


@click.command("gc", short_help="Free what readers can be shown no more.")
@click.option("--corpus", metavar="T/R/C", help="Only of this corpus; by default of all.")
@with_json
@pass_invocation
def gc_command(invocation: Invocation, *, corpus: str | None, as_json: bool) -> None:
    """Free what readers can be shown no more: replaced texts that are older than HEADWATER_KEEP_GENERATIONS and older than
    HEADWATER_KEEP_DAYS, deleted documents, former builds, what was staged and never published.

    Workers do the same by themselves (HEADWATER_COLLECT_EVERY). What readers see, also of a pinned or a rolled back
    corpus, is never freed. Ctrl-C stops between two pages.
    """
    import asyncio

    from activities.store import Store

    with arguments():
        scope = Scope.parse(corpus) if corpus is not None else None
    invocation.start_logging()
    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        if scope is not None:
            require_corpus(store, scope)
        scopes = [scope] if scope is not None else _all(store, invocation.settings.tenants)
        results = asyncio.run(_collect(invocation, services, store, scopes)) if scopes else []
    if as_json:
        corpora = [
            {"corpus": str(of)} | result.model_dump(mode="json") for of, result in zip(scopes, results, strict=True)
        ]
        invocation.output.json({"corpora": corpora})
    else:
        report(invocation.output, scopes, results)


def report(output: Output, scopes: Sequence[Scope], results: Sequence[CollectGarbageResult]) -> None:
    """One line for each corpus."""
    for scope, freed in zip(scopes, results, strict=True):
        output.line(
            f"{scope}: freed {freed.revisions:,} revisions with {freed.chunks:,} chunks and {freed.documents:,} texts, "
            f"{freed.builds:,} builds, {freed.staged:,} staged contents, {freed.requests:,} requests; "
            + (
                f"the oldest generation is {freed.oldest_generation}."
                if freed.oldest_generation
                else "nothing was published yet."
            )
        )
    if not scopes:
        output.line("No corpus yet, so there is no garbage.")


def _all(store: "Store", tenants: Sequence[str]) -> list[Scope]:
    from activities.store.garbage import garbage

    scopes: list[Scope] = []
    while page := garbage.scopes_after(store, scopes[-1] if scopes else None, tenants=tenants, limit=SCOPES_A_PAGE):
        scopes += page
    return scopes


async def _collect(
    invocation: Invocation, services: Services, store: "Store", scopes: Sequence[Scope]
) -> list[CollectGarbageResult]:
    from workers.cli.requesting import Request
    from workers.cli.waiting import wait_for
    from workers.cli.working import working

    async with working(invocation, services, store, what="collection", roles=THINKING) as work:
        requests = [Request(work.client, _question(scope), invocation.output.note) for scope in scopes]
        collections = _OneByOne(requests)
        return await wait_for(collections, stop=work.stop, trouble=work.trouble, on_stopping=invocation.output.note)


def _question(scope: Scope) -> Question[CollectGarbageResult]:
    wanted = CollectGarbageInput(scope=scope, requested_by="headwater gc")
    return Question("CollectGarbage", wanted, CollectGarbageResult, what="collection")


@dataclass
class _OneByOne:
    """Several collections as one thing to wait for: the one that runs is what Ctrl-C stops."""

    requests: "Sequence[Request[CollectGarbageResult]]"
    results: list[CollectGarbageResult] = field(default_factory=list)

    @property
    def _current(self) -> "Request[Any]":
        return self.requests[min(len(self.results), len(self.requests) - 1)]

    @property
    def run(self) -> "OwnRun":
        return self._current.run

    @property
    def words(self) -> "Words":
        return self._current.words

    async def result(self) -> list[CollectGarbageResult]:
        for request in self.requests:
            self.results.append(await request.result())
        return self.results
