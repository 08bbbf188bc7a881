"""``CollectTick``: what the schedule starts. Every corpus is collected in its turn, then those that grew large are moved.

A corpus whose collection fails, or is under way already, holds up no other one.
"""

import asyncio
from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import (
    ChildWorkflowError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel, Field

    from activities.contracts.garbage import CollectTickInput, CollectTickResult, ListedScopes, ListScopes
    from headwater.contracts import CollectGarbageResult
    from headwater.models import Scope
    from headwater.workflow_ids import TASK_QUEUE, scope_workflow_id
    from workflows.act import BEHIND_ALL_OTHERS, act
    from workflows.failures import told_by_cause
    from workflows.inputs import parse_input

AT_ONCE: Final = 2
SCOPES_A_PAGE: Final = 50
PAGES_A_RUN: Final = 30
# The schedule starts no second tick while one runs: one corpus that hangs must not end all collection.
LONGEST: Final = timedelta(hours=6)


class CarriedTick(BaseModel):
    """What a run hands to the next one: the tenants that are still to come, and the last corpus of the first of them."""

    tenants: list[str] = Field(default_factory=list)
    after: Scope | None = None
    counts: CollectTickResult = CollectTickResult()


@workflow.defn(name="CollectTick")
class CollectTick:
    @workflow.run
    async def run(self, raw: Any = None, carried: CarriedTick | None = None) -> CollectTickResult:
        asked = parse_input(CollectTickInput, raw)
        self._carried = carried or CarriedTick(tenants=asked.tenants or [""])
        with told_by_cause():
            return await self._run(raw)

    async def _run(self, raw: Any) -> CollectTickResult:
        pages = 0
        while self._carried.tenants:
            tenant = self._carried.tenants[0]
            wanted = ListScopes(tenant_id=tenant, after=self._carried.after, limit=SCOPES_A_PAGE)
            listed = await act("list_scopes", wanted, ListedScopes, priority=BEHIND_ALL_OTHERS)
            await self._collect(listed.scopes)
            if listed.is_last:
                await self._promote(tenant)
                self._carried = self._carried.model_copy(update={"tenants": self._carried.tenants[1:], "after": None})
            else:
                self._carried = self._carried.model_copy(update={"after": listed.scopes[-1]})
            pages += 1
            is_long = pages >= PAGES_A_RUN or workflow.info().is_continue_as_new_suggested()
            if self._carried.tenants and is_long:
                workflow.continue_as_new(args=[raw, self._carried])
        return self._carried.counts

    async def _collect(self, scopes: list[Scope]) -> None:
        slots = asyncio.Semaphore(AT_ONCE)

        async def collect(scope: Scope) -> None:
            async with slots:
                try:
                    await workflow.execute_child_workflow(
                        "CollectGarbage",
                        {"scope": scope.model_dump()},
                        id=scope_workflow_id("CollectGarbage", scope),
                        task_queue=TASK_QUEUE,
                        execution_timeout=LONGEST,
                        result_type=CollectGarbageResult,
                    )
                    self._count("collected")
                except WorkflowAlreadyStartedError:
                    self._count("busy")
                except ChildWorkflowError as error:
                    if is_cancelled_exception(error):
                        raise
                    workflow.logger.warning("collection failed", extra={"corpus": str(scope)})
                    self._count("failed")

        await asyncio.gather(*(collect(scope) for scope in scopes))

    async def _promote(self, tenant: str) -> None:
        """Starts the moves of corpora that have outgrown the shared partition, and waits for none of them."""
        listed = await act("list_outgrown", ListScopes(tenant_id=tenant), ListedScopes, priority=BEHIND_ALL_OTHERS)
        for scope in listed.scopes:
            try:
                await workflow.start_child_workflow(
                    "ReindexCorpus",
                    {"scope": scope.model_dump(), "promote": True},
                    id=scope_workflow_id("ReindexCorpus", scope),
                    task_queue=TASK_QUEUE,
                    parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                )
                self._count("promoted")
            except WorkflowAlreadyStartedError:
                continue

    def _count(self, what: str) -> None:
        counts = self._carried.counts
        self._carried = self._carried.model_copy(
            update={"counts": counts.model_copy(update={what: getattr(counts, what) + 1})}
        )
