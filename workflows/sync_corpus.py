"""`SyncCorpus`: brings a corpus up to date with one connector, page by page.

List a page, prepare it, embed it, publish it, move the checkpoint; the next page is prepared while one embeds. Whoever
asks for a sync while one runs gets a pass that begins after they asked. A pass whose cursor its origin has forgotten begins
anew, once.
"""

import asyncio
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.contracts import (
        AdvancedCheckpoint,
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
    )
    from headwater.contracts import SyncCorpusInput, SyncNow, SyncResult, SyncStatus
    from workflows.act import act
    from workflows.embed_page import embed_page
    from workflows.failures import cause_of
    from workflows.inputs import parse_input
    from workflows.publish_staged import publish_staged

# A history that grows without end is ended by the server: a run goes on in a new one after this much.
PAGES_A_RUN: Final = 50
PASSES_A_RUN: Final = 50
CANCELLED: Final = "The sync was cancelled."


class Carried(BaseModel):
    """What a run hands to the next one when its history has grown long."""

    in_pass: Pass | None = None
    next_seq: int = 1
    counts: SyncStatus = SyncStatus()
    begun: int = 0  # passes begun
    anew: int = 0  # of those, begun in place of one whose cursor its origin had forgotten
    is_anew: bool = False  # the pass is such a one: it does not begin anew once more
    wanted: int = 1  # passes asked for
    wants_full: bool = False  # the next pass reads everything
    last: SyncResult | None = None


