"""The schedules of connectors, on a real server: made and changed by hand, paused, gone on with, ended."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import Client, ScheduleActionStartWorkflow, ScheduleOverlapPolicy
from temporalio.worker import Worker

from headwater.models import Scope
from headwater.workflow_ids import SCHEDULE_ID_MAX, sync_schedule_id, sync_workflow_id
from tests.workflows.scripted_activities import Script
from workers.schedules import CATCH_UP
from workers.sync_schedules import SyncSchedules
from workflows import queues
from workflows.sync_tick import SyncTick

QUARTER = timedelta(minutes=15)
SHELF = "shelf"


@pytest.fixture
async def scope(temporal_client: Client) -> AsyncIterator[Scope]:
    """A corpus of this test's own, without a schedule at the end."""
    scope = Scope(tenant_id="t1", resource_id="docs", corpus_id=uuid.uuid4().hex)
    yield scope
    await SyncSchedules(temporal_client).remove(scope, SHELF)


async def test_a_schedule_is_made_once_and_changed_after(temporal_client: Client, scope: Scope) -> None:
    schedules = SyncSchedules(temporal_client)
    assert await schedules.find(scope, SHELF) is None
    made = await schedules.set(scope, SHELF, every=QUARTER)
    assert (made.every, made.is_paused, made.last_at) == (QUARTER, False, None)
    assert made.next_at is not None
    found = (await temporal_client.get_schedule_handle(sync_schedule_id(scope, SHELF)).describe()).schedule
    assert isinstance(found.action, ScheduleActionStartWorkflow)
    assert (found.action.workflow, found.action.task_queue) == ("SyncTick", queues.TICKS)
    assert (found.policy.overlap, found.policy.catchup_window) == (ScheduleOverlapPolicy.SKIP, CATCH_UP)
    assert found.spec.jitter == QUARTER / 10

    changed = await schedules.set(scope, SHELF, every=timedelta(hours=2))
    assert changed == await schedules.find(scope, SHELF)
    assert changed.every == timedelta(hours=2)


async def test_a_paused_schedule_starts_nothing_until_it_goes_on(temporal_client: Client, scope: Scope) -> None:
    schedules = SyncSchedules(temporal_client)
    await schedules.set(scope, SHELF, every=QUARTER)
    assert await schedules.pause(scope, SHELF)
    paused = await schedules.set(scope, SHELF, every=timedelta(minutes=30))
    assert (paused.is_paused, paused.next_at) == (True, None)
    assert await schedules.resume(scope, SHELF)
    resumed = await schedules.find(scope, SHELF)
    assert resumed is not None and not resumed.is_paused and resumed.next_at is not None


async def test_what_is_not_there_is_told(temporal_client: Client, scope: Scope) -> None:
    schedules = SyncSchedules(temporal_client)
    assert not await schedules.pause(scope, SHELF)
    assert not await schedules.resume(scope, SHELF)
    assert not await schedules.remove(scope, SHELF)
    await schedules.set(scope, SHELF, every=QUARTER)
    assert await schedules.remove(scope, SHELF)
    assert await schedules.find(scope, SHELF) is None


async def test_what_it_starts_syncs_the_connector(temporal_client: Client, scope: Scope) -> None:
    script = Script(pages=1)
    reached, go_on = script.hold("begin_pass 1")
    async with script.served(temporal_client), Worker(temporal_client, task_queue=queues.TICKS, workflows=[SyncTick]):
        await SyncSchedules(temporal_client).set(scope, SHELF, every=QUARTER)
        schedule = temporal_client.get_schedule_handle(sync_schedule_id(scope, SHELF))
        await schedule.trigger()
        await asyncio.wait_for(reached.wait(), 20)
        go_on.set()
        await temporal_client.get_workflow_handle(sync_workflow_id(scope, SHELF)).result()
    assert [(begun.scope, begun.connector, begun.requested_by) for begun in script.begun] == [
        (scope, SHELF, "headwater schedule")
    ]


async def test_the_longest_names_make_a_schedule_that_starts_something(temporal_client: Client) -> None:
    longest = "x" * 64
    scope = Scope(tenant_id=longest, resource_id=longest, corpus_id=longest)
    assert len(sync_schedule_id(scope, longest)) == SCHEDULE_ID_MAX
    script = Script(pages=1)
    reached, go_on = script.hold("begin_pass 1")
    schedules = SyncSchedules(temporal_client)
    async with script.served(temporal_client), Worker(temporal_client, task_queue=queues.TICKS, workflows=[SyncTick]):
        await schedules.set(scope, longest, every=QUARTER)
        await temporal_client.get_schedule_handle(sync_schedule_id(scope, longest)).trigger()
        await asyncio.wait_for(reached.wait(), 20)
        go_on.set()
        await temporal_client.get_workflow_handle(sync_workflow_id(scope, longest)).result()
        await schedules.remove(scope, longest)
