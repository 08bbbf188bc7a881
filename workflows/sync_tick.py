"""``SyncTick``: what a schedule starts, or a webhook. The connector makes a pass, in a sync that begins now or is under way.

It waits for none, so that a sync that takes long holds up no schedule; and however many ticks come meanwhile, they are
one more pass. What a sync fails with stands with its connector.
"""

from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from headwater.contracts import SyncTickInput, SyncTickResult
    from headwater.workflow_ids import TASK_QUEUE, sync_workflow_id
    from workflows.inputs import parse_input

# Outages are waited out without end; this bounds a sync that nobody looks at.
LONGEST_SYNC: Final = timedelta(days=7)
# A sync that takes no signal though it runs (one has room for so many only) would have a tick try without end.
TURNS: Final = 5


@workflow.defn(name="SyncTick")
class SyncTick:
    @workflow.run
    async def run(self, raw: Any = None) -> SyncTickResult:
        asked = parse_input(SyncTickInput, raw)
        workflow_id = sync_workflow_id(asked.scope, asked.connector)
        for _ in range(TURNS):
            if await _start(asked, workflow_id):
                return SyncTickResult(workflow_id=workflow_id, started=True)
            if await _nudge(workflow_id):
                return SyncTickResult(workflow_id=workflow_id, started=False)
            # It ended between the two: then there is room for one of our own.
        raise ApplicationError(
            f"Workflow {workflow_id} can be neither started nor told to make one more pass: look at what it does in Temporal's web page.",
            non_retryable=True,
        )


async def _start(asked: SyncTickInput, workflow_id: str) -> bool:
    try:
        await workflow.start_child_workflow(
            "SyncCorpus",
            asked.model_dump(mode="json", exclude_unset=True),
            id=workflow_id,
            task_queue=TASK_QUEUE,
            execution_timeout=LONGEST_SYNC,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


async def _nudge(workflow_id: str) -> bool:
    try:
        await workflow.get_external_workflow_handle(workflow_id).signal("nudge")
    except ApplicationError:  # so the SDK calls a workflow that is not there any more
        return False
    return True
