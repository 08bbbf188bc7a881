"""Files on the emulated Drive, as Google's client makes, finds and changes them."""

import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from googleapiclient.http import MediaIoBaseUpload  # type: ignore[import-untyped]  # it comes without types

from tests.integration.drive_office import ADA, PLAN, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

FOLDER = "application/vnd.google-apps.folder"


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as opened:
        yield opened


def names(service: Any, **asked: Any) -> list[str]:
    """The names that a listing finds, page by page."""
    found: list[str] = []
    request = service.files().list(fields="nextPageToken,files(name)", **asked)
    while request is not None:
        answer = request.execute()
        found += [file["name"] for file in answer["files"]]
        request = service.files().list_next(request, answer)
    return found


def uploaded(data: bytes, media_type: str = "text/markdown", **more: Any) -> Any:
    return MediaIoBaseUpload(io.BytesIO(data), mimetype=media_type, **more)


def test_a_user_finds_what_is_shared_and_nothing_else(office: Office) -> None:
    assert sorted(names(office.robot)) == ["Office", "plan.md"]
    assert names(office.ben) == []


def test_a_listing_ends_after_its_last_page(office: Office) -> None:
    for number in range(23):
        office.world.add_file(f"{number}.md", b"x", parent=office.folder, owner=ADA)

    asked = {"q": f"'{office.folder}' in parents and trashed = false", "pageSize": 5}

    assert sorted(names(office.robot, **asked)) == sorted(["plan.md", *(f"{number}.md" for number in range(23))])
    assert office.drive.log.count("drive.files.list") == 5


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("name = 'plan.md'", ["plan.md"]),
        ("name contains 'plan'", ["plan.md"]),
        (f"mimeType = '{FOLDER}'", ["Office"]),
        (f"mimeType != '{FOLDER}'", ["plan.md"]),
        (f"not mimeType = '{FOLDER}'", ["plan.md"]),
        ("trashed = true", []),
        ("sharedWithMe", ["Office"]),
        ("name = 'plan.md' and trashed = false", ["plan.md"]),
        ("name = 'plan.md' and (trashed = true or name = 'no')", []),
        (f"name = 'nothing' or mimeType = '{FOLDER}'", ["Office"]),
    ],
)
def test_a_query_finds(office: Office, q: str, found: list[str]) -> None:
    assert names(office.robot, q=q) == found


def test_a_quote_in_a_name_is_escaped_in_a_query(office: Office) -> None:
    office.world.add_file("Ada's \\ list.md", b"x", parent=office.folder, owner=ADA)

    assert names(office.robot, q="name = 'Ada\\'s \\\\ list.md'") == ["Ada's \\ list.md"]


def test_a_query_that_makes_no_sense_is_refused(office: Office) -> None:
    assert refused(office.robot.files().list(q="name ="))[:2] == (400, "invalid")
    assert refused(office.robot.files().list(q="colour = 'red'"))[:2] == (400, "invalid")


def test_without_a_mask_a_file_has_its_basic_fields(office: Office) -> None:
    assert office.robot.files().get(fileId=office.file).execute() == {
        "kind": "drive#file",
        "id": office.file,
        "name": "plan.md",
        "mimeType": "text/markdown",
    }


def test_numbers_beyond_int32_are_strings(office: Office) -> None:
    file = office.robot.files().get(fileId=office.file, fields="size,version,md5Checksum").execute()

    assert file["size"] == str(len(PLAN))
    assert isinstance(file["version"], str)


@pytest.mark.parametrize(
    ("parameters", "location"),
    [
        ({"colour": "red"}, "colour"),
        ({"fields": "files(colour)"}, "fields"),
        ({"pageSize": "0"}, "pageSize"),
        ({"pageSize": "many"}, "pageSize"),
        ({"includeItemsFromAllDrives": "yes"}, "includeItemsFromAllDrives"),
        ({"corpus": "universe"}, "corpus"),
        ({"alt": "media"}, "alt"),
    ],
)
def test_a_wrong_parameter_is_refused_and_named(office: Office, parameters: dict[str, str], location: str) -> None:
    # By hand: Google's client would not send them.
    answer, body = office.robot._http.request(f"{office.drive.url}/drive/v3/files?{urlencode(parameters)}")

    assert answer.status == 400
    assert f'"location": "{location}"' in body.decode()


def test_a_page_size_beyond_the_maximum_is_brought_down(office: Office) -> None:
    assert names(office.robot, pageSize=5000) == names(office.robot)


def test_what_cannot_be_seen_is_not_found(office: Office) -> None:
    expected = (404, "notFound", f"File not found: {office.file}.")

    assert refused(office.ben.files().get(fileId=office.file)) == expected
    assert refused(office.ben.files().update(fileId=office.file, body={"name": "mine"})) == expected
    assert refused(office.ben.files().delete(fileId=office.file)) == expected


@pytest.mark.parametrize("is_resumable", [False, True])
def test_bytes_are_uploaded_unchanged(office: Office, is_resumable: bool) -> None:
    data = bytes(range(256)) * 40 + b"\r\n--\n\r"
    made = (
        office.ada.files()
        .create(
            body={"name": "blob.bin", "parents": [office.folder]},
            media_body=uploaded(data, "application/octet-stream", resumable=is_resumable),
        )
        .execute()
    )

    assert office.robot.files().get_media(fileId=made["id"]).execute() == data


def test_a_resumable_upload_comes_in_chunks(office: Office) -> None:
    data = bytes(range(256)) * 4096
    media = uploaded(data, "application/octet-stream", resumable=True, chunksize=256 * 1024)
    request = office.ada.files().create(body={"name": "big.bin", "parents": [office.folder]}, media_body=media)
    made = None
    while made is None:
        _, made = request.next_chunk()

    assert office.robot.files().get_media(fileId=made["id"]).execute() == data
    assert office.drive.log.count("upload") == 4