@workflow.defn(name="SyncCorpus")
class SyncCorpus:
    @workflow.init
    def __init__(self, raw: Any = None, carried: Carried | None = None) -> None:
        self._carried = carried or Carried()
        self._ended = self._carried.begun - (self._carried.in_pass is not None)
        self._hands_over = False
        self._failure: ApplicationError | None = None

    @workflow.run
    async def run(self, raw: Any = None, carried: Carried | None = None) -> SyncResult:
        try:
            return await self._run(parse_input(SyncCorpusInput, raw), raw)
        except (ActivityError, ApplicationError, asyncio.CancelledError) as error:
            # Those who wait for a result are told why there will be none.
            self._failure = cause_of(error, cancelled=CANCELLED)
            await workflow.wait_condition(workflow.all_handlers_finished)
            if is_cancelled_exception(error):
                raise
            raise self._failure from None

    async def _run(self, request: SyncCorpusInput, raw: Any) -> SyncResult:
        passes_before = self._ended
        while True:
            if self._ended - passes_before >= PASSES_A_RUN:
                await self._hand_over(raw)
            self._carried.last = result = await self._one_pass(request, raw)
            self._ended = self._carried.begun
            if self._carried.wanted <= self._ended:
                # Everybody who waits has a result; one who asks while they are told it gets a pass of his own.
                await workflow.wait_condition(workflow.all_handlers_finished)
            if self._carried.wanted <= self._ended:
                return result

    @workflow.signal
    def nudge(self) -> None:
        """Something changed at the origin: one more pass. What the sender says about it is never believed."""
        self._carried.wanted = max(self._carried.wanted, self._carried.begun + 1)

    @workflow.update
    async def sync_now(self, ask: dict[str, Any] | None = None) -> SyncNow:
        """The result of a pass that begins after this was asked.

        ``ask`` may hold ``full``, and the ``ticket`` of an earlier answer without a result.
        """
        ask = ask or {}
        ticket = ask.get("ticket")
        if not isinstance(ticket, int) or not 1 <= ticket <= self._carried.begun + 1:
            ticket = self._carried.begun + 1
            self._carried.wants_full |= ask.get("full") is True
        self._carried.wanted = max(self._carried.wanted, ticket)
        await workflow.wait_condition(lambda: self._ended >= ticket or self._hands_over or self._failure is not None)
        if self._failure is not None and self._ended < ticket:
            raise self._failure
        return SyncNow(ticket=ticket, result=self._carried.last if self._ended >= ticket else None)

    @workflow.query
    def status(self) -> SyncStatus:
        return self._carried.counts

    async def _one_pass(self, request: SyncCorpusInput, raw: Any) -> SyncResult:
        in_pass = self._carried.in_pass or await self._begin(request)
        try:
            exhausted = await self._walk(request, raw, in_pass)
        except (ActivityError, ApplicationError, asyncio.CancelledError) as error:
            # Cancelled or failed, the lease is given back and the connector says why it stopped.
            cause = cause_of(error, cancelled=CANCELLED)
            begins_anew = (
                cause.type == "InvalidCursor" and request.on_invalid_cursor == "resync" and not self._carried.is_anew
            )
            failed = EndPass(in_pass=in_pass, error=cause.message, forget_cursor=begins_anew)
            await act("end_pass", failed, EndedPass)
            if not begins_anew:
                raise
        else:
            return await self._end(request, in_pass, exhausted=exhausted)
        self._carried.in_pass, self._carried.is_anew = None, True
        self._carried.wants_full |= in_pass.full
        return await self._one_pass(request, raw)

    async def _end(self, request: SyncCorpusInput, in_pass: Pass, *, exhausted: bool) -> SyncResult:
        ended = await act("end_pass", EndPass(in_pass=in_pass, paused=not exhausted), EndedPass)
        self._carried.in_pass, self._carried.is_anew = None, False
        counts = self._carried.counts
        counts.phase, counts.failed = "done", ended.failed
        return SyncResult(
            corpus=str(request.scope),
            connector=request.connector,
            pages=counts.pages,
            upserted=counts.upserted,
            deleted=counts.deleted,
            skipped=counts.skipped,
            regranted=counts.regranted,
            withheld=counts.withheld,
            failed=ended.failed,
            embedded_chunks=counts.embedded_chunks,
            reused_chunks=counts.reused_chunks,
            exhausted=exhausted,
            generation=ended.generation,
            failures=ended.failures,
            withheld_reasons=ended.withheld,
        )

    async def _begin(self, request: SyncCorpusInput) -> Pass:
        # Counted before the first await: whoever asks from here on gets the pass after this one.
        self._carried.begun += 1
        self._carried.anew += self._carried.is_anew
        full = self._carried.wants_full or (request.full and self._is_first)
        self._carried.wants_full = False
        # What was published before a pass began anew is counted with it.
        counts = self._carried.counts if self._carried.is_anew else SyncStatus()
        self._carried.counts = counts.model_copy(update={"phase": "listing"})
        info = workflow.info()
        begun = await act(
            "begin_pass",
            BeginPass(
                scope=request.scope,
                connector=request.connector,
                workflow_id=info.workflow_id,
                run_id=info.first_execution_run_id,
                begun=self._carried.begun,
                full=full,
                requested_by=request.requested_by,
            ),
            BegunPass,
        )
        self._carried.in_pass, self._carried.next_seq = begun.in_pass, begun.next_seq
        self._carried.counts.pass_no = begun.in_pass.pass_no
        return begun.in_pass

    @property
    def _is_first(self) -> bool:
        """Whether the pass is the one that the input asked for."""
        return self._carried.begun - self._carried.anew == 1

    async def _walk(self, request: SyncCorpusInput, raw: Any, in_pass: Pass) -> bool:
        """Publishes the pages of the pass in order; whether the listing came to its end."""
        counts, pages_before = self._carried.counts, self._carried.counts.pages
        listed, batches = await self._prepare(request, in_pass, self._carried.next_seq)
        while True:
            pages = counts.pages + 1
            # Only the pass that the input asked for stops early; whoever asked later wants all of it.
            is_end = listed.is_last or (self._is_first and pages == request.max_pages)
            is_long = pages - pages_before >= PAGES_A_RUN or workflow.info().is_continue_as_new_suggested()
            following = (
                None
                if is_end or is_long
                else asyncio.create_task(self._prepare(request, in_pass, self._carried.next_seq + 1))
            )
            try:
                await self._embed(PageRef(in_pass=in_pass, page_id=listed.page_id), batches)
                await self._publish(in_pass, listed)
                if following is None:
                    break
                listed, batches = await following
            finally:
                if following is not None:
                    following.cancel()
        if not is_end:
            await self._hand_over(raw)
        return listed.is_last

    async def _prepare(self, request: SyncCorpusInput, in_pass: Pass, seq: int) -> tuple[ListedPage, int]:
        """Page ``seq`` listed and read, and the number of its embed batches."""
        counts = self._carried.counts
        wanted = ListPage(in_pass=in_pass, seq=seq, page_size=request.page_size)
        listed = await act("list_page", wanted, ListedPage, summary=f"page {seq}")
        counts.listed += listed.listed
        counts.skipped += listed.skipped
        counts.failed += listed.known_failed
        if listed.items == 0:
            return listed, 0
        counts.phase = "preparing"
        page = PageRef(in_pass=in_pass, page_id=listed.page_id)
        prepared = await act("prepare_page", page, PreparedPage, summary=f"page {seq}")
        return listed, prepared.batches

    async def _embed(self, page: PageRef, batches: int) -> None:
        counts = self._carried.counts

        def count(done: EmbeddedBatch) -> None:
            counts.embedded_chunks += done.embedded
            counts.reused_chunks += done.reused

        if batches:
            counts.phase = "embedding"
        await embed_page(page, batches, heard=count)

    async def _publish(self, in_pass: Pass, listed: ListedPage) -> None:
        counts = self._carried.counts
        counts.phase = "publishing"
        page = PageRef(in_pass=in_pass, page_id=listed.page_id)

        async def embed_again(batches: int) -> None:
            await self._embed(page, batches)
            counts.phase = "publishing"

        published = await publish_staged(page, embed_again)
        await act("advance_checkpoint", page, AdvancedCheckpoint)
        counts.pages += 1
        counts.upserted += published.upserted
        counts.deleted += published.deleted
        counts.skipped += published.skipped
        counts.failed += published.failed
        counts.regranted += published.regranted
        counts.withheld += published.withheld
        self._carried.next_seq += 1

    async def _hand_over(self, raw: Any) -> None:
        """Goes on in a new run with a short history. Those who wait are told to ask the new run."""
        self._hands_over = True
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new(args=[raw, self._carried])
