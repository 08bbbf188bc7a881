"""``SetSourceAccess``: who may read a source, replaced as a whole."""

from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts.access import SetAccess
    from headwater.contracts import SetSourceAccessInput, SetSourceAccessResult
    from workflows.act import act
    from workflows.inputs import parse_input
    from workflows.once import once


@workflow.defn(name="SetSourceAccess")
class SetSourceAccess:
    """One transaction for all sources of the request. Nothing is embedded or published."""

    @workflow.run
    async def run(self, raw: Any = None) -> SetSourceAccessResult:
        request = parse_input(SetSourceAccessInput, raw)

        async def work(request_no: int) -> SetSourceAccessResult:
            wanted = SetAccess(
                scope=request.scope, request_no=request_no, requested_by=request.requested_by, grants=request.grants
            )
            return await act("set_access", wanted, SetSourceAccessResult)

        return await once(request, SetSourceAccessResult, work)
