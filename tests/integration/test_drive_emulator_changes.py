"""The change feeds of the emulated Drive, as Google's client reads them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.drive_office import ADA, BEN, ROBOT, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

KNOWN = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}
FIELDS = (
    "nextPageToken,newStartPageToken,changes(fileId,removed,changeType,driveId,drive(name),file(name,trashed,driveId))"
)


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as opened:
        yield opened


def start(service: Any, **asked: Any) -> str:
    token: str = service.changes().getStartPageToken(**asked).execute()["startPageToken"]
    return token


def since(service: Any, token: str, **asked: Any) -> tuple[list[dict[str, Any]], str]:
    """The changes after a token, all pages, and the token to go on from."""
    found: list[dict[str, Any]] = []
    while True:
        answer = service.changes().list(pageToken=token, fields=FIELDS, **asked).execute()
        found += answer["changes"]
        assert ("nextPageToken" in answer) != ("newStartPageToken" in answer)
        if "newStartPageToken" in answer:
            return found, answer["newStartPageToken"]
        token = answer["nextPageToken"]


def test_what_happened_after_the_token_is_told_once(office: Office) -> None:
    token = start(office.robot)
    office.world.rename(office.file, "scheme.md", by=ADA)

    changes, token = since(office.robot, token)

    assert [(change["fileId"], change["removed"], change["file"]["name"]) for change in changes] == [
        (office.file, False, "scheme.md")
    ]
    assert since(office.robot, token)[0] == []


def test_an_unshare_removes_for_one_and_not_for_the_other(office: Office) -> None:
    tokens = start(office.robot), start(office.ada)
    office.world.unshare(office.folder, ROBOT)

    lost = {change["fileId"]: change for change in since(office.robot, tokens[0])[0]}
    kept = {change["fileId"]: change for change in since(office.ada, tokens[1])[0]}

    assert lost[office.folder]["removed"] is True
    assert "file" not in lost[office.folder]
    assert kept[office.folder]["removed"] is False


def test_the_trash_is_a_change_and_a_deletion_a_removal(office: Office) -> None:
    token = start(office.robot)
    office.world.trash(office.file)
    [trashed], token = since(office.robot, token)
    office.world.delete(office.file)
    [deleted], _ = since(office.robot, token)

    assert (trashed["removed"], trashed["file"]["trashed"]) == (False, True)
    assert (deleted["removed"], "file" in deleted) == (True, False)


def test_removals_are_left_out_where_they_are_not_wanted(office: Office) -> None:
    token = start(office.robot)
    office.world.delete(office.file)

    assert since(office.robot, token, includeRemoved=False)[0] == []


def test_small_pages_tell_the_same(office: Office) -> None:
    token = start(office.robot)
    made = [office.world.add_file(f"{number}.md", b"x", parent=office.folder, owner=ADA).id for number in range(7)]

    assert [change["fileId"] for change in since(office.robot, token, pageSize=2)[0]] == made


def test_without_a_mask_a_change_names_its_file_and_little_more(office: Office) -> None:
    token = start(office.robot)
    office.world.rename(office.file, "scheme.md", by=ADA)

    answer = office.robot.changes().list(pageToken=token).execute()

    assert set(answer) == {"kind", "changes", "newStartPageToken"}
    assert set(answer["changes"][0]["file"]) == {"kind", "id", "name", "mimeType"}


def test_a_shared_drive_has_a_log_of_its_own(office: Office) -> None:
    drive_id = office.world.add_drive("Engineering", organizer=BEN).id
    office.world.share(drive_id, ROBOT)
    token = start(office.robot, driveId=drive_id, supportsAllDrives=True)
    file = office.world.add_file("valve.md", b"Turn left.", parent=drive_id).id

    changes, _ = since(office.robot, token, driveId=drive_id, **KNOWN)

    assert [(change["fileId"], change["file"]["driveId"]) for change in changes] == [(file, drive_id)]
    assert refused(office.robot.changes().getStartPageToken(driveId=drive_id))[0] in (400, 403, 404)


def test_a_drive_that_is_lost_is_told_in_the_members_log(office: Office) -> None:
    drive_id = office.world.add_drive("Engineering", organizer=BEN).id
    office.world.share(drive_id, ROBOT)
    token = start(office.robot)
    office.world.delete_drive(drive_id)

    changes, _ = since(office.robot, token, **KNOWN)

    told = [change for change in changes if change["changeType"] == "drive"]
    assert [(change["driveId"], change["removed"], "drive" in change) for change in told] == [(drive_id, True, False)]
    assert refused(office.robot.changes().list(pageToken=token, driveId=drive_id, **KNOWN))[0] == 404


@pytest.mark.parametrize("status", [400, 410])
def test_a_token_can_be_lost(office: Office, status: int) -> None:
    token = start(office.robot)
    office.world.modes.refuse_change_tokens = status  # type: ignore[assignment]  # it is one of the two

    assert refused(office.robot.changes().list(pageToken=token))[0] == status


def test_a_token_that_never_was_is_refused(office: Office) -> None:
    assert refused(office.robot.changes().list(pageToken="yesterday"))[:2] == (400, "invalid")
