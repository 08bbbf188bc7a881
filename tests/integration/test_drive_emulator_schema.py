"""The emulated Drive against the discovery document: each method that it serves, asked for everything it can say."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import pytest

from tests.drive.discovery import methods
from tests.drive.serving import running_drive
from tests.integration.drive_office import ADA, BEN, ROBOT, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

KNOWN: Final = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}
Ask: TypeAlias = Callable[[Office], Any]


@pytest.fixture
def office() -> Iterator[Office]:
    """An office with something of everything."""
    with open_office() as opened:
        world = opened.world
        document = world.add_document("Notes", {"text/plain": "Rain."}, parent=opened.folder, owner=ADA)
        world.add_shortcut("To the plan", opened.file, parent=opened.folder, owner=ADA)
        world.share(opened.file, "a.test", type="domain")
        world.share(document.id, "anyone", discoverable=True)
        drive = world.add_drive("Engineering", organizer=ADA)
        world.share(drive.id, ROBOT)
        in_drive = world.add_file("valve.md", b"Turn left.", parent=drive.id)
        world.share(in_drive.id, BEN)
        world.trash(world.add_file("old.md", b"", parent=drive.id).id)
        yield opened


def named(office: Office, name: str) -> str:
    """The id of the file with this name."""
    found = office.ada.files().list(**KNOWN, corpora="allDrives", q=f"name = '{name}'", fields="files/id").execute()
    file_id: str = found["files"][0]["id"]
    return file_id


def drive_id(office: Office) -> str:
    found: str = office.ada.drives().list().execute()["drives"][0]["id"]
    return found


def permission_of(office: Office, email: str) -> str:
    return office.world.user(email).permission_id


SERVED: Final[Mapping[str, Ask]] = {
    "drive.about.get": lambda office: office.ada.about().get(fields="*"),
    "drive.changes.getStartPageToken": lambda office: office.ada.changes().getStartPageToken(),
    "drive.changes.list": lambda office: office.ada.changes().list(
        pageToken=office.ada.changes().getStartPageToken().execute()["startPageToken"], **KNOWN, fields="*"
    ),
    "drive.drives.create": lambda office: office.ada.drives().create(requestId="1", body={"name": "x"}, fields="*"),
    "drive.drives.delete": lambda office: office.ada.drives().delete(
        driveId=office.world.add_drive("x", organizer=ADA).id
    ),
    "drive.drives.get": lambda office: office.ada.drives().get(driveId=drive_id(office), fields="*"),
    "drive.drives.list": lambda office: office.ada.drives().list(fields="*"),
    "drive.drives.update": lambda office: office.ada.drives().update(
        driveId=drive_id(office), body={"name": "y"}, fields="*"
    ),
    "drive.files.copy": lambda office: office.ada.files().copy(fileId=office.file, fields="*"),
    "drive.files.create": lambda office: office.ada.files().create(body={"name": "x"}, fields="*"),
    "drive.files.delete": lambda office: office.ada.files().delete(fileId=office.file),
    "drive.files.download": lambda office: office.ada.files().download(fileId=office.file),
    "drive.files.export": lambda office: office.ada.files().export(
        fileId=named(office, "Notes"), mimeType="text/plain"
    ),
    "drive.files.get": lambda office: office.ada.files().get(
        fileId=named(office, "valve.md"), supportsAllDrives=True, fields="*"
    ),
    "drive.files.list": lambda office: office.ada.files().list(**KNOWN, corpora="allDrives", fields="*"),
    "drive.files.update": lambda office: office.ada.files().update(
        fileId=office.file, body={"description": "x"}, fields="*"
    ),
    "drive.operations.get": lambda office: office.ada.operations().get(
        name=office.ada.files().download(fileId=office.file).execute()["name"]
    ),
    "drive.permissions.create": lambda office: office.ada.permissions().create(
        fileId=office.file, body={"type": "user", "role": "reader", "emailAddress": BEN}, fields="*"
    ),
    "drive.permissions.delete": lambda office: office.ada.permissions().delete(
        fileId=office.folder, permissionId=permission_of(office, ROBOT)
    ),
    "drive.permissions.get": lambda office: office.ada.permissions().get(
        fileId=office.file, permissionId=permission_of(office, ROBOT), fields="*"
    ),
    "drive.permissions.list": lambda office: office.ada.permissions().list(
        fileId=named(office, "valve.md"), supportsAllDrives=True, fields="*"
    ),
    "drive.permissions.update": lambda office: office.ada.permissions().update(
        fileId=office.folder, permissionId=permission_of(office, ROBOT), body={"role": "commenter"}, fields="*"
    ),
}


@pytest.mark.parametrize("method_id", sorted(SERVED))
def test_an_answer_with_every_field_is_as_the_schema_has_it(office: Office, method_id: str) -> None:
    SERVED[method_id](office).execute()

    [*_, entry] = office.drive.log.of(method_id)
    assert entry.status in (200, 204)
    assert office.drive.log.violations == []


def test_each_method_is_served_or_says_that_it_is_not(office: Office) -> None:
    fill = {name: office.file for name in ("fileId", "commentId", "replyId", "revisionId", "appId", "approvalId")}
    for method in methods().values():
        if method.id in SERVED:
            continue
        given = {
            name: "x" for name, described in method.parameters.items() if described.get("required") and name not in fill
        }
        path = method.path.format_map({**{name: "x" for name in given}, **{name: "x" for name in fill}, "name": "x"})
        query = "&".join(f"{name}=x" for name in given if f"{{{name}}}" not in method.path)
        answer, body = office.ada._http.request(f"{office.drive.url}/drive/v3/{path}?{query}", method.verb)

        assert (answer.status, b"notImplemented" in body) == (501, True), method.id


def test_what_the_schema_does_not_have_is_found_out() -> None:
    with (
        pytest.raises(AssertionError, match=r"drive\.files\.get /size: int where int64 belongs"),
        open_office() as office,
    ):
        given = office.world.resource_of

        def wrong(file: Any, viewer: str, *, view: str | None = None) -> dict[str, Any]:
            return {**given(file, viewer, view=view), "size": 12}

        office.world.resource_of = wrong  # type: ignore[method-assign]  # a fault of ours, made on purpose
        office.ada.files().get(fileId=office.file, fields="size").execute()


def test_an_emulator_that_breaks_down_ends_the_test() -> None:
    with (
        pytest.raises(AssertionError, match=r"drive\.about\.get broke down(?s:.)*ZeroDivisionError"),
        open_office() as office,
    ):

        def broken(viewer: str) -> dict[str, Any]:
            raise ZeroDivisionError

        office.world.about = broken  # type: ignore[method-assign]  # a fault of ours, made on purpose
        assert refused(office.ada.about().get(fields="*"))[:2] == (500, "emulatorBrokeDown")


def test_an_unknown_path_is_nobodys(office: Office) -> None:
    answer, _ = office.ada._http.request(f"{office.drive.url}/drive/v2/files")

    assert answer.status == 404
    assert refused(office.ada.files().get(fileId="nothing"))[:2] == (404, "notFound")


def test_a_served_world_can_be_served_again(office: Office) -> None:
    with running_drive(office.world) as second:
        assert second.url != office.drive.url
        assert second.world is office.world
