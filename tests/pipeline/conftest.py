"""The whole pipeline on a real PostgreSQL and a real Temporal server."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.store import Store
from tests.pipeline.harness import Pipeline, Shelf, running_pipeline


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An open store, empty but for its schema."""
    with Store.open(database) as opened:
        yield opened


@pytest.fixture
async def pipeline(store: Store, temporal_client: Client) -> AsyncIterator[Pipeline]:
    """Running workers."""
    async with running_pipeline(store, temporal_client) as running:
        yield running


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """An empty folder."""
    root = tmp_path / "shelf"
    root.mkdir()
    return Shelf(root)
