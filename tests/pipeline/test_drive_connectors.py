"""Two connectors over one Drive, and the end of one of them: a file that the other holds too stays with it."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from activities.connectors.drive.config import DriveConfig
from activities.contracts.connectors import RemovedConnector
from activities.store import Store, status
from activities.store.connectors import change_settings, ensure_connector, find_connector
from activities.store.pages import lease
from activities.store.pages.lease import AlreadyRunning
from headwater.contracts import SyncResult
from headwater.workflow_ids import sync_workflow_id
from tests.drive.world import World
from tests.pipeline.drive_shelf import DriveShelf, drive_shelf
from tests.pipeline.harness import SCOPE, Pipeline
from workflows import queues

ADA, ROBOT = "ada@a.test", "robot@b.test"


@dataclass(frozen=True)
class Both:
    """Connector `drive` follows a folder, connector `inner` a folder in it."""

    shelf: DriveShelf
    pipeline: Pipeline
    inner: str
    settings: dict[str, Any]

    async def sync(self, connector: str) -> SyncResult:
        return SyncResult.model_validate(
            await self._run("SyncCorpus", connector, workflow_id=sync_workflow_id(SCOPE, connector))
        )

    async def remove(self, connector: str, sources: str) -> RemovedConnector:
        removed = await self._run("RemoveConnector", connector, workflow_id=str(uuid.uuid4()), sources=sources)
        return RemovedConnector.model_validate(removed)

    def add(self, name: str) -> None:
        """A connector over the inner folder."""
        row = find_connector(self.shelf.store, SCOPE, self.shelf.name) or find_connector(
            self.shelf.store, SCOPE, "inner"
        )
        assert row is not None
        config = DriveConfig.parse({**self.settings, "folder_ids": [self.inner]}).to_config()
        ensure_connector(self.shelf.store, row.scope_id, name, "drive", config, new_rule=False)

    def freshness(self) -> dict[str, str]:
        sources = status.sources(self.shelf.store, SCOPE)["sources"]
        return {each["source_id"]: each["freshness"].value for each in sources}

    async def _run(self, workflow: str, connector: str, *, workflow_id: str, **fields: Any) -> Any:
        wanted = {"scope": SCOPE.model_dump(), "connector": connector, **fields}
        return await self.pipeline.client.execute_workflow(workflow, wanted, id=workflow_id, task_queue=queues.CONTROL)


@pytest.fixture
def both(pipeline: Pipeline, store: Store, database: str, tmp_path: Path) -> Iterator[Both]:
    world = World()
    for email in (ADA, ROBOT):
        world.add_user(email)
    folder = world.add_folder("Office", owner=ADA)
    world.share(folder.id, ROBOT, role="writer")
    inner = world.add_folder("Plans", parent=folder.id, owner=ADA)
    world.add_file("outer.md", "Text of the outer.", parent=folder.id, owner=ADA, file_id="outer")
    world.add_file("shared.md", "Text of the shared.", parent=inner.id, owner=ADA, file_id="shared")
    with drive_shelf(store, database, tmp_path, world, email=ROBOT, folder_ids=[folder.id]) as shelf:
        row = find_connector(store, SCOPE, shelf.name)
        assert row is not None
        made = Both(shelf, pipeline, inner.id, row.config)
        made.add("inner")
        yield made


async def test_deleting_with_a_connector_spares_what_another_one_holds(both: Both) -> None:
    assert (await both.sync("drive")).upserted == 2
    await both.sync("inner")
    removed = await both.remove("drive", "delete")
    assert removed.deleted == 1
    assert both.shelf.found_by(ADA) == {"shared": "Text of the shared."}

    again = await both.sync("inner")
    assert (again.deleted, again.failed) == (0, 0)
    both.shelf.world.write("shared", "Text of the shared, anew.")
    assert (await both.sync("inner")).upserted == 1
    assert both.shelf.found_by(ADA) == {"shared": "Text of the shared, anew."}
    assert (await both.remove("inner", "delete")).deleted == 1
    assert both.shelf.found_by(ADA) == {}


async def test_what_is_kept_is_taken_up_by_another_connector_of_drive(both: Both) -> None:
    await both.sync("drive")
    assert (await both.remove("drive", "keep")).kept == 2
    assert both.freshness() == {"drive:outer": "stale", "drive:shared": "stale"}
    assert len(both.shelf.found_by(ADA)) == 2

    taken = await both.sync("inner")
    assert (taken.failed, taken.embedded_chunks) == (0, 0)
    assert both.freshness() == {"drive:outer": "stale", "drive:shared": "current"}
    both.shelf.world.delete("shared")
    assert (await both.sync("inner")).deleted == 1
    assert both.shelf.found_by(ADA) == {"outer": "Text of the outer."}


async def test_what_is_kept_and_held_by_another_one_too_is_that_ones(both: Both) -> None:
    await both.sync("drive")
    await both.sync("inner")
    assert (await both.remove("drive", "keep")).kept == 1
    assert both.freshness() == {"drive:outer": "stale", "drive:shared": "current"}
    shared = status.source(both.shelf.store, SCOPE, "drive:shared")
    assert shared is not None and shared["owner"] == "inner"


async def test_other_settings_wait_for_the_end_of_a_pass_and_list_everything_anew(both: Both) -> None:
    store = both.shelf.store
    await both.sync("drive")
    row = find_connector(store, SCOPE, "drive")
    assert row is not None
    taken = lease.begin_pass(store, row.connector_id, owner="sync:1", run="1", full=False)
    narrower = {**row.config, "folder_ids": [both.inner]}
    with pytest.raises(
        AlreadyRunning, match=r"^Connector drive of t1/docs/handbook is being synced by workflow sync:1: "
    ):
        change_settings(store, row, narrower)
    assert find_connector(store, SCOPE, "drive") == row
    lease.end_pass(store, row.connector_id, fence=taken.fence, pass_no=taken.pass_no, paused=False, error=None)

    change_settings(store, row, narrower)
    both.shelf.drive.log.clear()
    result = await both.sync("drive")
    assert (result.deleted, result.embedded_chunks) == (1, 0)  # the other has a shorter path now, and nothing else
    assert both.shelf.drive.log.count("drive.files.get:media") == 0
    assert both.shelf.found_by(ADA) == {"shared": "Text of the shared."}
