"""The schedules that have connectors synced: made, looked at and ended by hand, one for each connector."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleDescription,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.service import RPCError, RPCStatusCode

from headwater.models import Scope
from headwater.workflow_ids import sync_schedule_id
from workers.schedules import CATCH_UP, MAX_JITTER, as_paused_as
from workflows.queues import TICKS

# A tick waits for nothing but a worker that stays: one that found none in a day is not started late.
LONGEST_TICK: Final = timedelta(days=1)


@dataclass(frozen=True)
class SyncSchedule:
    """When a connector is synced. ``next_at`` is None while it is paused."""

    scope: Scope
    connector: str
    every: timedelta
    is_paused: bool
    last_at: datetime | None
    next_at: datetime | None


@dataclass(frozen=True)
class SyncSchedules:
    """The schedules of one Temporal server. Raises `RPCError`."""

    client: Client

    async def find(self, scope: Scope, connector: str) -> SyncSchedule | None:
        """The connector's schedule, if it has one."""
        try:
            return _read(scope, connector, await self._handle(scope, connector).describe())
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def set(self, scope: Scope, connector: str, *, every: timedelta) -> SyncSchedule:
        """The connector is synced ``every`` so often. A schedule that is there is changed; paused it stays so."""
        wanted = _schedule(scope, connector, every)
        handle = self._handle(scope, connector)
        try:
            await self.client.create_schedule(handle.id, wanted)
        except ScheduleAlreadyRunningError:
            await handle.update(lambda found: as_paused_as(found, wanted))
        return _read(scope, connector, await handle.describe())

    async def pause(self, scope: Scope, connector: str) -> bool:
        """Whether there is a schedule, which starts nothing from now on."""
        return await self._told(scope, connector, ScheduleHandle.pause)

    async def resume(self, scope: Scope, connector: str) -> bool:
        """Whether there is a schedule, which goes on."""
        return await self._told(scope, connector, ScheduleHandle.unpause)

    async def remove(self, scope: Scope, connector: str) -> bool:
        """Whether there was a schedule."""
        return await self._told(scope, connector, ScheduleHandle.delete)

    def _handle(self, scope: Scope, connector: str) -> ScheduleHandle:
        return self.client.get_schedule_handle(sync_schedule_id(scope, connector))

    async def _told(self, scope: Scope, connector: str, tell: Callable[[ScheduleHandle], Awaitable[None]]) -> bool:
        try:
            await tell(self._handle(scope, connector))
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True


def _schedule(scope: Scope, connector: str, every: timedelta) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(
            "SyncTick",
            {"scope": scope.model_dump(), "connector": connector, "requested_by": "headwater schedule"},
            id=sync_schedule_id(scope, connector),
            task_queue=TICKS,
            execution_timeout=LONGEST_TICK,
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)], jitter=min(every / 10, MAX_JITTER)),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=CATCH_UP),
        state=ScheduleState(note=f"Syncs connector {connector} of {scope}."),
    )


def _read(scope: Scope, connector: str, found: ScheduleDescription) -> SyncSchedule:
    state, info = found.schedule.state, found.info
    intervals = found.schedule.spec.intervals
    return SyncSchedule(
        scope=scope,
        connector=connector,
        every=intervals[0].every if intervals else timedelta(),  # somebody changed it in Temporal's web page
        is_paused=state.paused,
        last_at=info.recent_actions[-1].started_at if info.recent_actions else None,
        next_at=info.next_action_times[0] if info.next_action_times and not state.paused else None,
    )
