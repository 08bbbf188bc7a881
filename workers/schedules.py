"""The one schedule that workers keep by themselves: garbage of every corpus is collected every hour."""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

import structlog
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError

from workflows.queues import CONTROL

log = structlog.get_logger()

COLLECTING: Final = "headwater-gc"
CATCH_UP: Final = timedelta(minutes=30)
MAX_JITTER: Final = timedelta(minutes=5)
LONGEST_TICK: Final = timedelta(days=1)


async def ensure_collecting(client: Client, *, every: timedelta, tenants: Collection[str]) -> None:
    """There is a schedule that collects garbage ``every`` so often. Harmless when many workers start at once.

    One that is there already is changed if it says something else; whether somebody paused it is left as it is. Workers
    start without it where Temporal refuses: garbage waits, documents do not.
    """
    wanted = _schedule(every, sorted(tenants))
    try:
        try:
            await client.create_schedule(COLLECTING, wanted)
        except ScheduleAlreadyRunningError:
            handle = client.get_schedule_handle(COLLECTING)
            if (await handle.describe()).schedule.state.note != wanted.state.note:
                await handle.update(lambda found: as_paused_as(found, wanted))
    except RPCError as error:
        log.warning("schedule.refused", schedule=COLLECTING, error=error.status.name)


def _schedule(every: timedelta, tenants: list[str]) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(
            "CollectTick",
            {"tenants": tenants},
            id=COLLECTING,
            task_queue=CONTROL,
            execution_timeout=LONGEST_TICK,
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)], jitter=min(every / 10, MAX_JITTER)),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=CATCH_UP),
        # What it says is compared: the arguments come back encoded.
        state=ScheduleState(note=f"Collects garbage every {every} for {', '.join(tenants) or 'all tenants'}."),
    )


def as_paused_as(found: ScheduleUpdateInput, wanted: Schedule) -> ScheduleUpdate:
    """The wanted schedule in place of the one that was found, which somebody may have paused."""
    wanted.state.paused = found.description.schedule.state.paused
    return ScheduleUpdate(wanted)
