"""``SetGeneration``: what readers see is an older generation, or a newer one again; or it stays what it is."""

from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts.generation import MovePointer
    from headwater.contracts import SetGenerationInput, SetGenerationResult
    from workflows.act import act
    from workflows.failures import told_by_cause
    from workflows.inputs import parse_input


@workflow.defn(name="SetGeneration")
class SetGeneration:
    """One transaction, carried out once for each run."""

    @workflow.run
    async def run(self, raw: Any = None) -> SetGenerationResult:
        request = parse_input(SetGenerationInput, raw)
        wanted = MovePointer(
            scope=request.scope, generation=request.generation, pin=request.pin, requested_by=request.requested_by
        )
        with told_by_cause():
            return await act("set_generation", wanted, SetGenerationResult)
