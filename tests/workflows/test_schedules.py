"""The schedule that workers keep, on a real server: made once, changed when it says something else, never unpaused."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import (
    Client,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleDescription,
    ScheduleOverlapPolicy,
)

from tests.workflows.scripted_collection import CollectionScript, scopes
from workers.schedules import CATCH_UP, COLLECTING, ensure_collecting

HOUR = timedelta(hours=1)


@pytest.fixture
async def client(temporal_client: Client) -> AsyncIterator[Client]:
    yield temporal_client
    await temporal_client.get_schedule_handle(COLLECTING).delete()


async def described(client: Client) -> ScheduleDescription:
    return await client.get_schedule_handle(COLLECTING).describe()


async def test_many_workers_that_start_at_once_make_one_schedule(client: Client) -> None:
    await asyncio.gather(*(ensure_collecting(client, every=HOUR, tenants=()) for _ in range(5)))
    schedule = (await described(client)).schedule
    assert [spec.every for spec in schedule.spec.intervals] == [HOUR]
    assert schedule.spec.jitter == timedelta(minutes=5)
    assert (schedule.policy.overlap, schedule.policy.catchup_window) == (ScheduleOverlapPolicy.SKIP, CATCH_UP)
    assert isinstance(schedule.action, ScheduleActionStartWorkflow)
    assert schedule.action.workflow == "CollectTick"


async def test_it_follows_the_settings_and_stays_paused(client: Client) -> None:
    await ensure_collecting(client, every=HOUR, tenants=())
    await client.get_schedule_handle(COLLECTING).pause()
    await ensure_collecting(client, every=timedelta(minutes=10), tenants=("b", "a"))
    schedule = (await described(client)).schedule
    assert [spec.every for spec in schedule.spec.intervals] == [timedelta(minutes=10)]
    assert schedule.spec.jitter == timedelta(minutes=1)
    assert schedule.state.paused
    assert "for a, b" in (schedule.state.note or "")


async def test_what_it_starts_collects_every_corpus(client: Client) -> None:
    script = CollectionScript(corpora=scopes("t1-x", "t2-y"), held={"t2-y"})
    async with script.served(client):
        await ensure_collecting(client, every=HOUR, tenants=["t2"])
        await client.get_schedule_handle(COLLECTING).trigger()
        await asyncio.wait_for(script.reached.wait(), 20)
        script.gate.set()
        (started,) = (await described(client)).info.recent_actions
        assert isinstance(started.action, ScheduleActionExecutionStartWorkflow)
        await client.get_workflow_handle(started.action.workflow_id).result()
    assert [call.scope.corpus_id for call in script.calls] == ["t2-y"]
