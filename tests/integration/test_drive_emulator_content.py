"""The bytes of files on the emulated Drive: ranges, exports, what is too large to export, and replaced files."""

import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from googleapiclient.errors import HttpError  # type: ignore[import-untyped]  # it comes without types
from googleapiclient.http import MediaIoBaseDownload  # type: ignore[import-untyped]  # it comes without types

from tests.integration.drive_office import ADA, PLAN, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as opened:
        yield opened


def downloaded(request: Any, *, chunk: int = 1024 * 1024) -> bytes:
    """What Google's downloader makes of a request, chunk by chunk."""
    data = io.BytesIO()
    downloader = MediaIoBaseDownload(data, request, chunksize=chunk)
    is_done = False
    while not is_done:
        _, is_done = downloader.next_chunk()
    return data.getvalue()


def raw(office: Office, address: str, **headers: str) -> tuple[Any, bytes]:
    """An answer as it came, for what the client hides."""
    answer, body = office.robot._http.request(address, headers=headers)
    return answer, body


def media_address(office: Office) -> str:
    return f"{office.drive.url}/drive/v3/files/{office.file}?alt=media"


def test_a_download_is_whole(office: Office) -> None:
    assert office.robot.files().get_media(fileId=office.file).execute() == PLAN


def test_a_download_in_ranges_is_the_same(office: Office) -> None:
    assert downloaded(office.robot.files().get_media(fileId=office.file), chunk=7) == PLAN
    assert office.drive.log.of("drive.files.get:media")[0].range == "bytes=0-6"


@pytest.mark.parametrize(
    ("range_", "status", "content_range", "body"),
    [
        ("bytes=0-5", 206, "bytes 0-5/41", PLAN[:6]),
        ("bytes=6-", 206, "bytes 6-40/41", PLAN[6:]),
        ("bytes=-4", 206, "bytes 37-40/41", PLAN[-4:]),
        ("bytes=40-99", 206, "bytes 40-40/41", PLAN[40:]),
        ("bytes=41-50", 416, "bytes */41", b""),
        ("bytes=9-2", 200, None, PLAN),
        ("bytes=0-1,4-5", 200, None, PLAN),
        ("lines=1-2", 200, None, PLAN),
    ],
)
def test_a_range_is_answered(office: Office, range_: str, status: int, content_range: str | None, body: bytes) -> None:
    answer, sent = raw(office, media_address(office), Range=range_)

    assert (answer.status, answer.get("content-range"), sent) == (status, content_range, body)


def test_an_empty_file_has_no_range_and_downloads_as_nothing(office: Office) -> None:
    empty = office.world.add_file("empty.txt", b"", parent=office.folder, owner=ADA).id

    assert downloaded(office.robot.files().get_media(fileId=empty)) == b""
    assert office.drive.log.of("drive.files.get:media")[0].status == 416


def test_a_file_that_is_replaced_between_two_ranges_is_spliced(office: Office) -> None:
    office.world.on_download(
        office.file, lambda: office.world.write(office.file, PLAN.upper(), by=ADA), nth=2, when="before"
    )

    spliced = downloaded(office.robot.files().get_media(fileId=office.file), chunk=20)

    assert spliced == PLAN[:20] + PLAN.upper()[20:]


def test_a_document_has_no_bytes_but_exports(office: Office) -> None:
    document = office.world.add_document("Notes", {"text/plain": "Rain."}, parent=office.folder, owner=ADA).id

    assert refused_bytes(office.robot.files().get_media(fileId=document)) == (403, "fileNotDownloadable")
    exported = office.robot.files().export(fileId=document, mimeType="text/plain").execute()
    assert exported.decode("utf-8-sig") == "Rain."
    assert exported.startswith("\ufeff".encode())


def refused_bytes(request: Any) -> tuple[int, str]:
    return refused(request)[:2]


def test_nobody_knows_how_long_an_export_will_be(office: Office) -> None:
    document = office.world.add_document("Notes", {"text/plain": "Rain."}, parent=office.folder, owner=ADA).id
    address = f"{office.drive.url}/drive/v3/files/{document}/export?mimeType=text/plain"

    answer, _ = raw(office, address, Range="bytes=0-1")

    assert answer.status == 200
    assert "content-length" not in answer
    assert downloaded(office.robot.files().export_media(fileId=document, mimeType="text/plain"))


def test_an_export_to_a_type_that_there_is_not_is_refused(office: Office) -> None:
    sheet = office.world.add_document("Sums", {XLSX: b"PK"}, kind="spreadsheet", parent=office.folder, owner=ADA).id

    assert refused_bytes(office.robot.files().export(fileId=sheet, mimeType="text/markdown"))[0] in (400, 403)
    assert refused_bytes(office.robot.files().export(fileId=office.file, mimeType="text/plain"))[0] == 403


@pytest.fixture
def large(office: Office) -> str:
    """A document whose export is over the limit."""
    office.world.modes.export_limit = 100
    return office.world.add_document(
        "Large", {XLSX: b"PK" * 99}, kind="spreadsheet", parent=office.folder, owner=ADA
    ).id


def test_an_export_over_the_limit_is_refused_and_had_by_its_link(office: Office, large: str) -> None:
    assert refused_bytes(office.robot.files().export(fileId=large, mimeType=XLSX)) == (403, "exportSizeLimitExceeded")

    links = office.robot.files().get(fileId=large, fields="exportLinks").execute()["exportLinks"]

    answer, body = raw(office, links[XLSX])
    assert (answer.status, body) == (200, b"PK" * 99)
    assert office.drive.log.count("exportLink", file_id=large) == 1


def test_an_export_link_is_for_those_who_may_read(office: Office, large: str) -> None:
    links = office.robot.files().get(fileId=large, fields="exportLinks").execute()["exportLinks"]

    assert office.ben._http.request(links[XLSX])[0].status == 404


def test_a_long_running_download_is_begun_asked_for_and_fetched(office: Office, large: str) -> None:
    office.drive.operations.polls_until_done = 2
    begun = office.robot.files().download(fileId=large, mimeType=XLSX).execute()

    operation = office.robot.operations().get(name=begun["name"]).execute()
    assert (begun["done"], operation["done"]) == (False, False)
    operation = office.robot.operations().get(name=begun["name"]).execute()
    assert operation["done"] is True
    answer, body = raw(office, operation["response"]["downloadUri"])

    assert (answer.status, body) == (200, b"PK" * 99)
    assert office.ben._http.request(operation["response"]["downloadUri"])[0].status == 404
    assert refused(office.ben.operations().get(name=begun["name"]))[0] == 404


def test_a_download_that_cannot_be_made_ends_with_an_error(office: Office, large: str) -> None:
    begun = office.robot.files().download(fileId=large, mimeType="text/plain").execute()

    operation = office.robot.operations().get(name=begun["name"]).execute()

    assert operation["done"] is True
    assert "response" not in operation
    assert operation["error"]["code"] in (3, 7)


def test_an_operation_is_known_for_a_day(office: Office, large: str) -> None:
    begun = office.robot.files().download(fileId=large).execute()
    office.world.clock.advance(timedelta(hours=24))

    assert refused(office.robot.operations().get(name=begun["name"]))[0] == 404


def test_a_download_that_the_owner_forbids_is_refused(office: Office) -> None:
    office.world.edit(office.file, copy_requires_writer=True)

    assert office.robot.files().get(fileId=office.file, fields="capabilities/canDownload").execute() == {
        "capabilities": {"canDownload": False}
    }
    with pytest.raises(HttpError) as error:
        office.robot.files().get_media(fileId=office.file).execute()
    assert error.value.resp.status == 403
