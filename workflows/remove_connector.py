"""``RemoveConnector``: a connector ends, and what it alone holds is deleted as by a sync that finds nothing, or stays as stale.

It has the connector's lease all the while, so that no sync is under way; its schedule ends with it. Given up half-way it leaves a connector behind
whose next sync lists everything anew.
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
        EndedPass,
        EndPass,
        ListedPage,
        ListPage,
        PageRef,
        Pass,
    )
    from activities.contracts.connectors import (
        DropConnector,
        KeepSources,
        KeptSources,
        RemoveConnectorInput,
        RemovedConnector,
        RemovedSchedule,
        RemoveSchedule,
    )
    from workflows.act import act
    from workflows.failures import cause_of, told_by_cause
    from workflows.inputs import parse_input
    from workflows.publish_staged import publish_staged

SOURCES_A_PAGE: Final = 200
PAGES_A_RUN: Final = 200
CANCELLED: Final = "The removal of the connector was cancelled."


class CarriedRemoval(BaseModel):
    """What a run hands to the next one when its history has grown long."""

    in_pass: Pass
    next_seq: int = 1
    after: int | None = 0
    is_swept: bool = False
    deleted: int = 0


@workflow.defn(name="RemoveConnector")
class RemoveConnector:
    @workflow.run
    async def run(self, raw: Any = None, carried: CarriedRemoval | None = None) -> RemovedConnector:
        asked = parse_input(RemoveConnectorInput, raw)
        with told_by_cause():
            self._carried = carried or await _begin(asked)
        try:
            removed = await self._remove(asked, raw)
        except (ActivityError, ApplicationError, asyncio.CancelledError) as error:
            ending = EndPass(in_pass=self._carried.in_pass, error=cause_of(error, cancelled=CANCELLED).message)
            await act("end_pass", ending, EndedPass)
            if is_cancelled_exception(error):
                raise
            raise cause_of(error) from None
        # Last: a removal that is given up leaves the schedule with the connector that is still there.
        with told_by_cause():
            ended = await act(
                "remove_schedule", RemoveSchedule(scope=asked.scope, connector=asked.connector), RemovedSchedule
            )
        return removed.model_copy(update={"had_schedule": ended.existed})

    async def _remove(self, asked: RemoveConnectorInput, raw: Any) -> RemovedConnector:
        carried, pages = self._carried, 0
        while not (carried.is_swept if asked.sources == "delete" else carried.after is None):
            if pages >= PAGES_A_RUN or workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(args=[raw, carried])
            await (self._sweep_page() if asked.sources == "delete" else self._keep_page())
            pages += 1
        wanted = DropConnector(in_pass=carried.in_pass, deleted=carried.deleted, requested_by=asked.requested_by)
        return await act("drop_connector", wanted, RemovedConnector)

    async def _sweep_page(self) -> None:
        carried = self._carried
        wanted = ListPage(in_pass=carried.in_pass, seq=carried.next_seq, page_size=SOURCES_A_PAGE)
        listed = await act("sweep_page", wanted, ListedPage)
        page = PageRef(in_pass=carried.in_pass, page_id=listed.page_id)
        published = await publish_staged(page, _nothing_to_embed)
        await act("advance_checkpoint", page, AdvancedCheckpoint)
        carried.deleted += published.deleted
        carried.next_seq += 1
        carried.is_swept = listed.is_last

    async def _keep_page(self) -> None:
        wanted = KeepSources(in_pass=self._carried.in_pass, after=self._carried.after or 0)
        self._carried.after = (await act("keep_sources", wanted, KeptSources)).after


async def _begin(asked: RemoveConnectorInput) -> CarriedRemoval:
    info = workflow.info()
    wanted = BeginPass(
        scope=asked.scope,
        connector=asked.connector,
        workflow_id=info.workflow_id,
        run_id=info.first_execution_run_id,
        full=True,
        requested_by=asked.requested_by,
    )
    begun = await act("begin_removal", wanted, BegunPass)
    return CarriedRemoval(in_pass=begun.in_pass, next_seq=begun.next_seq)


async def _nothing_to_embed(batches: int) -> None:
    assert batches == 0, "a page that only deletes has no passages"
