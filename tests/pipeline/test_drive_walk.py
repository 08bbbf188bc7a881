"""A Drive that changes at random, while calls fail and workers are killed: after each sync everybody finds exactly what
Drive says, and at no time anything else.

A walk that fails names its seed; `HEADWATER_TEST_DRIVE_SEED` walks that one again, `HEADWATER_TEST_DRIVE_STEPS` longer.
"""

import os
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.pipeline.drive_deeds import BusyCompany
from tests.pipeline.drive_walk import running_walk

pytestmark = pytest.mark.long

STEPS = int(os.environ.get("HEADWATER_TEST_DRIVE_STEPS", "90"))
SEEDS = [int(os.environ["HEADWATER_TEST_DRIVE_SEED"])] if "HEADWATER_TEST_DRIVE_SEED" in os.environ else [1, 2, 3]


@pytest.mark.parametrize("seed", SEEDS)
async def test_everybody_finds_what_drive_lets_them_read_and_nothing_else(
    database: str, temporal_client: Client, temporal_server: str, tmp_path: Path, seed: int
) -> None:
    async with running_walk(BusyCompany(seed), database, temporal_client, temporal_server, tmp_path) as walk:
        while walk.steps < STEPS:
            await walk.round()
        assert walk.watch.rounds > 0
