"""The bytes of Drive files: whole, of one version, in the best form there is, and asked for no more often than needed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook
from pptx import Presentation

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.content import Content, content_version, obstacle, read_content
from activities.connectors.drive.credentials import CredentialSource
from activities.connectors.drive.errors import DriveFault
from activities.connectors.drive.export import PREPARED_WITHIN_S
from activities.connectors.drive.kinds import MARKDOWN, PPTX, TEXT, XLSX
from activities.connectors.drive.sessions import DriveSessions
from activities.parsers import Extraction, parse
from headwater.connectors import (
    DocumentDenied,
    DocumentGone,
    DocumentTooLarge,
    DocumentUnsupported,
    SourceUnavailable,
    Throttled,
)
from headwater.errors import TransientError
from tests.drive.faults import Fault
from tests.drive.serving import RunningDrive, running_drive
from tests.drive.world import World

ADA, ROBOT = "ada@a.test", "robot@a.test"
BYTES_MAX = 1 << 20
MEDIA, EXPORT, LINK, PREPARE, POLL, PREPARED = (
    "drive.files.get:media",
    "drive.files.export:media",
    "exportLink",
    "drive.files.download",
    "drive.operations.get",
    "downloadUri",
)


@dataclass
class Reading:
    """A served world, in a folder of which the robot reads."""

    drive: RunningDrive
    calls: DriveCalls
    folder: str
    waits: list[float]

    @property
    def world(self) -> World:
        return self.drive.world

    def read(self, file_id: str, *, max_bytes: int = BYTES_MAX, **more: Any) -> Content:
        return read_content(self.calls, file_id, max_bytes=max_bytes, wait=self.waits.append, **more)

    def file(self, name: str = "plan.txt", data: bytes | str = b"first", **more: Any) -> str:
        return self.world.add_file(name, data, parent=self.folder, owner=ADA, **more).id

    def document(self, exports: dict[str, bytes | str], *, name: str = "Plan", **more: Any) -> str:
        return self.world.add_document(name, exports, parent=self.folder, owner=ADA, **more).id

    def asked(self, *methods: str) -> list[int]:
        """How often each of the methods was called."""
        return [self.drive.log.count(method) for method in methods]

    def fail(self, method: str, **fault: Any) -> None:
        self.drive.faults.add(Fault(method, **{"times": None, **fault}))


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reading]:
    world = World()
    for email in (ADA, ROBOT):
        world.add_user(email)
    folder = world.add_folder("Office", owner=ADA).id
    world.share(folder, ROBOT)
    with running_drive(world) as drive:
        source = CredentialSource(str(drive.authorized_user_file(tmp_path, ROBOT)))
        sessions = DriveSessions()
        with sessions.lent(source, root_url=f"{drive.url}/") as calls:
            yield Reading(drive, calls, folder, [])
        sessions.close()


def sheet() -> bytes:
    book, buffer = Workbook(), BytesIO()
    first = book.active
    assert first is not None
    first.append(["first tab"])
    book.create_sheet("Costs").append(["SECOND NEEDLE", 42])
    book.save(buffer)
    return buffer.getvalue()


def deck() -> bytes:
    slides, buffer = Presentation(), BytesIO()
    frame = slides.slides.add_slide(slides.slide_layouts[5]).notes_slide.notes_text_frame
    assert frame is not None
    frame.text = "NOTES NEEDLE"
    slides.save(buffer)
    return buffer.getvalue()


def text_of(content: Content) -> str:
    result = parse(content.name, content.data, content.media_type, 1 << 20)
    assert isinstance(result, Extraction), result
    return result.text


def test_a_file_is_its_bytes_with_one_download_between_two_looks(reading: Reading) -> None:
    content = reading.read(reading.file("plan.md", "# Plan\n"))
    assert (content.data, content.name, content.media_type) == (b"# Plan\n", "plan.md", "text/markdown")
    assert reading.asked(MEDIA, "drive.files.get") == [1, 2]


@pytest.mark.parametrize("data", [b"", b"x" * BYTES_MAX])
def test_a_file_may_be_empty_and_as_large_as_allowed(reading: Reading, data: bytes) -> None:
    assert reading.read(reading.file(data=data)).data == data


def test_a_file_above_the_limit_is_not_downloaded(reading: Reading) -> None:
    file = reading.file(data=b"x" * 1001)
    with pytest.raises(DocumentTooLarge, match="1,001 bytes, more than the limit of 1,000"):
        reading.read(file, max_bytes=1000)
    assert reading.asked(MEDIA) == [0]


def test_a_file_that_is_replaced_while_it_is_read_is_wholly_the_new_one(reading: Reading) -> None:
    file = reading.file(data="old " * 1000)
    reading.world.on_download(file, lambda: reading.world.write(file, "new"))
    content = reading.read(file)
    assert content.data == b"new"
    assert content.version == content_version(reading.calls.content_of(file))
    assert reading.asked(MEDIA) == [2]


def test_a_file_that_is_replaced_before_its_bytes_are_taken_is_the_new_one_at_once(reading: Reading) -> None:
    file = reading.file(data="old")
    reading.world.on_download(file, lambda: reading.world.write(file, "new"), when="before")
    assert reading.read(file).data == b"new"
    assert reading.asked(MEDIA) == [1]


def test_a_file_that_is_replaced_again_and_again_is_wholly_one_of_its_versions(reading: Reading) -> None:
    file = reading.file(data="0")
    for number in range(1, 4):
        reading.world.on_download(file, replace_with(reading, file, str(number)), nth=number)
    content = reading.read(file)
    assert content.data == b"2" and content.version != content_version(reading.calls.content_of(file))
    assert reading.asked(MEDIA) == [3]


def replace_with(reading: Reading, file: str, data: str) -> Callable[[], object]:
    return lambda: reading.world.write(file, data)


def test_a_file_that_is_renamed_while_it_is_read_is_not_read_again(reading: Reading) -> None:
    file = reading.file("old.txt", "text")
    reading.world.on_download(file, lambda: reading.world.rename(file, "new.md"))
    content = reading.read(file)
    assert content.name == "new.md" and content.data == b"text"
    assert reading.asked(MEDIA) == [1]


def test_bytes_that_were_cut_short_are_read_again_and_never_passed_on(reading: Reading) -> None:
    file = reading.file(data=b"x" * 1000)
    reading.fail(MEDIA, cut_at_bytes=500, times=1)
    assert reading.read(file).data == b"x" * 1000
    reading.fail(MEDIA, cut_at_bytes=500)
    with pytest.raises(DriveFault, match="are not those that Drive says it has"):
        reading.read(file)
    assert reading.asked(MEDIA) == [5]


def test_a_connection_that_is_lost_is_for_another_attempt(reading: Reading) -> None:
    file = reading.file(data=b"x" * 1000)
    reading.fail(MEDIA, lost_at_bytes=500)
    with pytest.raises(TransientError):
        reading.read(file)
    assert reading.asked(MEDIA) == [1]


def test_a_file_that_is_trashed_deleted_or_unshared_meanwhile_is_gone(reading: Reading) -> None:
    world = reading.world
    trashed, deleted = reading.file("a.txt"), reading.file("b.txt")
    world.on_download(trashed, lambda: world.trash(trashed))
    world.on_download(deleted, lambda: world.delete(deleted))
    for file in (trashed, deleted):
        with pytest.raises(DocumentGone):
            reading.read(file)
    hidden = world.add_file("c.txt", "x", owner=ADA).id
    with pytest.raises(DocumentGone):
        reading.read(hidden)
    assert reading.drive.log.count(MEDIA, file_id=hidden) == 0


def test_a_file_that_becomes_a_document_meanwhile_is_exported(reading: Reading) -> None:
    file = reading.file("plan.txt", "old")
    reading.world.on_download(
        file,
        lambda: reading.world.write(
            file, mime_type="application/vnd.google-apps.document", exports={MARKDOWN: "# new"}
        ),
    )
    content = reading.read(file)
    assert content.data == b"# new" and content.name == "plan.txt.md"


def test_what_may_not_be_downloaded_is_denied(reading: Reading) -> None:
    restricted, abusive = reading.file(download_restricted=True), reading.file(is_abusive=True)
    for file in (restricted, abusive):
        with pytest.raises(DocumentDenied):
            reading.read(file)
    assert isinstance(obstacle(reading.calls.file(restricted)), DocumentDenied)
    assert obstacle(reading.calls.file(reading.file())) is None


def test_a_throttle_goes_on_to_whoever_can_wait(reading: Reading) -> None:
    file = reading.file()
    reading.fail(MEDIA, status=403, reason="userRateLimitExceeded", retry_after="7")
    with pytest.raises(Throttled) as caught:
        reading.read(file)
    assert caught.value.retry_after_s == 7


def test_a_key_opens_what_is_shared_by_link(reading: Reading) -> None:
    world = reading.world
    world.modes.export_limit = 100
    reading.fail(LINK, status=403)
    file = world.add_file("linked.txt", "text", owner=ADA, resource_key="k-1").id
    small = world.add_document("small", {MARKDOWN: "small"}, owner=ADA, resource_key="k-2").id
    large = world.add_document("large", {MARKDOWN: "large" * 100}, owner=ADA, resource_key="k-3").id
    for each in (file, small, large):
        world.share(each, type="anyone")
        with pytest.raises(DocumentGone):
            reading.read(each)
    assert reading.read(file, resource_key="k-1").data == b"text"
    assert reading.read(small, resource_key="k-2").data == b"small"
    assert reading.read(large, resource_key="k-3").data == b"large" * 100


def test_a_document_is_markdown_without_its_images(reading: Reading) -> None:
    markdown = f"# Plan\n\n![][image1]\n\n[image1]: <data:image/png;base64,{'iVBORw0KGgo' * 500}>\n"
    content = reading.read(reading.document({MARKDOWN: markdown, TEXT: "Plan"}))
    assert (content.data, content.name, content.media_type) == (b"# Plan\n\n![][image1]\n\n", "Plan.md", MARKDOWN)
    assert reading.asked(EXPORT, "drive.files.get", MEDIA) == [1, 2, 0]


def test_a_document_that_has_no_markdown_is_plain_text_without_a_byte_order_mark(reading: Reading) -> None:
    content = reading.read(reading.document({TEXT: "Plan"}))
    assert (content.data, content.name, content.media_type) == (b"Plan", "Plan.txt", TEXT)


def test_a_document_that_always_fails_as_markdown_is_plain_text(reading: Reading) -> None:
    file = reading.document({MARKDOWN: "# Plan", TEXT: "Plan"})
    reading.fail(EXPORT, status=500, times=3)
    assert reading.read(file).media_type == TEXT
    assert reading.asked(EXPORT, "drive.about.get") == [4, 1] and reading.waits == [1.0, 4.0]


def test_a_document_does_not_change_its_form_with_the_weather(reading: Reading) -> None:
    file = reading.document({MARKDOWN: "# Plan", TEXT: "Plan"})
    reading.fail(EXPORT, status=500, times=2)
    assert reading.read(file).media_type == MARKDOWN
    reading.fail(EXPORT, status=503, retry_after="30", times=1)
    with pytest.raises(DriveFault) as caught:
        reading.read(file)
    assert caught.value.retry_after_s == 30
    reading.fail("drive.about.get", status=503)
    reading.fail(EXPORT, status=500)
    with pytest.raises(DriveFault):
        reading.read(file)
    assert reading.drive.log.of(EXPORT)[-1].parameters["mimeType"] == MARKDOWN


def test_a_document_that_always_fails_in_every_form_has_failed_and_is_not_refused(reading: Reading) -> None:
    both, one = reading.document({MARKDOWN: "x", TEXT: "x"}), reading.document({MARKDOWN: "x"})
    reading.fail(EXPORT, file_id=both, status=500)
    reading.fail(EXPORT, file_id=one, status=500, times=3)
    for file in (both, one):
        with pytest.raises(DriveFault):
            reading.read(file)


def test_a_spreadsheet_is_all_of_its_tabs(reading: Reading) -> None:
    content = reading.read(
        reading.document({XLSX: sheet(), "text/csv": "first tab"}, kind="spreadsheet", name="Budget")
    )
    assert content.name == "Budget.xlsx" and content.media_type == XLSX
    assert "first tab" in text_of(content) and "SECOND NEEDLE | 42" in text_of(content)


def test_slides_are_read_with_their_notes_and_as_text_where_that_fails(reading: Reading) -> None:
    content = reading.read(reading.document({PPTX: deck(), TEXT: "slides"}, kind="presentation"))
    assert content.media_type == PPTX and "NOTES NEEDLE" in text_of(content)
    content = reading.read(reading.document({TEXT: "slides"}, kind="presentation"))
    assert content.media_type == TEXT and text_of(content) == "slides"


@pytest.mark.parametrize("kind", ["form", "site", "map", "script", "fusiontable", "drive-sdk.123"])
def test_what_cannot_be_exported_is_unsupported_and_not_asked_for(reading: Reading, kind: str) -> None:
    with pytest.raises(DocumentUnsupported, match="cannot be exported"):
        reading.read(reading.document({}, kind=kind))
    assert reading.asked(EXPORT, MEDIA) == [0, 0]


def test_folders_and_shortcuts_have_no_content(reading: Reading) -> None:
    shortcut = reading.world.add_shortcut("Plan", reading.file(), parent=reading.folder, owner=ADA).id
    for file in (reading.folder, shortcut):
        with pytest.raises(DocumentUnsupported, match="no content of its own"):
            reading.read(file)
    assert reading.asked(EXPORT, MEDIA) == [0, 0]


def test_a_document_that_may_not_be_exported_is_not_tried_in_every_form(reading: Reading) -> None:
    with pytest.raises(DocumentDenied):
        reading.read(reading.document({MARKDOWN: "x", TEXT: "x"}, download_restricted=True))
    assert reading.asked(EXPORT) == [1]


def test_a_document_that_is_edited_while_it_is_exported_is_exported_again(reading: Reading) -> None:
    file = reading.document({MARKDOWN: "old"})
    reading.world.on_download(file, lambda: reading.world.write(file, exports={MARKDOWN: "new"}))
    content = reading.read(file)
    assert content.data == b"new" and content.version == content_version(reading.calls.content_of(file))
    assert reading.asked(EXPORT) == [2]


def test_a_document_that_somebody_looks_at_meanwhile_is_exported_once(reading: Reading) -> None:
    file = reading.document({MARKDOWN: "text"})
    reading.world.on_download(file, lambda: reading.world.view(file, by=ADA))
    assert reading.read(file).data == b"text"
    assert reading.asked(EXPORT) == [1]


def test_a_large_document_comes_by_its_link(reading: Reading) -> None:
    reading.world.modes.export_limit = 100
    content = reading.read(reading.document({MARKDOWN: "word " * 100, TEXT: "plain"}))
    assert content.data == b"word " * 100 and content.media_type == MARKDOWN
    assert reading.asked(EXPORT, LINK, PREPARE) == [1, 1, 0]


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 403, "body": "<html>sign in</html>"},
        {"status": 404, "body": "<html>"},
        {"status": 200, "body": "<!DOCTYPE html><title>Sign in"},
    ],
)
def test_a_link_that_leads_to_a_page_gives_way_to_a_prepared_download(reading: Reading, fault: dict[str, Any]) -> None:
    reading.world.modes.export_limit = 100
    reading.drive.operations.polls_until_done = 3
    reading.fail(LINK, **fault)
    content = reading.read(reading.document({MARKDOWN: "word " * 100}))
    assert content.data == b"word " * 100
    assert reading.asked(EXPORT, LINK, PREPARE, POLL, PREPARED) == [1, 1, 1, 3, 1]
    assert reading.waits == [0.5, 1.0, 2.0]


def test_a_sheet_by_link_is_a_sheet_and_no_page(reading: Reading) -> None:
    reading.world.modes.export_limit = 100
    content = reading.read(reading.document({XLSX: sheet()}, kind="spreadsheet"))
    assert "SECOND NEEDLE" in text_of(content)
    reading.fail(LINK, status=200, body="No sheet")
    assert "SECOND NEEDLE" in text_of(reading.read(reading.document({XLSX: sheet()}, kind="spreadsheet")))


def test_a_download_that_is_never_prepared_is_asked_for_another_time(reading: Reading) -> None:
    reading.world.modes.export_limit = 100
    reading.drive.operations.polls_until_done = 1_000
    reading.fail(LINK, status=403)
    with pytest.raises(DriveFault, match="still preparing"):
        reading.read(reading.document({MARKDOWN: "word " * 100}))
    assert sum(reading.waits) >= PREPARED_WITHIN_S and len(reading.waits) < 15


def test_a_download_that_cannot_be_prepared_leaves_the_document_too_large(reading: Reading) -> None:
    reading.world.modes.export_limit = 100
    file = reading.document({MARKDOWN: "word " * 100})
    reading.fail(LINK, status=403)
    reading.fail(PREPARE, status=403, reason="cannotExportFile")
    with pytest.raises(DocumentTooLarge):
        reading.read(file)


def test_a_download_that_fails_for_the_day_is_asked_for_another_time(reading: Reading) -> None:
    reading.world.modes.export_limit = 100
    file = reading.document({MARKDOWN: "word " * 100})
    reading.fail(LINK, status=403)
    reading.fail(POLL, status=503)
    with pytest.raises(DriveFault):
        reading.read(file)


def test_markdown_above_our_limit_gives_way_to_text_below_it(reading: Reading) -> None:
    content = reading.read(reading.document({MARKDOWN: "x" * 3_000_000, TEXT: "plain"}), max_bytes=2_000_000)
    assert (content.data, content.media_type) == (b"plain", TEXT)


def test_a_document_above_our_limit_in_every_form_is_too_large(reading: Reading) -> None:
    reading.world.modes.export_limit = 100
    with pytest.raises(DocumentTooLarge):
        reading.read(reading.document({MARKDOWN: "x" * 3_000_000, TEXT: "y" * 3_000_000}), max_bytes=2_000_000)
    assert reading.asked(EXPORT, LINK, PREPARE) == [2, 2, 0]


def test_lost_credentials_stop_the_connector_and_not_the_file(reading: Reading) -> None:
    file = reading.document({MARKDOWN: "x"})
    reading.read(file)
    reading.fail(EXPORT, status=403, reason="insufficientPermissions")
    with pytest.raises(SourceUnavailable):
        reading.read(file)


def test_the_version_of_a_file_is_that_of_its_bytes_and_of_a_document_that_of_all(reading: Reading) -> None:
    world = reading.world
    file, document = reading.file("a.txt", "text"), reading.document({MARKDOWN: "text"})
    of_file, of_document = (reading.read(each).version for each in (file, document))
    world.rename(file, "b.txt")
    world.share(file, "x@b.test")
    assert content_version(reading.calls.file(file)) == of_file
    world.write(file, "other")
    assert content_version(reading.calls.file(file)) != of_file
    assert content_version(reading.calls.file(document)) == of_document
    modified = world.get(document, ADA).modified
    world.write(document, exports={MARKDOWN: "other"}, modified=modified)
    assert content_version(reading.calls.file(document)) != of_document
    assert content_version({"mimeType": "text/plain", "version": "7"}) is None


def test_what_is_encrypted_by_its_owner_is_unsupported() -> None:
    file = {"mimeType": "text/plain", "name": "a.txt", "clientEncryptionDetails": {"encryptionState": "encrypted"}}
    assert isinstance(obstacle(file), DocumentUnsupported)
    assert obstacle({**file, "clientEncryptionDetails": {"encryptionState": "unencrypted"}}) is None
