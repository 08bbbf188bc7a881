"""Calling an activity by its name: the control worker then imports no activity, and any language may serve one."""

from typing import Any, Final, TypeVar

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from workflows.policies import POLICIES

Result = TypeVar("Result", bound=BaseModel)


# Of 1 to 5, and 3 where nothing is said: whatever waits for a worker with a lower number goes first.
BEHIND_ALL_OTHERS: Final = Priority(priority_key=5)


async def act(
    name: str,
    argument: BaseModel,
    result_type: type[Result],
    *,
    summary: str | None = None,
    priority: Priority = Priority.default,
) -> Result:
    """Runs the activity under its policy."""
    policy = POLICIES[name]
    result: Any = await workflow.execute_activity(
        name,
        argument,
        result_type=result_type,
        task_queue=policy.task_queue,
        start_to_close_timeout=policy.start_to_close,
        heartbeat_timeout=policy.heartbeat,
        retry_policy=policy.retry,
        summary=summary,
        priority=priority,
    )
    assert isinstance(result, result_type)
    return result
