"""Histories that were recorded once must replay for as long as their workflows may still run."""

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from workers.served import WORKFLOWS

HISTORIES = sorted((Path(__file__).parent.parent / "histories").glob("*.json"))


def test_there_is_a_history_of_every_workflow() -> None:
    recorded = {path.name.split("-")[0].replace("_", "") for path in HISTORIES}
    assert recorded == {workflow.__name__.lower() for workflow in WORKFLOWS}


def test_the_ways_of_a_sync_are_all_recorded() -> None:
    recorded = {path.name.split("-")[1] for path in HISTORIES if path.name.startswith("sync_corpus-")}
    assert recorded >= {"three_pages", "nothing_new", "long", "fails", "cancelled", "begins_anew"}


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_a_recorded_history_replays(path: Path) -> None:
    history = WorkflowHistory.from_json(path.stem, path.read_text(encoding="utf-8"))
    asyncio.run(_replay(history))


async def _replay(history: WorkflowHistory) -> None:
    await Replayer(workflows=WORKFLOWS, data_converter=pydantic_data_converter).replay_workflow(history)