def test_an_upload_without_metadata_is_a_file(office: Office) -> None:
    made = office.ada.files().create(media_body=uploaded(b"x"), fields="name,mimeType,size").execute()

    assert made == {"name": "Untitled", "mimeType": "text/markdown", "size": "1"}


def test_folders_shortcuts_and_documents_are_made(office: Office) -> None:
    folder = office.ada.files().create(body={"name": "Below", "mimeType": FOLDER, "parents": [office.folder]}).execute()
    shortcut = (
        office.ada.files()
        .create(
            body={
                "name": "To the plan",
                "mimeType": "application/vnd.google-apps.shortcut",
                "shortcutDetails": {"targetId": office.file},
                "parents": [folder["id"]],
            },
            fields="shortcutDetails,parents",
        )
        .execute()
    )
    document = (
        office.ada.files()
        .create(
            body={"name": "Minutes", "mimeType": "application/vnd.google-apps.document", "parents": [folder["id"]]},
            media_body=uploaded(b"We met.", "text/plain"),
        )
        .execute()
    )

    assert shortcut == {
        "shortcutDetails": {"targetId": office.file, "targetMimeType": "text/markdown"},
        "parents": [folder["id"]],
    }
    assert b"We met." in office.robot.files().export(fileId=document["id"], mimeType="text/plain").execute()


def test_a_rename_keeps_the_bytes_and_raises_the_version(office: Office) -> None:
    fields = "name,version,md5Checksum,modifiedTime"
    before = office.ada.files().get(fileId=office.file, fields=fields).execute()

    after = office.ada.files().update(fileId=office.file, body={"name": "scheme.md"}, fields=fields).execute()

    assert after["name"] == "scheme.md"
    assert after["md5Checksum"] == before["md5Checksum"]
    assert after["modifiedTime"] == before["modifiedTime"]
    assert int(after["version"]) > int(before["version"])


def test_new_bytes_are_a_new_revision(office: Office) -> None:
    fields = "headRevisionId,size,modifiedTime"
    before = office.ada.files().get(fileId=office.file, fields=fields).execute()

    after = office.ada.files().update(fileId=office.file, media_body=uploaded(b"short"), fields=fields).execute()

    assert after["size"] == "5"
    assert after["headRevisionId"] != before["headRevisionId"]
    assert after["modifiedTime"] > before["modifiedTime"]


def test_a_file_moves_by_its_parents(office: Office) -> None:
    attic = office.ada.files().create(body={"name": "Attic", "mimeType": FOLDER}).execute()["id"]

    moved = (
        office.ada.files()
        .update(fileId=office.file, addParents=attic, removeParents=office.folder, fields="parents")
        .execute()
    )

    assert moved == {"parents": [attic]}
    assert refused(office.robot.files().get(fileId=office.file))[0] == 404


def test_parents_are_not_written_directly(office: Office) -> None:
    status, reason, message = refused(office.ada.files().update(fileId=office.file, body={"parents": []}))

    assert (status, reason) == (403, "fieldNotWritable")
    assert "Use addParents and removeParents" in message
    assert refused(office.ada.files().update(fileId=office.file, body={"size": "1"}))[:2] == (403, "fieldNotWritable")


def test_a_body_that_the_schema_does_not_allow_is_refused(office: Office) -> None:
    assert refused(office.ada.files().update(fileId=office.file, body={"trashed": "yes"}))[:2] == (400, "badRequest")
    assert refused(office.ada.files().update(fileId=office.file, body={"colour": "red"}))[:2] == (400, "badRequest")


def test_the_trash_is_listed_unless_it_is_asked_not_to_be(office: Office) -> None:
    office.ada.files().update(fileId=office.file, body={"trashed": True}).execute()

    assert "plan.md" in names(office.ada)
    assert "plan.md" not in names(office.ada, q="trashed = false")

    office.ada.files().update(fileId=office.file, body={"trashed": False}).execute()

    assert "plan.md" in names(office.ada, q="trashed = false")


def test_a_reader_changes_nothing(office: Office) -> None:
    assert refused(office.robot.files().update(fileId=office.file, body={"name": "mine"}))[0] == 403
    assert refused(office.robot.files().delete(fileId=office.file))[0] == 403


def test_a_copy_is_a_file_of_its_own(office: Office) -> None:
    copy = office.robot.files().copy(fileId=office.file, body={"name": "copy.md"}, fields="id,ownedByMe").execute()

    assert copy["ownedByMe"] is True
    assert copy["id"] != office.file
    assert office.robot.files().get_media(fileId=copy["id"]).execute() == PLAN


def test_what_is_deleted_is_gone(office: Office) -> None:
    assert office.ada.files().delete(fileId=office.file).execute() == ""
    assert refused(office.ada.files().get(fileId=office.file))[0] == 404


def test_the_calls_of_a_batch_are_answered_each_for_itself(office: Office) -> None:
    answers: dict[str, Any] = {}
    batch = office.robot.new_batch_http_request(
        callback=lambda name, answer, error: answers.update({name: answer or error.resp.status})
    )
    batch.add(office.robot.files().get(fileId=office.file, fields="name"), request_id="seen")
    batch.add(office.robot.files().get(fileId="nothing"), request_id="unseen")
    batch.add(office.robot.files().create(body={"name": "été.md"}, fields="name"), request_id="made")
    batch.execute()

    assert answers == {"seen": {"name": "plan.md"}, "unseen": 404, "made": {"name": "été.md"}}
    assert [entry.method for entry in office.drive.log.of("*")] == [
        "batch",
        "drive.files.get",
        "drive.files.get",
        "drive.files.create",
    ]
