"""The activities of `RemoveConnector` and `TryConnector`, under their real names, that follow a script."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.contracts import (
    AdvancedCheckpoint,
    BeginPass,
    BegunPass,
    EndedPass,
    EndPass,
    ListedPage,
    ListPage,
    PageRef,
    Pass,
    PreparedPage,
    PublishedPage,
)
from activities.contracts.connectors import (
    DropConnector,
    KeepSources,
    KeptSources,
    RemovedConnector,
    RemovedSchedule,
    RemoveSchedule,
    TriedConnector,
    TryConnectorInput,
)
from workflows import queues
from workflows.remove_connector import RemoveConnector
from workflows.try_connector import TryConnector


@dataclass
class ConnectorScript:
    """A connector with ``pages`` pages of sources. Calls are written down by name."""

    pages: int = 1
    failures: dict[str, list[ApplicationError]] = field(default_factory=dict)  # by activity; raised in turn
    stale_builds: int = 0  # pages that are published for a build that nobody sees any more
    calls: list[str] = field(default_factory=list)
    begun: list[BeginPass] = field(default_factory=list)
    ended: list[EndPass] = field(default_factory=list)
    dropped: list[DropConnector] = field(default_factory=list)
    held: str | None = None  # an activity that waits for `gate`
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.held:
            self.reached.set()
            await self.gate.wait()
        if self.failures.get(name):
            raise self.failures[name].pop(0)

    @activity.defn(name="begin_removal")
    async def begin_removal(self, wanted: BeginPass) -> BegunPass:
        self.begun.append(wanted)
        await self._call("begin_removal")
        return BegunPass(in_pass=Pass(connector_id=1, pass_no=4, fence=9, full=True, tenant_id="t1"), next_seq=1)

    @activity.defn(name="sweep_page")
    async def sweep_page(self, wanted: ListPage) -> ListedPage:
        await self._call("sweep_page")
        return ListedPage(page_id=wanted.seq, is_last=wanted.seq >= self.pages, items=wanted.page_size)

    @activity.defn(name="publish_page")
    async def publish_page(self, page: PageRef) -> PublishedPage:
        await self._call("publish_page")
        if self.stale_builds:
            self.stale_builds -= 1
            return PublishedPage(is_stale_build=True)
        return PublishedPage(deleted=10)

    @activity.defn(name="restage_page")
    async def restage_page(self, page: PageRef) -> PreparedPage:
        await self._call("restage_page")
        return PreparedPage()

    @activity.defn(name="advance_checkpoint")
    async def advance_checkpoint(self, page: PageRef) -> AdvancedCheckpoint:
        await self._call("advance_checkpoint")
        return AdvancedCheckpoint(version=page.page_id)

    @activity.defn(name="keep_sources")
    async def keep_sources(self, wanted: KeepSources) -> KeptSources:
        await self._call("keep_sources")
        return KeptSources(after=wanted.after + 500 if wanted.after < 500 * (self.pages - 1) else None)

    @activity.defn(name="drop_connector")
    async def drop_connector(self, wanted: DropConnector) -> RemovedConnector:
        self.dropped.append(wanted)
        await self._call("drop_connector")
        return RemovedConnector(kept=3, deleted=wanted.deleted)

    @activity.defn(name="end_pass")
    async def end_pass(self, ended: EndPass) -> EndedPass:
        self.ended.append(ended)
        await self._call("end_pass")
        return EndedPass()

    @activity.defn(name="remove_schedule")
    async def remove_schedule(self, wanted: RemoveSchedule) -> RemovedSchedule:
        await self._call("remove_schedule")
        return RemovedSchedule(existed=True)

    @activity.defn(name="try_connector")
    async def try_connector(self, wanted: TryConnectorInput) -> TriedConnector:
        await self._call("try_connector")
        return TriedConnector(kind="folder", listed=3, is_all=True)

    @contextlib.asynccontextmanager
    async def served(self, client: Client) -> AsyncIterator[None]:
        """Workers for every queue, playing this script."""
        io: list[Callable[..., Any]] = [self.restage_page, self.try_connector]
        db: list[Callable[..., Any]] = [
            self.begin_removal,
            self.sweep_page,
            self.publish_page,
            self.advance_checkpoint,
            self.keep_sources,
            self.drop_connector,
            self.remove_schedule,
            self.end_pass,
        ]
        async with (
            Worker(client, task_queue=queues.CONTROL, workflows=[RemoveConnector, TryConnector]),
            Worker(client, task_queue=queues.IO, activities=io),
            Worker(client, task_queue=queues.DB, activities=db),
        ):
            try:
                yield
            finally:
                self.gate.set()
