"""`ReindexCorpus`: a second build of a corpus from its stored texts, and the flip to it once it holds what readers see.

Round after round of listing what the build lacks, filling it page by page, and trying to flip; what is published meanwhile is
the next round's. In the last round publishing is held for a moment. Then the former build is retired after a timer.
"""

import asyncio
from typing import Any, Final

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.contracts import Done, EmbeddedBatch, PageRef
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
        ReindexOrder,
        RetireBuildInput,
        StagedGreen,
    )
    from headwater.contracts.reindex import ReindexCorpusResult, ReindexProgress
    from headwater.workflow_ids import request_workflow_id
    from workflows.act import BEHIND_ALL_OTHERS, act
    from workflows.embed_page import embed_page
    from workflows.failures import cause_of
    from workflows.inputs import parse_input

ROUNDS: Final = 5  # before publishing is held
PAGES_A_RUN: Final = 50


class CarriedReindex(BaseModel):
    """What a run hands to the next one when its history has grown long."""

    begun: BegunReindex | None = None
    round_no: int = 0
    next_seq: int = 0
    last_seq: int = -1
    is_indexed: bool = False
    counts: ReindexProgress = ReindexProgress()


@workflow.defn(name="ReindexCorpus")
class ReindexCorpus:
    @workflow.init
    def __init__(self, raw: Any = None, carried: CarriedReindex | None = None) -> None:
        self._carried = carried or CarriedReindex()
        self._is_aborted = False
        self._is_over = False

    @workflow.run
    async def run(self, raw: Any = None, carried: CarriedReindex | None = None) -> ReindexCorpusResult:
        order = parse_input(ReindexOrder, raw)
        work = asyncio.create_task(self._work(order, raw))
        try:
            await workflow.wait_condition(lambda: work.done() or self._is_aborted)
            if self._is_aborted:
                return await self._give_up(order, work)
            return await work
        except (ActivityError, ApplicationError, asyncio.CancelledError) as error:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            self._is_over = True
            await workflow.wait_condition(workflow.all_handlers_finished)
            if is_cancelled_exception(error):
                raise
            raise cause_of(error) from None

    @workflow.update
    async def abort(self, ask: dict[str, Any] | None = None) -> ReindexProgress:
        """Stops between two batches and gives the build up. Too late once the flip has begun."""
        if self._carried.counts.phase in ("flipping", "done") or self._is_over:
            raise ApplicationError(
                "It is too late to abort: readers are being moved to the new build. Roll back to the generation before it.",
                type="TooLate",
                non_retryable=True,
            )
        self._is_aborted = True
        await workflow.wait_condition(lambda: self._is_over)
        return self._carried.counts

    @workflow.query
    def progress(self) -> ReindexProgress:
        return self._carried.counts

    async def _work(self, order: ReindexOrder, raw: Any) -> ReindexCorpusResult:
        begun = self._carried.begun or await self._begin(order)
        if begun.is_live:
            self._note(phase="done")
            return self._result(begun.build_id, begun.generation, begun.sources, begun.chunks)
        build = BuildRef(
            tenant_id=order.scope.tenant_id, build_id=begun.build_id, requested_by=order.requested_by
        )  # fmt: skip
        while True:
            await self._round(build, raw)
            if begun.slab and not self._carried.is_indexed:
                self._note(phase="indexing")
                await act("index_slab", build, Done)
                self._carried.is_indexed = True
            self._note(phase="flipping")
            flipped = await act("flip_build", build, FlippedBuild)
            if flipped.generation is not None:
                break
            if self._carried.round_no > ROUNDS:
                raise ApplicationError(
                    f"The new build did not come level within {ROUNDS} rounds, nor while publishing was held: "
                    f"{flipped.missing} documents changed faster than they were carried over. Run the re-index again when "
                    "less is published: it goes on where this one stopped.",
                    type="NotLevel",
                    non_retryable=True,
                )
            self._note(phase="catching up")
        await self._retire(order, begun, flipped)
        self._note(phase="done", sources=flipped.sources, chunks=flipped.chunks)
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._result(begun.build_id, flipped.generation, flipped.sources, flipped.chunks)

    async def _begin(self, order: ReindexOrder) -> BegunReindex:
        wanted = BeginReindex(
            scope=order.scope,
            embedder=order.embedder,
            chunker=order.chunker,
            language=order.language,
            promote=order.promote,
            retire_after_s=order.retire_after_s,
            requested_by=order.requested_by,
        )
        begun = await act("begin_reindex", wanted, BegunReindex)
        self._carried.begun = begun
        self._note(phase="building", build=begun.build_id, sources=begun.sources, chunks=begun.chunks)
        return begun

    async def _round(self, build: BuildRef, raw: Any) -> None:
        """One round: what the build lacks is listed, and all of it filled. The last one is in a hurry."""
        carried = self._carried
        if carried.next_seq > carried.last_seq:
            carried.round_no += 1
            self._note(round=carried.round_no)
            wanted = ListGreen(
                **build.model_dump(), round_no=carried.round_no, hold=carried.round_no > ROUNDS
            )  # fmt: skip
            listed = await act("list_green", wanted, ListedGreen, summary=f"round {carried.round_no}")
            carried.next_seq, carried.last_seq = listed.first_seq, listed.last_seq
            if not listed.pages:
                return
        priority = Priority.default if carried.round_no > ROUNDS else BEHIND_ALL_OTHERS
        pages = 0
        staged = await self._stage(build, carried.next_seq, priority)
        while True:
            following = (
                None
                if carried.next_seq == carried.last_seq
                else asyncio.create_task(self._stage(build, carried.next_seq + 1, priority))
            )
            try:
                await self._fill(build, staged, priority)
                carried.next_seq += 1
                if following is None:
                    return
                staged = await following
            finally:
                if following is not None:
                    following.cancel()
            pages += 1
            if carried.round_no > ROUNDS:
                continue
            if pages >= PAGES_A_RUN or workflow.info().is_continue_as_new_suggested():
                await self._hand_over(raw)

    async def _stage(self, build: BuildRef, seq: int, priority: Priority) -> StagedGreen:
        page = GreenPageRef(**build.model_dump(), seq=seq)
        return await act("stage_green", page, StagedGreen, summary=f"page {seq}", priority=priority)

    async def _fill(self, build: BuildRef, staged: StagedGreen, priority: Priority) -> None:
        """Vectors for the page's chunks, then its part in the build."""
        if staged.page_id is None:
            return
        page = PageRef(page_id=staged.page_id, tenant_id=build.tenant_id)
        await embed_page(page, staged.batches, heard=self._count, priority=priority)
        published = await act(
            "publish_green", PublishGreen(**build.model_dump(), page_id=staged.page_id), PublishedGreen
        )  # fmt: skip
        counts = self._carried.counts
        self._note(
            sources=counts.sources + published.sources,
            chunks=counts.chunks + published.chunks,
            failed=counts.failed + published.failed,
        )

    async def _retire(self, order: ReindexOrder, begun: BegunReindex, flipped: FlippedBuild) -> None:
        """The former build stays for whoever rolls back, and may be dropped after that. Nobody waits for it here."""
        if flipped.former is None:
            return
        ended = RetireBuildInput(scope=order.scope, build_id=flipped.former, after_s=begun.retire_after_s)
        try:
            await workflow.start_child_workflow(
                "RetireBuild",
                ended,
                id=request_workflow_id("RetireBuild", order.scope, str(flipped.former)),
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            )
        except WorkflowAlreadyStartedError:
            pass  # it was retired before and shown again since: that one looks at when it ended

    async def _give_up(self, order: ReindexOrder, work: "asyncio.Task[ReindexCorpusResult]") -> ReindexCorpusResult:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        begun = self._carried.begun
        if begun is not None and not begun.is_live:
            build = BuildRef(
                tenant_id=order.scope.tenant_id, build_id=begun.build_id, requested_by=order.requested_by
            )  # fmt: skip
            await act("abort_reindex", build, Done)
        self._note(phase="aborted")
        raise ApplicationError(
            "The re-index was aborted; readers stay where they are.", type="Aborted", non_retryable=True
        )

    async def _hand_over(self, raw: Any) -> None:
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new(args=[raw, self._carried])

    def _count(self, done: EmbeddedBatch) -> None:
        counts = self._carried.counts
        self._note(
            embedded_chunks=counts.embedded_chunks + done.embedded, reused_chunks=counts.reused_chunks + done.reused
        )

    def _note(self, **counts: Any) -> None:
        self._carried.counts = self._carried.counts.model_copy(update=counts)

    def _result(self, build: int, generation: int, sources: int, chunks: int) -> ReindexCorpusResult:
        counts = self._carried.counts
        return ReindexCorpusResult(
            build=build,
            generation=generation,
            sources=sources,
            chunks=chunks,
            embedded_chunks=counts.embedded_chunks,
            reused_chunks=counts.reused_chunks,
        )
