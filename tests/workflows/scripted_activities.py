"""Activities with the real names that follow a script: how many pages there are, where one waits, where one fails."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.contracts import (
    AdvancedCheckpoint,
    BatchRef,
    BeginPass,
    BegunPass,
    EmbeddedBatch,
    EndedPass,
    EndPass,
    ListedPage,
    ListPage,
    PageRef,
    Pass,
    PreparedPage,
    PublishedPage,
)
from workflows import queues
from workflows.sync_corpus import SyncCorpus


@dataclass
class Script:
    """A pass of ``pages`` pages with ``batches`` batches each. Calls are written down as ``name page``."""

    pages: int = 2
    batches: int = 2
    items: int = 100
    calls: list[str] = field(default_factory=list)
    begun: list[BeginPass] = field(default_factory=list)
    ended: list[EndPass] = field(default_factory=list)
    failures: dict[str, list[ApplicationError]] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    reached: dict[str, asyncio.Event] = field(default_factory=dict)
    next_seq: int = 1
    nudges: int = 0  # passes that are asked for while one ends

    def hold(self, call: str) -> tuple[asyncio.Event, asyncio.Event]:
        """Makes ``call`` wait: the event that it was reached, and the one that lets it go on."""
        self.reached[call], self.gates[call] = asyncio.Event(), asyncio.Event()
        return self.reached[call], self.gates[call]

    def count(self, name: str) -> int:
        return Counter(call.split()[0] for call in self.calls)[name]

    async def _call(self, name: str, number: int | str = "") -> None:
        call = f"{name} {number}".strip()
        self.calls.append(call)
        if call in self.reached:
            self.reached[call].set()
        while call in self.gates and not self.gates[call].is_set():
            activity.heartbeat()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.gates[call].wait(), 0.2)
        if self.failures.get(call):
            raise self.failures[call].pop(0)

    @activity.defn(name="begin_pass")
    async def begin_pass(self, wanted: BeginPass) -> BegunPass:
        self.begun.append(wanted)
        await self._call("begin_pass", len(self.begun))
        in_pass = Pass(connector_id=1, pass_no=len(self.begun), fence=1, full=wanted.full)
        return BegunPass(in_pass=in_pass, next_seq=self.next_seq)

    @activity.defn(name="list_page")
    async def list_page(self, wanted: ListPage) -> ListedPage:
        await self._call("list_page", wanted.seq)
        return ListedPage(
            page_id=wanted.seq,
            is_last=wanted.seq >= self.pages,
            items=self.items,
            listed=110,
            skipped=9,
            known_failed=1,
        )

    @activity.defn(name="prepare_page")
    async def prepare_page(self, page: PageRef) -> PreparedPage:
        await self._call("prepare_page", page.page_id)
        return PreparedPage(batches=self.batches)

    @activity.defn(name="embed_batch")
    async def embed_batch(self, batch: BatchRef) -> EmbeddedBatch:
        await self._call("embed_batch", f"{batch.page_id}.{batch.batch_no}")
        return EmbeddedBatch(embedded=120, reused=8)

    @activity.defn(name="publish_page")
    async def publish_page(self, page: PageRef) -> PublishedPage:
        await self._call("publish_page", page.page_id)
        return PublishedPage(
            upserted=90, deleted=4, skipped=3, regranted=5, withheld=1, failed=2, generation=page.page_id
        )

    @activity.defn(name="advance_checkpoint")
    async def advance_checkpoint(self, page: PageRef) -> AdvancedCheckpoint:
        await self._call("advance_checkpoint", page.page_id)
        return AdvancedCheckpoint(version=page.page_id)

    @activity.defn(name="end_pass")
    async def end_pass(self, ended: EndPass) -> EndedPass:
        self.ended.append(ended)
        await self._call("end_pass")
        if self.nudges:
            self.nudges -= 1
            workflow_id = activity.info().workflow_id
            assert workflow_id is not None
            await activity.client().get_workflow_handle(workflow_id).signal("nudge")
        return EndedPass(generation=7, failed=5, withheld={"grants_unreadable": 6})

    @contextlib.asynccontextmanager
    async def served(self, client: Client) -> AsyncIterator[None]:
        """Workers for every queue, playing this script."""
        io: list[Callable[..., Any]] = [self.list_page, self.prepare_page]
        db: list[Callable[..., Any]] = [self.begin_pass, self.publish_page, self.advance_checkpoint, self.end_pass]
        async with (
            Worker(client, task_queue=queues.CONTROL, workflows=[SyncCorpus]),
            Worker(client, task_queue=queues.IO, activities=io),
            Worker(
                client,
                task_queue=queues.EMBED,
                activities=[self.embed_batch],
                max_heartbeat_throttle_interval=timedelta(seconds=0.2),
            ),
            Worker(client, task_queue=queues.DB, activities=db),
        ):
            try:
                yield
            finally:
                # A test that failed must not leave an activity waiting, or the workers would wait for it.
                for gate in self.gates.values():
                    gate.set()
