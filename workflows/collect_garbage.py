"""``CollectGarbage``: frees what no reader of a corpus can ever be shown again, page by page."""

from typing import Any, Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.contracts.garbage import CollectedPage, CollectPage
    from headwater.contracts import CollectGarbageInput, CollectGarbageResult
    from workflows.act import BEHIND_ALL_OTHERS, act
    from workflows.failures import told_by_cause
    from workflows.inputs import parse_input

PAGES_A_RUN: Final = 200


class CarriedCollection(BaseModel):
    """What a run hands to the next one when its history has grown long."""

    step: str | None = None
    freed: CollectGarbageResult = CollectGarbageResult()


@workflow.defn(name="CollectGarbage")
class CollectGarbage:
    """Every page is done again harmlessly, so that what is killed anywhere is simply gone on with."""

    @workflow.run
    async def run(self, raw: Any = None, carried: CarriedCollection | None = None) -> CollectGarbageResult:
        request = parse_input(CollectGarbageInput, raw)
        carried = carried or CarriedCollection()
        freed, step = carried.freed, carried.step
        for _ in range(PAGES_A_RUN):
            page = CollectPage(
                scope=request.scope,
                step=step,
                keep_generations=request.keep_generations,
                older_than_s=request.older_than_s,
                requested_by=request.requested_by,
            )
            with told_by_cause():
                collected = await act("collect_page", page, CollectedPage, summary=step, priority=BEHIND_ALL_OTHERS)
            freed, step = _sum(freed, collected.freed), collected.step
            if step is None:
                return freed
        workflow.continue_as_new(args=[raw, CarriedCollection(step=step, freed=freed)])


def _sum(one: CollectGarbageResult, other: CollectGarbageResult) -> CollectGarbageResult:
    """Counts added up; the oldest generation is the later one's."""
    counted = {name: getattr(one, name) + getattr(other, name) for name in type(one).model_fields}
    return CollectGarbageResult(**{**counted, "oldest_generation": other.oldest_generation})
