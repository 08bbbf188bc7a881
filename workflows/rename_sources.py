"""``RenameSources``: pairs of ids one after the other, or all sources below a prefix, page by page."""

import json
from collections.abc import Mapping
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel, Field

    from activities.contracts.repoint import FAILURES_MAX, MovedPage
    from headwater.contracts import FailedRename, RenameSourcesInput, RenameSourcesResult, RepointResult
    from headwater.contracts.repoint import RECORDS_MAX
    from workflows.inputs import parse_input
    from workflows.moving import Mover, failed_by, is_failure
    from workflows.once import once

# A history that grows without end is ended by the server: a run goes on in a new one after this much.
PAGES_A_RUN: Final = 100
# Temporal carries 2 MiB. The ids may take 1.5 MB of them and their counts half a megabyte; what is left is for the handlers'.
LAYERS_BYTES: Final = 100_000


class Tally(BaseModel):
    """What the pages of a pair did together."""

    sources: int = 0
    chunks: int = 0
    edges: int = 0
    layers: dict[str, int] = Field(default_factory=dict)

    def count(self, page: MovedPage, layers: Mapping[str, int]) -> None:
        self.sources += page.moved_sources
        self.chunks += page.moved_chunks
        self.edges += page.rewritten_edges
        for kind, count in layers.items():
            self.layers[kind] = self.layers.get(kind, 0) + count


class Carried(BaseModel):
    """What a run hands to the next one when its history has grown long."""

    settled: int = 0  # pairs that were moved or failed
    moved: dict[int, Tally] = Field(default_factory=dict)  # those that were moved, by their place
    layers_bytes: int = 0  # of their layers
    page: int = 0  # pages of the pair that is under way
    after: str | None = None  # where it goes on
    tally: Tally = Field(default_factory=Tally)  # what they did
    failures: list[FailedRename] = Field(default_factory=list)
    failed: int = 0

    def settle(self, *, is_moved: bool) -> None:
        """The pair under way is over. Handlers' counts are left out once those of all pairs would not fit an answer."""
        if is_moved:
            self.layers_bytes += len(json.dumps(self.tally.layers))
            if self.layers_bytes > LAYERS_BYTES:
                self.tally.layers = {}
            self.moved[self.settled] = self.tally
        self.settled, self.page, self.after, self.tally = self.settled + 1, 0, None, Tally()

    def fail(self, failure: FailedRename) -> None:
        self.failed += 1
        if len(self.failures) < FAILURES_MAX:
            self.failures.append(failure)


@workflow.defn(name="RenameSources")
class RenameSources:
    """The first failure ends it, unless it is to go on; what was moved before stays moved.

    Cancelled, the page under way is moved wholly or not at all, and nothing after it. Sent again, the request goes on.
    """

    @workflow.init
    def __init__(self, raw: Any = None, carried: Carried | None = None) -> None:
        self._carried = carried or Carried()
        self._pages = 0  # of this run

    @workflow.run
    async def run(self, raw: Any = None, carried: Carried | None = None) -> RenameSourcesResult:
        request = parse_input(RenameSourcesInput, raw)
        if request.renames == ():
            return RenameSourcesResult()

        async def work(request_no: int) -> RenameSourcesResult:
            mover = Mover(request.scope, request_no, request.authorization, request.requested_by)
            pairs = _pairs(request)
            while self._carried.settled < len(pairs):
                await self._move(request, raw, mover, *pairs[self._carried.settled])
            return _result(pairs, self._carried)

        return await once(request, RenameSourcesResult, work)

    async def _move(self, request: RenameSourcesInput, raw: Any, mover: Mover, from_id: str, to_id: str) -> None:
        """All pages of one pair, or of the prefix."""
        now = self._carried
        is_moved = True
        while True:
            step = f"pair {now.settled} page {now.page}"
            try:
                page, layers = await mover.page(
                    from_id,
                    to_id,
                    step=step,
                    page_size=RECORDS_MAX,
                    after=now.after,
                    is_prefix=request.prefix is not None,
                    passes_over=request.prefix is not None and request.continue_on_error,
                )
            except (ActivityError, ApplicationError) as error:
                if not is_failure(error):
                    raise
                failure = failed_by(error, from_id, to_id)
                await mover.note_failure(failure, step=step)
                if not request.continue_on_error:
                    raise
                now.fail(failure)
                # Of a prefix the pages before stay moved, and are told.
                is_moved = request.prefix is not None and now.page > 0
                break
            now.tally.count(page, layers)
            for failure in page.failures:
                now.fail(failure)
            now.failed += page.failed - len(page.failures)
            now.page, now.after = now.page + 1, page.after
            if page.after is None:
                break
            self._hand_over_if_long(raw)
        now.settle(is_moved=is_moved)
        if now.settled < len(_pairs(request)):
            self._hand_over_if_long(raw)

    def _hand_over_if_long(self, raw: Any) -> None:
        self._pages += 1
        if self._pages >= PAGES_A_RUN or workflow.info().is_continue_as_new_suggested():
            workflow.continue_as_new(args=[raw, self._carried])


def _pairs(request: RenameSourcesInput) -> list[tuple[str, str]]:
    if request.prefix is not None:
        return [(request.prefix.from_prefix, request.prefix.to_prefix)]
    return [(pair.from_id, pair.to_id) for pair in request.renames or ()]


def _result(pairs: list[tuple[str, str]], carried: Carried) -> RenameSourcesResult:
    results = [
        RepointResult(
            from_id=pairs[place][0],
            to_id=pairs[place][1],
            moved_sources=tally.sources,
            moved_chunks=tally.chunks,
            rewritten_edges=tally.edges,
            layers=tally.layers,
        )
        for place, tally in sorted(carried.moved.items())
    ]
    return RenameSourcesResult(results=tuple(results), failures=tuple(carried.failures), failed=carried.failed)
