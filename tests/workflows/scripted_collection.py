"""The activities of collection and of the pointer, under their real names, that follow a script."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.contracts.garbage import CollectedPage, CollectPage, ListedScopes, ListScopes
from activities.contracts.generation import MovePointer
from headwater.contracts import CollectGarbageResult, SetGenerationResult
from headwater.models import Scope
from workflows import queues
from workflows.collect_garbage import CollectGarbage
from workflows.collect_tick import CollectTick
from workflows.set_generation import SetGeneration


def scopes(*names: str) -> list[Scope]:
    return [Scope(tenant_id=name.partition("-")[0], resource_id="docs", corpus_id=name) for name in names]


@workflow.defn(name="ReindexCorpus", sandboxed=False)
class LongReindex:
    """Goes on until somebody ends it."""

    @workflow.run
    async def run(self, raw: dict[str, object]) -> None:
        await workflow.wait_condition(lambda: False)


@dataclass
class CollectionScript:
    """What there is: corpora, how many pages of garbage each has, which of them fail, which have outgrown their place."""

    corpora: list[Scope] = field(default_factory=list)
    outgrown: list[Scope] = field(default_factory=list)
    pages: int = 1
    failing: dict[str, list[ApplicationError]] = field(default_factory=dict)  # by corpus; raised in turn
    held: set[str] = field(default_factory=set)  # corpora whose pages wait for `gate`
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[CollectPage] = field(default_factory=list)
    moves: list[MovePointer] = field(default_factory=list)

    @activity.defn(name="collect_page")
    async def collect_page(self, wanted: CollectPage) -> CollectedPage:
        self.calls.append(wanted)
        name = wanted.scope.corpus_id
        if name in self.held:
            self.reached.set()
            await self.gate.wait()
        if self.failing.get(name):
            raise self.failing[name].pop(0)
        page = int(wanted.step or 0) + 1
        freed = CollectGarbageResult(revisions=2, chunks=10, documents=1, builds=1, oldest_generation=page)
        return CollectedPage(freed=freed, step=None if page >= self.pages else str(page))

    @activity.defn(name="list_scopes")
    async def list_scopes(self, wanted: ListScopes) -> ListedScopes:
        mine = [scope for scope in self.corpora if wanted.tenant_id in ("", scope.tenant_id)]
        first = mine.index(wanted.after) + 1 if wanted.after else 0
        page = mine[first : first + wanted.limit]
        return ListedScopes(scopes=page, is_last=first + wanted.limit >= len(mine))

    @activity.defn(name="list_outgrown")
    async def list_outgrown(self, wanted: ListScopes) -> ListedScopes:
        return ListedScopes(scopes=[scope for scope in self.outgrown if wanted.tenant_id in ("", scope.tenant_id)])

    @activity.defn(name="set_generation")
    async def set_generation(self, wanted: MovePointer) -> SetGenerationResult:
        self.moves.append(wanted)
        if wanted.generation == 99:
            raise ApplicationError("Generation 99 is not there (1 to 3 are).", type="InvalidInput")
        return SetGenerationResult(generation=wanted.generation or 3, build=7, pinned=bool(wanted.pin), stale=2)

    @contextlib.asynccontextmanager
    async def served(self, client: Client) -> AsyncIterator[None]:
        """Workers for both queues, playing this script."""
        workflows = [CollectGarbage, CollectTick, SetGeneration, LongReindex]
        activities: list[Callable[..., Any]] = [
            self.collect_page,
            self.list_scopes,
            self.list_outgrown,
            self.set_generation,
        ]
        async with (
            Worker(client, task_queue=queues.CONTROL, workflows=workflows),
            Worker(client, task_queue=queues.DB, activities=activities),
        ):
            try:
                yield
            finally:
                self.gate.set()
