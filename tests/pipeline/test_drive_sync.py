"""A Drive through the whole pipeline: after each sync everybody finds what Drive lets them read, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.store import Store
from tests.drive.faults import Fault
from tests.drive.world import World
from tests.pipeline.drive_shelf import DriveShelf, drive_shelf
from tests.pipeline.harness import Pipeline

ADA, BEN, EVE, ROBOT = "ada@a.test", "ben@a.test", "eve@b.test", "robot@b.test"


class Office:
    """Ada's folder, which Ben reads and the robot, as whom the connector signs in, may share."""

    def __init__(self) -> None:
        self.world = World()
        for email in (ADA, BEN, EVE, ROBOT):
            self.world.add_user(email)
        self.folder = self._folder("Office")
        self.attic = self._folder("Attic")
        self.world.share(self.folder, BEN)
        self.sub = self.world.add_folder("plans", parent=self.folder, owner=ADA).id
        self.plan = self.file("plan.md", "Text of the plan.", self.sub)
        self.pay = self.file("pay.md", "Text of the pay.")
        self.note = self.file("note.md", "Text of the note.")

    def file(self, name: str, text: str, parent: str | None = None) -> str:
        return self.world.add_file(name, text, parent=parent or self.folder, owner=ADA).id

    def _folder(self, name: str) -> str:
        folder = self.world.add_folder(name, owner=ADA).id
        self.world.share(folder, ROBOT, role="writer")
        return folder


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def shelf(office: Office, store: Store, database: str, tmp_path: Path) -> Iterator[DriveShelf]:
    with drive_shelf(store, database, tmp_path, office.world, email=ROBOT, folder_ids=[office.folder]) as shelf:
        yield shelf


ALL = {"plan": "Text of the plan.", "pay": "Text of the pay.", "note": "Text of the note."}


def found(office: Office, shelf: DriveShelf, email: str) -> dict[str, str]:
    """What the user finds, by the names of `ALL` where it has one; seen to be what Drive allows."""
    names = {office.plan: "plan", office.pay: "pay", office.note: "note"}
    texts = {file_id: ALL[name] for file_id, name in names.items()}
    by_id = shelf.found_by(email)
    assert set(by_id) <= {file_id for file_id in by_id if shelf.world.may_read(email, file_id)}
    assert all(texts.get(file_id, text) == text for file_id, text in by_id.items())
    return {names.get(file_id, file_id): text for file_id, text in by_id.items()}


async def test_everybody_finds_what_drive_lets_them_read(pipeline: Pipeline, office: Office, shelf: DriveShelf) -> None:
    result = await pipeline.sync(shelf)
    assert (result.upserted, result.failed, result.exhausted) == (3, 0, True)
    assert found(office, shelf, ADA) == found(office, shelf, BEN) == ALL
    assert found(office, shelf, EVE) == {}


async def test_a_pass_over_what_did_not_change_reads_and_embeds_nothing(
    pipeline: Pipeline, office: Office, shelf: DriveShelf
) -> None:
    await pipeline.sync(shelf)
    shelf.drive.log.clear()
    office.world.view(office.plan, by=ADA)
    again = await pipeline.sync(shelf)
    assert (again.upserted, again.embedded_chunks, again.generation) == (0, 0, 1)
    assert shelf.drive.log.count("drive.files.get:media") == 0


async def test_who_lost_a_file_finds_it_no_more_and_nothing_is_embedded(
    pipeline: Pipeline, office: Office, shelf: DriveShelf
) -> None:
    office.world.share(office.pay, EVE)
    await pipeline.sync(shelf)
    assert found(office, shelf, EVE) == {"pay": ALL["pay"]}
    shelf.drive.log.clear()
    office.world.unshare(office.pay, EVE)
    unshared = await pipeline.sync(shelf)
    assert (unshared.upserted, unshared.embedded_chunks) == (0, 0)
    assert shelf.drive.log.count("drive.files.get:media") == 0
    assert found(office, shelf, EVE) == {}
    assert found(office, shelf, BEN) == ALL


async def test_a_folder_takes_all_below_it_along(pipeline: Pipeline, office: Office, shelf: DriveShelf) -> None:
    await pipeline.sync(shelf)
    office.world.move(office.sub, to=office.attic)
    assert (await pipeline.sync(shelf)).deleted == 1
    assert found(office, shelf, ADA) == {"pay": ALL["pay"], "note": ALL["note"]}
    office.world.move(office.sub, to=office.folder)
    back = await pipeline.sync(shelf)
    assert (back.upserted, back.embedded_chunks) == (1, 0)
    assert found(office, shelf, ADA) == ALL


async def test_what_is_deleted_or_in_the_trash_is_gone_until_it_is_restored(
    pipeline: Pipeline, office: Office, shelf: DriveShelf
) -> None:
    await pipeline.sync(shelf)
    office.world.trash(office.note)
    office.world.delete(office.pay)
    assert (await pipeline.sync(shelf)).deleted == 2
    assert found(office, shelf, ADA) == {"plan": ALL["plan"]}
    office.world.untrash(office.note)
    assert (await pipeline.sync(shelf)).upserted == 1
    assert found(office, shelf, ADA) == {"plan": ALL["plan"], "note": ALL["note"]}


async def test_a_new_text_takes_the_place_of_the_old_one(pipeline: Pipeline, office: Office, shelf: DriveShelf) -> None:
    await pipeline.sync(shelf)
    office.world.write(office.plan, "Text of another plan.")
    assert (await pipeline.sync(shelf)).upserted == 1
    assert shelf.found_by(ADA)[office.plan] == "Text of another plan."


async def test_a_renamed_file_is_not_read_again(pipeline: Pipeline, office: Office, shelf: DriveShelf) -> None:
    await pipeline.sync(shelf)
    shelf.drive.log.clear()
    office.world.rename(office.plan, "plan B.md")
    renamed = await pipeline.sync(shelf)
    assert (renamed.upserted, renamed.embedded_chunks) == (1, 0)
    assert shelf.drive.log.count("drive.files.get:media") == 0
    assert found(office, shelf, ADA) == ALL


async def test_a_forgotten_cursor_costs_one_listing_and_no_document(
    pipeline: Pipeline, office: Office, shelf: DriveShelf
) -> None:
    await pipeline.sync(shelf)
    office.world.delete(office.pay)
    shelf.drive.faults.add(Fault("drive.changes.list", status=410, reason="invalid"))
    resynced = await pipeline.sync(shelf)
    assert (resynced.deleted, resynced.embedded_chunks) == (1, 0)
    assert found(office, shelf, ADA) == {"plan": ALL["plan"], "note": ALL["note"]}
