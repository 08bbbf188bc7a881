"""Whether somebody works: who polls the task queues that a command needs."""

import asyncio
import time
from collections.abc import Collection, Sequence
from typing import Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

from workflows.queues import CONTROL, DB, EMBED, IO

WAIT_S: Final = 3.0
ASK_AGAIN_S: Final = 0.5
# A poll lasts 60 s; the server remembers a dead poller for five minutes.
RECENT_S: Final = 75
QUEUES: Final = {"control": CONTROL, "io": IO, "embed": EMBED, "db": DB}  # by the role that polls it


async def idle_queues(client: Client, *, roles: Collection[str] = tuple(QUEUES), wait_s: float = WAIT_S) -> list[str]:
    """The queues of ``roles`` that nobody polls, asked again for ``wait_s``: workers may be starting at this moment."""
    deadline = time.monotonic() + wait_s
    wanted = [queue for role, queue in QUEUES.items() if role in roles]
    while True:
        polled = await asyncio.gather(*(_is_polled(client, queue) for queue in wanted))
        idle = [queue for queue, answered in zip(wanted, polled, strict=True) if not answered]
        if not idle or time.monotonic() >= deadline:
            return idle
        await asyncio.sleep(ASK_AGAIN_S)


async def _is_polled(client: Client, queue: str) -> bool:
    kind = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW if queue == CONTROL else TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
    )
    answer = await client.workflow_service.describe_task_queue(request)
    return any(time.time() - poller.last_access_time.seconds < RECENT_S for poller in answer.pollers)


def sentence(idle: Sequence[str], address: str | None) -> str:
    return (
        f"Nobody polls the task queue(s) {', '.join(idle)} at {address}, so nothing was started: "
        "start workers there with `headwater worker`."
    )
