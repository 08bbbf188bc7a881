"""Shared drives on the emulated Drive: invisible to those who do not say that they know them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.drive_office import BEN, ROBOT, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run


@dataclass(frozen=True)
class Shared:
    """The office, with a shared drive of Ben's that the robot is a member of."""

    office: Office
    drive_id: str
    file: str

    @property
    def files(self) -> Any:
        return self.office.robot.files()


KNOWN = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}


@pytest.fixture
def shared() -> Iterator[Shared]:
    with open_office() as office:
        drive_id = office.world.add_drive("Engineering", organizer=BEN).id
        office.world.share(drive_id, ROBOT)
        yield Shared(office, drive_id, office.world.add_file("valve.md", b"Turn left.", parent=drive_id).id)


def test_without_the_flag_an_item_of_a_shared_drive_is_not_found(shared: Shared) -> None:
    assert refused(shared.files.get(fileId=shared.file))[:2] == (404, "notFound")
    assert refused(shared.files.get_media(fileId=shared.file))[:2] == (404, "notFound")
    assert refused(shared.files.get(fileId=shared.drive_id))[:2] == (404, "notFound")
    assert refused(shared.office.robot.permissions().list(fileId=shared.file))[:2] == (404, "notFound")
    assert refused(shared.office.ben.files().update(fileId=shared.file, body={"name": "x"}))[:2] == (404, "notFound")
    link = shared.office.ben.permissions().create(fileId=shared.file, body={"type": "anyone", "role": "reader"})
    assert refused(link)[:2] == (404, "notFound")
    assert shared.office.world.file(shared.file).permissions == {}


def test_with_the_flag_it_is_there(shared: Shared) -> None:
    file = shared.files.get(fileId=shared.file, supportsAllDrives=True, fields="name,driveId,owners").execute()

    assert file == {"name": "valve.md", "driveId": shared.drive_id}
    assert shared.files.get_media(fileId=shared.file, supportsAllDrives=True).execute() == b"Turn left."


def names(shared: Shared, **asked: Any) -> list[str]:
    return [file["name"] for file in shared.files.list(**asked).execute()["files"]]


def test_a_listing_has_a_shared_drive_only_where_it_is_asked_for(shared: Shared) -> None:
    in_drive = {**KNOWN, "corpora": "drive", "driveId": shared.drive_id}

    assert "valve.md" not in names(shared)
    assert "valve.md" not in names(shared, supportsAllDrives=True)
    assert names(shared, **in_drive, q="trashed = false") == ["valve.md"]
    assert "valve.md" in names(shared, **KNOWN, corpora="allDrives")


@pytest.mark.parametrize(
    "asked",
    [
        {"corpora": "drive"},
        {"corpora": "user", "driveId": "it"},
        {"driveId": "it"},
        {"corpora": "universe"},
    ],
)
def test_a_drive_id_goes_with_the_corpora_drive_and_only_with_it(shared: Shared, asked: dict[str, str]) -> None:
    if "driveId" in asked:
        asked = {**asked, "driveId": shared.drive_id}

    assert refused(shared.files.list(**KNOWN, **asked))[0] == 400


def test_a_search_over_all_drives_may_be_incomplete_and_says_so(shared: Shared) -> None:
    shared.office.world.modes.incomplete_search = True

    answer = shared.files.list(**KNOWN, corpora="allDrives", fields="incompleteSearch").execute()

    assert answer == {"incompleteSearch": True}


def test_drives_come_in_pages_of_ten(shared: Shared) -> None:
    for number in range(12):
        shared.office.world.share(shared.office.world.add_drive(f"D{number}", organizer=BEN).id, ROBOT)
    drives = shared.office.robot.drives()

    first = drives.list().execute()
    second = drives.list_next(drives.list(), first).execute()

    assert (len(first["drives"]), len(second["drives"])) == (10, 3)
    assert "nextPageToken" not in second
    assert len(drives.list(pageSize=100).execute()["drives"]) == 13


def test_a_drive_is_made_renamed_and_deleted(shared: Shared) -> None:
    drives = shared.office.ben.drives()
    made = drives.create(requestId="1", body={"name": "Sales"}).execute()
    drives.update(driveId=made["id"], body={"name": "Trade"}).execute()

    assert drives.get(driveId=made["id"]).execute()["name"] == "Trade"

    drives.delete(driveId=made["id"]).execute()

    assert refused(drives.get(driveId=made["id"]))[:2] == (404, "notFound")


def test_nobody_is_a_domain_administrator(shared: Shared) -> None:
    assert refused(shared.office.ben.drives().list(useDomainAdminAccess=True))[0] == 403
    assert refused(shared.office.ben.permissions().list(fileId=shared.drive_id, useDomainAdminAccess=True))[0] == 403


def test_a_shared_drive_is_no_place_for_those_who_are_not_in_it(shared: Shared) -> None:
    assert refused(shared.office.ada.drives().get(driveId=shared.drive_id))[:2] == (404, "notFound")
    assert refused(shared.office.ada.files().list(**KNOWN, corpora="drive", driveId=shared.drive_id))[0] in (403, 404)
