"""``RepointSource``: a source goes on under another id. One page a run: the source itself, and edges that name it."""

from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from headwater.contracts import RepointResult, RepointSourceInput
    from workflows.inputs import parse_input
    from workflows.moving import Mover, failed_by, is_failure
    from workflows.once import once
    from workflows.resume_token import resume_token, resumed_after

STEP = "page"


@workflow.defn(name="RepointSource")
class RepointSource:
    """The first page moves all of the source and as many edges as fit; a cursor says that some are left."""

    @workflow.run
    async def run(self, raw: Any = None) -> RepointResult:
        request = parse_input(RepointSourceInput, raw)
        after = resumed_after(request)

        async def work(request_no: int) -> RepointResult:
            mover = Mover(request.scope, request_no, request.authorization, request.requested_by)
            try:
                moved, layers = await mover.page(
                    request.from_id,
                    request.to_id,
                    step=STEP,
                    page_size=request.page_size,
                    after=after,
                    max_records=request.max_records,
                )
            except (ActivityError, ApplicationError) as error:
                if is_failure(error):
                    await mover.note_failure(failed_by(error, request.from_id, request.to_id), step=STEP)
                raise
            return RepointResult(
                from_id=request.from_id,
                to_id=request.to_id,
                moved_sources=moved.moved_sources,
                moved_chunks=moved.moved_chunks,
                rewritten_edges=moved.rewritten_edges,
                layers=layers,
                cursor=None
                if moved.after is None
                else resume_token(request.scope, request.from_id, request.to_id, moved.after),
            )

        return await once(request, RepointResult, work)
