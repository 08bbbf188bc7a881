"""The activities of a re-index with their real names, following a script: rounds of pages, flips that are not level, faults."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.contracts import BatchRef, Done, EmbeddedBatch
from activities.contracts.reindex import (
    BeginReindex,
    BegunReindex,
    BuildRef,
    FlippedBuild,
    GreenPageRef,
    ListedGreen,
    ListGreen,
    PublishedGreen,
    PublishGreen,
    RetireBuildInput,
    RetiredBuild,
    StagedGreen,
)
from workflows import queues
from workflows.reindex_corpus import ReindexCorpus
from workflows.retire_build import RetireBuild


@dataclass
class ReindexScript:
    """``rounds`` says how many pages each round lists; the flip after the last of them is level. Calls are written down."""

    rounds: Sequence[int] = (2,)
    batches: int = 2
    begun: BegunReindex = field(
        default_factory=lambda: BegunReindex(tenant_id="t1", build_id=2, slab=0, retire_after_s=3_600.0)
    )
    left_s: list[float] = field(default_factory=lambda: [0.0])  # of each look at the build to retire
    calls: list[str] = field(default_factory=list)
    wanted: list[BeginReindex] = field(default_factory=list)
    failures: dict[str, list[ApplicationError]] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    reached: dict[str, asyncio.Event] = field(default_factory=dict)
    listed: int = 0
    next_seq: int = 1

    def hold(self, call: str) -> tuple[asyncio.Event, asyncio.Event]:
        """Makes ``call`` wait: the event that it was reached, and the one that lets it go on."""
        self.reached[call], self.gates[call] = asyncio.Event(), asyncio.Event()
        return self.reached[call], self.gates[call]

    async def _call(self, *words: object) -> None:
        call = " ".join(map(str, words))
        self.calls.append(call)
        if call in self.reached:
            self.reached[call].set()
        while call in self.gates and not self.gates[call].is_set():
            activity.heartbeat()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.gates[call].wait(), 0.2)
        if self.failures.get(call):
            raise self.failures[call].pop(0)

    @activity.defn(name="begin_reindex")
    async def begin_reindex(self, wanted: BeginReindex) -> BegunReindex:
        self.wanted.append(wanted)
        await self._call("begin_reindex")
        return self.begun

    @activity.defn(name="list_green")
    async def list_green(self, wanted: ListGreen) -> ListedGreen:
        await self._call("list_green", wanted.round_no, *(["held"] if wanted.hold else []))
        pages = self.rounds[self.listed] if self.listed < len(self.rounds) else 0
        self.listed += 1
        first, self.next_seq = self.next_seq, self.next_seq + pages
        return ListedGreen(first_seq=first, last_seq=self.next_seq - 1, pages=pages)

    @activity.defn(name="stage_green")
    async def stage_green(self, page: GreenPageRef) -> StagedGreen:
        await self._call("stage_green", page.seq)
        return StagedGreen(page_id=page.seq, batches=self.batches)

    @activity.defn(name="embed_batch")
    async def embed_batch(self, batch: BatchRef) -> EmbeddedBatch:
        await self._call("embed_batch", f"{batch.page_id}.{batch.batch_no}")
        return EmbeddedBatch(embedded=120, reused=8)

    @activity.defn(name="publish_green")
    async def publish_green(self, page: PublishGreen) -> PublishedGreen:
        await self._call("publish_green", page.page_id)
        return PublishedGreen(sources=100, chunks=256, failed=1)

    @activity.defn(name="index_slab")
    async def index_slab(self, build: BuildRef) -> Done:
        await self._call("index_slab")
        return Done()

    @activity.defn(name="flip_build")
    async def flip_build(self, build: BuildRef) -> FlippedBuild:
        await self._call("flip_build")
        if self.listed < len(self.rounds):
            return FlippedBuild(missing=3)
        return FlippedBuild(generation=7, former=1, sources=200, chunks=512)

    @activity.defn(name="abort_reindex")
    async def abort_reindex(self, build: BuildRef) -> Done:
        await self._call("abort_reindex", build.build_id)
        return Done()

    @activity.defn(name="retire_build")
    async def retire_build(self, retired: RetireBuildInput) -> RetiredBuild:
        await self._call("retire_build", retired.build_id)
        return RetiredBuild(left_s=self.left_s.pop(0))

    @contextlib.asynccontextmanager
    async def served(self, client: Client) -> AsyncIterator[None]:
        """Workers for every queue, playing this script."""
        io: list[Callable[..., Any]] = [self.begin_reindex, self.stage_green, self.index_slab]
        db: list[Callable[..., Any]] = [
            self.list_green,
            self.publish_green,
            self.flip_build,
            self.abort_reindex,
            self.retire_build,
        ]
        beat = timedelta(seconds=0.2)
        async with (
            Worker(client, task_queue=queues.CONTROL, workflows=[ReindexCorpus, RetireBuild]),
            Worker(client, task_queue=queues.IO, activities=io),
            Worker(
                client, task_queue=queues.EMBED, activities=[self.embed_batch], max_heartbeat_throttle_interval=beat
            ),
            Worker(client, task_queue=queues.DB, activities=db),
        ):
            try:
                yield
            finally:
                # A test that failed must not leave an activity waiting, or the workers would wait for it.
                for gate in self.gates.values():
                    gate.set()
