"""Temporal's own test server, which skips time."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment


@pytest.fixture
async def skipping() -> AsyncIterator[WorkflowEnvironment]:
    """A fresh server of this test's own."""
    server = await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=str(Path(sys.executable).parent / "temporal-test-server"),
        data_converter=pydantic_data_converter,
    )
    async with server:
        yield server
