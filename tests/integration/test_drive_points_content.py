"""Content that is refused, replaced, cut, too large or gone costs its own document, which says why, and never another one."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Literal
from zipfile import ZIP_STORED, ZipFile

import pytest

from activities.store import Store
from tests.drive.faults import Fault
from tests.drive.native import PPTX, XLSX
from tests.integration.drive_corpus import ADA, BEN, DOWNLOAD, EXPORT
from tests.integration.drive_desk import Desk, open_desk
from tests.unit.small_office import xlsx

GOOD = "A good text that everything else must not cost."


@pytest.fixture
def desk(store: Store, database: str, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(store, database, tmp_path) as desk:
        yield desk


REFUSALS = {
    "fileNotDownloadable": "unsupported",
    "cannotDownloadFile": "denied",
    "cannotDownloadAbusiveFile": "denied",
    "insufficientFilePermissions": "denied",
    "appNotAuthorizedToFile": "denied",
    "domainPolicy": "denied",
    "exportRestricted": "denied",
    "downloadQuotaExceeded": "failed",
    "aReasonThatNobodyKnows": "denied",
}


def test_each_refusal_of_one_file_is_its_own_and_is_not_tried_again_before_the_file_changes(desk: Desk) -> None:
    good = desk.put("good.txt", GOOD)
    files = {desk.put(f"{reason}.txt", f"Text of {reason}."): reason for reason in REFUSALS}
    for file, reason in files.items():
        desk.corpus.drive.faults.add(Fault(DOWNLOAD, file_id=file, status=403, reason=reason, times=None))

    done = desk.corpus.sync()

    assert desk.corpus.found(ADA) == {good: GOOD}
    states = {reason: desk.corpus.state(file) for file, reason in files.items()}
    assert {reason: state for reason, (state, _) in states.items()} == REFUSALS
    assert all(told and "403" in told and reason in told for reason, (_, told) in states.items())
    assert done.upserted == 1 and done.downloads == 1 + len(files)
    assert done.failed + done.withheld == len(files)

    again = desk.corpus.sync()
    assert again.read_nothing and again.upserted == 0
    desk.corpus.drive.faults.clear()
    for file in files:
        desk.world.write(file, "Now it is given.")
    assert desk.corpus.sync().upserted == len(files)
    assert set(desk.corpus.found(ADA)) == {good, *files}


@pytest.mark.long
def test_a_restriction_that_the_listing_tells_is_not_tried_and_a_lifted_one_is(desk: Desk) -> None:
    locked = desk.put("locked.txt", "Locked.", download_restricted=True)
    abusive = desk.put("abusive.txt", "Malware.", is_abusive=True)

    done = desk.corpus.sync()

    assert desk.corpus.log.count(DOWNLOAD, file_id=locked) == 0
    assert [desk.corpus.state(file)[0] for file in (locked, abusive)] == ["denied", "denied"]
    assert done.upserted == 0 and desk.corpus.found(ADA) == {}
    assert all("acknowledgeAbuse" not in request.parameters for request in desk.corpus.log.of(DOWNLOAD))
    assert desk.corpus.sync().did_nothing

    desk.world.edit(locked, download_restricted=False)
    assert desk.corpus.sync().upserted == 1
    assert desk.corpus.found(ADA) == {locked: "Locked."}


@pytest.mark.long
def test_a_document_that_fails_in_each_form_for_ever_has_failed_and_holds_up_nobody(desk: Desk) -> None:
    good, bad = desk.put("good.txt", GOOD), desk.put_document("Bad", {"text/markdown": "# Bad"}, kind="spreadsheet")
    desk.corpus.drive.faults.add(Fault(EXPORT, file_id=bad, status=500, times=None))

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (1, 1) and desk.corpus.found(ADA) == {good: GOOD}
    assert desk.corpus.state(bad)[0] == "failed"
    again = desk.corpus.sync()
    assert again.read_nothing and again.failed == 1


@pytest.mark.long
def test_what_is_too_large_in_every_form_says_so_and_is_not_exported_again(desk: Desk) -> None:
    good = desk.put("good.txt", GOOD)
    huge = "A long line of a very long document.\n" * 40_000
    doc = desk.put_document("Huge", {"text/markdown": huge, "text/plain": huge})
    file = desk.put("huge.txt", huge)

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (1, 2) and desk.corpus.found(ADA) == {good: GOOD}
    assert [desk.corpus.state(each)[0] for each in (doc, file)] == ["too_large"] * 2
    assert desk.corpus.log.count(DOWNLOAD, file_id=file) == 0
    again = desk.corpus.sync()
    assert again.read_nothing and again.failed == 2


@pytest.mark.long
def test_beyond_what_drive_exports_a_document_comes_by_its_link(desk: Desk) -> None:
    desk.world.modes.export_limit = 20
    doc = desk.put_document("Large", {"text/markdown": "# Large\n\nA text of more than twenty bytes: NEEDLE."})

    done = desk.corpus.sync()

    assert done.upserted == 1 and "NEEDLE" in desk.corpus.found(ADA)[doc]
    assert done.requests.count("exportLink") == 1
    assert desk.corpus.sync().did_nothing


@pytest.mark.long
def test_what_cannot_be_exported_is_unsupported_and_not_asked_for(desk: Desk) -> None:
    kinds = ("form", "map", "site", "jam", "fusiontable", "script")
    files = [desk.put_document(kind, {}, kind=kind) for kind in kinds]

    done = desk.corpus.sync()

    assert done.read_nothing and done.failed == len(kinds)
    assert {desk.corpus.state(file)[0] for file in files} == {"unsupported"}
    assert desk.corpus.sync().read_nothing


def repacked(data: bytes) -> bytes:
    """The same parts in another archive."""
    buffer = BytesIO()
    with ZipFile(BytesIO(data)) as before, ZipFile(buffer, "w", ZIP_STORED) as after:
        for name in before.namelist():
            after.writestr(name, before.read(name))
    return buffer.getvalue()


def test_an_export_of_other_bytes_and_the_same_text_publishes_and_embeds_nothing(desk: Desk) -> None:
    book = xlsx('<row r="1"><c r="A1" t="inlineStr"><is><t>NEEDLE</t></is></c></row>')
    sheet = desk.put_document("Book", {XLSX: book}, kind="spreadsheet")
    doc = desk.put_document("Plan", {"text/markdown": "# Plan\n\nText.\n"})
    desk.corpus.sync()
    assert repacked(book) != book
    desk.world.write(sheet, exports={XLSX: repacked(book)})
    desk.world.write(doc, exports={"text/markdown": "# Plan\r\n\r\nText.\r\n"})

    done = desk.corpus.sync()

    assert done.exports == 2
    assert (done.upserted, done.failed, done.embedded, done.generation) == (0, 0, [], 1)
    assert "NEEDLE" in desk.corpus.found(ADA)[sheet]
    assert desk.corpus.sync().did_nothing


@pytest.mark.long
def test_a_slide_that_says_one_is_text(desk: Desk) -> None:
    deck = desk.put_document("Deck", {"text/plain": "1"}, kind="presentation")

    desk.corpus.sync()

    assert desk.corpus.found(ADA) == {deck: "1"}
    assert PPTX in {request.parameters["mimeType"] for request in desk.corpus.log.of(EXPORT)}


OLD, NEW = "Old text. " * 30, "New text! " * 40


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_that_is_replaced_while_it_is_read_is_wholly_one_of_both_and_then_the_new_one(
    when: Literal["before", "after"], desk: Desk
) -> None:
    file = desk.put("plan.txt", OLD)
    desk.world.on_download(file, lambda: desk.world.write(file, NEW), when=when)

    desk.corpus.sync()
    assert desk.corpus.shown()[file] in (OLD.strip(), NEW.strip())
    desk.corpus.sync()

    assert desk.corpus.shown() == {file: NEW.strip()}
    assert desk.corpus.sync().did_nothing


@pytest.mark.long
def test_bytes_that_are_cut_or_lost_on_the_way_never_become_a_text(desk: Desk) -> None:
    cut, lost = desk.put("cut.txt", OLD), desk.put("lost.txt", OLD)
    desk.corpus.drive.faults.add(Fault(DOWNLOAD, file_id=cut, cut_at_bytes=100))
    desk.corpus.drive.faults.add(Fault(DOWNLOAD, file_id=lost, lost_at_bytes=100))

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (2, 0)
    texts = desk.corpus.shown()
    assert texts[cut] == texts[lost] == OLD.strip()


@pytest.mark.long
def test_a_file_that_goes_between_its_listing_and_its_download_is_gone_and_costs_no_other_one(desk: Desk) -> None:
    good = desk.put("good.txt", GOOD)
    deleted, trashed, hidden = (desk.put(f"{name}.txt", "Text.") for name in ("deleted", "trashed", "hidden"))
    desk.world.on_download(deleted, lambda: desk.world.delete(deleted), when="before")
    desk.world.on_download(trashed, lambda: desk.world.trash(trashed), when="before")
    away = desk.world.add_folder("Away", owner=BEN).id
    desk.world.on_download(hidden, lambda: desk.world.move(hidden, away), when="before")

    done = desk.corpus.sync()

    assert done.failed == 0
    assert desk.corpus.sync().failed == 0
    assert desk.corpus.found(ADA) == {good: GOOD}
    assert desk.corpus.sync().did_nothing
