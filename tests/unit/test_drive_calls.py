"""Each call of Drive's against an emulated one: what it brings, and what it says when it is refused."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest

from activities.connectors.drive.calls import DriveCalls, quote, told_from_an_outage
from activities.connectors.drive.credentials import CredentialSource
from activities.connectors.drive.errors import DriveFault, SharedDriveGone
from activities.connectors.drive.service import DriveService
from headwater.connectors import (
    DocumentDenied,
    DocumentFault,
    DocumentGone,
    DocumentRefused,
    DocumentTooLarge,
    DocumentUnsupported,
    InvalidCursor,
    SourceUnavailable,
    Throttled,
)
from headwater.errors import HeadwaterError, TransientError
from tests.drive.faults import Fault
from tests.drive.serving import RunningDrive, running_drive
from tests.drive.world import World
from tests.unit.raw_drive import RawDrive, person, running_raw_drive, says, token_reply

ADA, BEN = "ada@a.test", "ben@a.test"
As = Callable[[str], DriveCalls]


@pytest.fixture
def drive() -> Iterator[RunningDrive]:
    world = World()
    for email in (ADA, BEN):
        world.add_user(email)
    with running_drive(world) as running:
        yield running


@pytest.fixture
def as_(drive: RunningDrive, tmp_path: Path) -> Iterator[As]:
    with ExitStack() as made:

        def sign_in(email: str) -> DriveCalls:
            source = CredentialSource(str(drive.authorized_user_file(tmp_path, email)))
            calls = DriveCalls(DriveService(source.sign_in(), root_url=drive.url))
            made.callback(calls.close)
            return calls

        yield sign_in


def ids(listed: dict[str, Any], name: str = "files") -> list[str]:
    return [each["id"] for each in listed[name]]


def all_of(page: Callable[[str | None], dict[str, Any]], name: str) -> list[str]:
    found, token = [], None
    while True:
        answer = page(token)
        found += ids(answer, name)
        token = answer.get("nextPageToken")
        if token is None:
            return found


def test_who_asks_is_told(as_: As) -> None:
    assert as_(ADA).about()["user"]["emailAddress"] == ADA


def test_a_service_account_acts_for_a_person(drive: RunningDrive, tmp_path: Path) -> None:
    drive.world.add_user("robot@project.test")
    file = drive.service_account_file(tmp_path, "robot@project.test", may_impersonate=(ADA,))
    for subject, email in ((None, "robot@project.test"), (ADA, ADA)):
        calls = DriveCalls(DriveService(CredentialSource(str(file), subject).sign_in(), root_url=drive.url))
        assert calls.about()["user"]["emailAddress"] == email == calls.account
        calls.close()
    calls = DriveCalls(DriveService(CredentialSource(str(file), BEN).sign_in(), root_url=drive.url))
    with pytest.raises(SourceUnavailable, match="domain-wide delegation"):
        calls.about()
    calls.close()


def test_files_come_in_pages_and_with_all_that_decides_about_them(drive: RunningDrive, as_: As) -> None:
    folder = drive.world.add_folder("Handbook", owner=ADA).id
    expected = {drive.world.add_file(f"{n}.md", f"# {n}", parent=folder, owner=ADA).id for n in range(7)}
    drive.world.modes.empty_pages = True
    ada = as_(ADA)
    query = f"{quote(folder)} in parents and trashed = false"
    found = all_of(lambda token: ada.files(query, page_token=token, page_size=3, folder_id=folder), "files")
    assert len(found) == 7 and set(found) == expected
    drive.world.modes.empty_pages = False
    (file,) = ada.files(f"{query} and name = '3.md'")["files"]
    assert file["parents"] == [folder] and file["size"] == "3" and file["version"] and file["md5Checksum"]
    assert file["permissions"][0]["emailAddress"] == ADA and file["permissionIds"]


def test_what_is_in_a_shared_drive_is_seen_by_every_call(drive: RunningDrive, as_: As) -> None:
    shared = drive.world.add_drive("Engineering", organizer=ADA).id
    ada = as_(ADA)
    start = ada.start_page_token(drive_id=shared)
    file = drive.world.add_file("restart.md", "# Restart", parent=shared).id
    assert ids(ada.shared_drives(), "drives") == [shared]
    assert ada.shared_drive(shared)["name"] == "Engineering"
    assert file in ids(ada.files("trashed = false", drive_id=shared))
    changes = ada.changes(start, drive_id=shared)
    assert file in [change.get("fileId") for change in changes["changes"]] and changes["newStartPageToken"]
    assert ada.file(file)["driveId"] == shared
    assert ada.content_of(file)["size"] == "9"
    assert ada.permissions(file)["permissions"][0]["permissionDetails"][0]["inherited"] is True
    assert ada.download(file, max_bytes=9) == b"# Restart"


def test_all_shared_drives_are_listed_not_the_first_ten(drive: RunningDrive, as_: As) -> None:
    expected = {drive.world.add_drive(f"Drive {n}", organizer=ADA).id for n in range(25)}
    drive.world.modes.page_cap = 10
    ada = as_(ADA)
    found = all_of(lambda token: ada.shared_drives(page_token=token), "drives")
    assert set(found) == expected and len(found) == 25


def test_a_shared_drive_that_is_lost_is_told_from_every_call_about_it(drive: RunningDrive, as_: As) -> None:
    shared = drive.world.add_drive("Engineering", organizer=ADA).id
    token = as_(ADA).start_page_token(drive_id=shared)
    ben = as_(BEN)
    statuses: tuple[Literal[403, 404], ...] = (403, 404)
    for status in statuses:
        drive.world.modes.lost_drive_status = status
        for lost in (
            lambda: ben.shared_drive(shared),
            lambda: ben.files("trashed = false", drive_id=shared),
            lambda: ben.changes(token, drive_id=shared),
            lambda: ben.start_page_token(drive_id=shared),
        ):
            with pytest.raises(SharedDriveGone, match=f"{shared}.*{status}"):
                lost()


@pytest.mark.parametrize("status", [400, 410])
def test_a_token_that_drive_has_forgotten_is_an_invalid_cursor(drive: RunningDrive, as_: As, status: Any) -> None:
    for n in range(3):
        drive.world.add_file(f"{n}.md", "x", owner=ADA)
    ada = as_(ADA)
    start = ada.start_page_token()
    token = ada.files("trashed = false", page_size=1)["nextPageToken"]
    drive.world.modes.refuse_change_tokens = drive.world.modes.refuse_list_tokens = status
    with pytest.raises(InvalidCursor):
        ada.changes(start)
    with pytest.raises(InvalidCursor):
        ada.files("trashed = false", page_token=token)


def test_a_query_that_drive_does_not_understand_is_no_reason_to_list_anew(as_: As) -> None:
    with pytest.raises(HeadwaterError) as raised:
        as_(ADA).files("this is no query")
    assert type(raised.value) is SourceUnavailable


def test_names_with_quotes_and_backslashes_are_found(drive: RunningDrive, as_: As) -> None:
    ada = as_(ADA)
    for name in ("it's", "back\\slash", "both\\'", "plain"):
        expected = drive.world.add_file(name, "x", owner=ADA).id
        assert ids(ada.files(f"name = {quote(name)} and trashed = false")) == [expected]


def test_a_document_is_exported_and_another_is_told_by_its_refusal(drive: RunningDrive, as_: As) -> None:
    world, ada = drive.world, as_(ADA)
    document = world.add_document("Holidays", {"text/markdown": "# Holidays"}, owner=ADA).id
    form = world.add_document("Survey", {}, kind="form", owner=ADA).id
    folder = world.add_folder("Folder", owner=ADA).id
    file = world.add_file("a.md", "# A", owner=ADA).id
    assert ada.export(document, "text/markdown", max_bytes=100) == b"# Holidays"
    refusals: tuple[Callable[[], bytes], ...] = (
        lambda: ada.download(document, max_bytes=100),
        lambda: ada.download(folder, max_bytes=100),
        lambda: ada.export(file, "text/plain", max_bytes=100),
        lambda: ada.export(form, "text/plain", max_bytes=100),
        lambda: ada.export(document, "application/x-unknown", max_bytes=100),
    )
    for refused in refusals:
        with pytest.raises(DocumentRefused) as raised:
            refused()
        assert not isinstance(raised.value, DocumentDenied)
    with pytest.raises(DocumentUnsupported):
        ada.download(document, max_bytes=100)
    world.modes.export_limit = 5
    with pytest.raises(DocumentTooLarge, match="10 MB"):
        ada.export(document, "text/markdown", max_bytes=100)
    link = ada.content_of(document)["exportLinks"]["text/markdown"]
    assert ada.export_link(document, link, max_bytes=100) == b"# Holidays"


def test_a_large_export_is_prepared_and_then_downloaded(drive: RunningDrive, as_: As) -> None:
    ada = as_(ADA)
    document = drive.world.add_document("Holidays", {"text/markdown": "# Holidays"}, owner=ADA).id
    operation = ada.begin_download(document, "text/markdown")
    for _ in range(5):
        if operation.get("done"):
            break
        operation = ada.operation(operation["name"], file_id=document)
    assert ada.prepared(document, operation["response"]["downloadUri"], max_bytes=100) == b"# Holidays"


def test_a_file_that_is_hidden_is_gone_and_its_permissions_are_denied_to_a_reader(drive: RunningDrive, as_: As) -> None:
    file = drive.world.add_file("a.md", "# A", owner=ADA).id
    ben = as_(BEN)
    for hidden in (ben.file, ben.permissions, ben.content_of):
        with pytest.raises(DocumentGone, match=file):
            hidden(file)
    drive.world.share(file, BEN)
    assert ben.file(file)["name"] == "a.md"
    with pytest.raises(DocumentDenied, match=file):
        ben.permissions(file)


@pytest.mark.parametrize("vocabulary", ["errors", "details", "both"])
def test_a_throttle_reaches_whoever_asks_with_its_time(drive: RunningDrive, as_: As, vocabulary: Any) -> None:
    ada = as_(ADA)
    start = ada.start_page_token()
    drive.faults.add(
        Fault("drive.changes.list", status=403, reason="userRateLimitExceeded", retry_after="7", vocabulary=vocabulary)
    )
    with pytest.raises(Throttled) as raised:
        ada.changes(start)
    assert raised.value.retry_after_s == 7
    assert ada.changes(start)["newStartPageToken"]


def test_answers_that_break_off_are_asked_for_again(drive: RunningDrive, as_: As) -> None:
    ada = as_(ADA)
    start = ada.start_page_token()
    for fault, expected in (
        (Fault("drive.changes.list", cut_at_bytes=10), DriveFault),
        (Fault("drive.changes.list", lost_at_bytes=10), TransientError),
        (Fault("drive.changes.list", status=404, body="<html>"), SourceUnavailable),
    ):
        drive.faults.add(fault)
        with pytest.raises(HeadwaterError) as raised:
            ada.changes(start)
        assert type(raised.value) is expected
        assert ada.changes(start)["newStartPageToken"]


def test_a_file_at_which_drive_fails_is_told_from_an_outage_of_drive(drive: RunningDrive, as_: As) -> None:
    ada = as_(ADA)
    document = drive.world.add_document("Holidays", {"text/markdown": "# Holidays"}, owner=ADA).id

    def read() -> HeadwaterError:
        with pytest.raises(HeadwaterError) as raised, told_from_an_outage(ada):
            ada.export(document, "text/markdown", max_bytes=100)
        return raised.value

    drive.faults.add(Fault("drive.files.export*", file_id=document, status=500, times=None))
    assert type(read()) is DocumentFault
    drive.faults.add(Fault("drive.about.get", status=503, times=1))
    assert type(read()) is DriveFault
    drive.faults.add(Fault("drive.about.get", status=429, reason="rateLimitExceeded", times=1))
    assert type(read()) is Throttled


def test_a_file_whose_connection_breaks_off_every_time_is_told_from_an_outage_too(drive: RunningDrive, as_: As) -> None:
    ada = as_(ADA)
    file = drive.world.add_file("a.md", "# A" * 50, owner=ADA).id
    drive.faults.add(Fault("drive.files.get:media", file_id=file, lost_at_bytes=10, times=None))
    with pytest.raises(DocumentFault) as raised, told_from_an_outage(ada):
        ada.download(file, max_bytes=1_000)
    assert (
        str(raised.value) == f"Drive at {drive.url} could not be asked to download file {file} (the answer broke off)."
    )


def test_nobody_asks_how_drive_is_while_files_can_be_read(drive: RunningDrive, as_: As) -> None:
    ada = as_(ADA)
    file = drive.world.add_file("a.md", "# A", owner=ADA).id
    with told_from_an_outage(ada):
        ada.download(file, max_bytes=100)
    with pytest.raises(DocumentGone), told_from_an_outage(ada):
        ada.file("nobody-has-this-id")
    assert drive.log.count("drive.about.get") == 0 < drive.log.count("drive.files.*")


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[tuple[RawDrive, DriveCalls]]:
    """Answers that neither Drive nor its emulator would give."""
    with running_raw_drive() as running:
        running.script("/token", token_reply())
        file = tmp_path / "person.json"
        file.write_text(json.dumps(person(running)))
        calls = DriveCalls(DriveService(CredentialSource(str(file)).sign_in(), root_url=running.url))
        yield running, calls
        calls.close()


def test_a_page_of_changes_that_leads_nowhere_is_not_taken_for_the_last(raw: tuple[RawDrive, DriveCalls]) -> None:
    running, calls = raw
    running.script("/drive/v3/changes", says({"changes": []}))
    with pytest.raises(InvalidCursor, match="did not say where to go on"):
        calls.changes("7")


@pytest.mark.parametrize(
    "answer", [{"files": {}}, {"files": ["1AbC"]}, {"files": None}, {"files": [], "nextPageToken": 7}]
)
def test_a_list_that_is_none_is_asked_for_again(raw: tuple[RawDrive, DriveCalls], answer: object) -> None:
    running, calls = raw
    running.script("/drive/v3/files", says(answer))
    with pytest.raises(DriveFault):
        calls.files("trashed = false")


def test_a_search_that_is_incomplete_says_so(raw: tuple[RawDrive, DriveCalls]) -> None:
    running, calls = raw
    running.script("/drive/v3/files", says({"files": [], "incompleteSearch": True}))
    assert calls.files("trashed = false")["incompleteSearch"] is True


def test_an_empty_list_may_be_left_out(raw: tuple[RawDrive, DriveCalls]) -> None:
    running, calls = raw
    running.script("/drive/v3/files", says({}))
    assert calls.files("trashed = false")["files"] == []


def test_a_feed_without_a_beginning_is_asked_for_again(raw: tuple[RawDrive, DriveCalls]) -> None:
    running, calls = raw
    running.script("/drive/v3/changes/startPageToken", says({}))
    with pytest.raises(DriveFault, match="gave no token"):
        calls.start_page_token()


def test_a_resource_key_travels_in_its_header_and_in_no_address(raw: tuple[RawDrive, DriveCalls]) -> None:
    running, calls = raw
    running.script("/drive/v3/files/1AbC", says({"id": "1AbC"}))
    calls.file("1AbC", resource_key="0-key")
    calls.download("1AbC", max_bytes=100, resource_key="0-key")
    calls.file("1AbC")
    asked = running.asked("/drive/v3/files/1AbC")
    assert [each.headers.get("x-goog-drive-resource-keys") for each in asked] == ["1AbC/0-key", "1AbC/0-key", None]
    assert not [each for each in asked if "0-key" in each.path]


def test_no_address_is_so_long_that_it_would_have_to_be_sent_otherwise(raw: tuple[RawDrive, DriveCalls]) -> None:
    running, calls = raw
    running.script("/drive/v3/files", says({}))
    running.script("/drive/v3/changes", says({"newStartPageToken": "8"}))
    calls.files(
        "'0123456789012345678901234567890123' in parents and trashed = false", drive_id="0" * 34, page_token="t" * 500
    )
    calls.changes("t" * 500, drive_id="0" * 34)
    assert max(len(running.url + each.path) for each in running.log) < 2_048
