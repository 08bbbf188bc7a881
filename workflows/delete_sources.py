"""``DeleteSources``: the named sources end. What was derived from them stays."""

from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts.deletion import DeleteOnce
    from headwater.contracts import DeleteSourcesInput, DeleteSourcesResult
    from workflows.act import act
    from workflows.inputs import parse_input
    from workflows.once import once


@workflow.defn(name="DeleteSources")
class DeleteSources:
    """One transaction for all of them."""

    @workflow.run
    async def run(self, raw: Any = None) -> DeleteSourcesResult:
        request = parse_input(DeleteSourcesInput, raw)

        async def work(request_no: int) -> DeleteSourcesResult:
            wanted = DeleteOnce(
                scope=request.scope,
                request_no=request_no,
                requested_by=request.requested_by,
                source_ids=request.source_ids,
            )
            return await act("delete_sources", wanted, DeleteSourcesResult)

        return await once(request, DeleteSourcesResult, work)
