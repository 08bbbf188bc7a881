"""The same documents again and again: what did not change is not read, what changed takes the place of what was there, and
what cannot be read is not tried without end."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.store import Store
from activities.store.garbage.garbage import Keep, collect
from tests.drive.faults import Fault
from tests.drive.modes import Modes
from tests.integration.drive_corpus import (
    ADA,
    BEN,
    DOWNLOAD,
    EVE,
    EXPORT,
    ROBOT,
    DriveCorpus,
    drive_corpus,
)
from tests.integration.drive_modes import OpenOffice, in_every_mode, in_two_modes
from tests.integration.seen import table
from tests.pipeline.harness import SCOPE
from tests.unit.small_pdf import make_pdf, words

LONG = pytest.mark.long
CYCLES = 50
TABLES = (
    "source",
    "document_version",
    "revision",
    "span",
    "chunk",
    "page",
    "page_item",
    "ingestion",
    "link",
    "membership",
)


@pytest.fixture
def modes() -> Modes:
    """Those of the documents, where a test does not ask for all there are."""
    return Modes()


class Office(OpenOffice):
    """Ada's folder, which Ben reads."""

    def __init__(self, modes: Modes) -> None:
        super().__init__(modes, BEN)

    def file(self, name: str, data: bytes | str, parent: str | None = None) -> str:
        return self.world.add_file(name, data, parent=parent or self.folder, owner=ADA).id


@pytest.fixture
def office(modes: Modes) -> Office:
    return Office(modes)


@pytest.fixture
def corpus(office: Office, store: Store, database: str, tmp_path: Path) -> Iterator[DriveCorpus]:
    with drive_corpus(store, database, tmp_path, office.world, folder_ids=[office.folder]) as corpus:
        yield corpus


def part(number: int, edition: str) -> str:
    """A passage that is a chunk of its own."""
    return f"Edition {edition}, text {number}. " + f"{edition}{number} " * 200


def collected(store: Store) -> None:
    """What no kept generation shows is gone from the tables."""
    for _ in collect(store, SCOPE, Keep(generations=0, seconds=0)):
        pass


def forget_the_listing(store: Store) -> None:
    """As when a day has passed: the next pass of each connector lists everything."""
    with store.connection() as connection:
        connection.execute(
            f"""UPDATE "{store.schema}".checkpoint SET start_cursor = (start_cursor::jsonb - 'listed_at')::text""".encode()
        )


def rows(store: Store) -> dict[str, int]:
    return {name: len(table(store, name)) for name in TABLES}


@LONG
@in_two_modes
def test_of_a_file_that_is_edited_five_times_the_last_edition_alone_is_found(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    file = office.file("plan.txt", part(0, "first") + "\n\n" + part(1, "first"))
    corpus.sync()
    for edition in ("second", "third", "fourth", "fifth", "sixth"):
        office.world.write(file, part(0, edition) + "\n\n" + part(1, edition))

        done = corpus.sync()

        assert (done.upserted, done.downloads) == (1, 1)
        hits = [hit for hit in corpus.hits(BEN) if hit.source_id == f"drive:{file}"]
        assert {*re.findall(r"Edition (\w+)", " ".join(hit.text for hit in hits))} == {edition}
        assert len(hits) == len(done.embedded)
    collected(store)
    assert (rows(store)["revision"], rows(store)["chunk"]) == (1, len(done.embedded))
    assert corpus.sync().did_nothing


def test_a_document_that_becomes_shorter_leaves_nothing_of_its_tail(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    file = office.file("plan.txt", "\n\n".join(part(number, "long") for number in range(20)))
    first = corpus.sync()
    assert len(first.embedded) >= 20
    office.world.write(file, "\n\n".join(part(number, "short") for number in range(3)))

    second = corpus.sync()

    hits = corpus.hits(BEN)
    assert len(hits) == len(second.embedded) < len(first.embedded)
    assert "long" not in " ".join(hit.text for hit in hits)
    assert {f"short{number}" in " ".join(hit.text for hit in hits) for number in range(3)} == {True}
    collected(store)
    assert rows(store)["chunk"] == len(second.embedded)


@in_every_mode
def test_a_second_sync_without_a_change_reads_and_embeds_nothing(office: Office, corpus: DriveCorpus) -> None:
    office.file("a.txt", "Text of a.")
    office.world.add_document("b", {"text/markdown": "Text of b."}, parent=office.folder, owner=ADA)
    office.world.add_document("c", {}, kind="form", parent=office.folder, owner=ADA)
    first = corpus.sync()
    assert (first.upserted, first.downloads, first.exports) == (2, 1, 1)

    again, full = corpus.sync(), corpus.sync(full=True)

    assert again.read_nothing and (again.upserted, again.pages) == (0, again.pages)
    assert again.requests.count("drive.files.list") == 0
    assert (full.upserted, full.embedded) == (0, [])


@in_every_mode
def test_a_look_at_a_file_is_no_change_of_it(office: Office, corpus: DriveCorpus) -> None:
    file = office.file("a.txt", "Text of a.")
    corpus.sync()
    for _ in range(3):
        office.world.view(file, by=BEN)
        assert corpus.sync().did_nothing


@pytest.mark.parametrize("cycles", [4, pytest.param(CYCLES, marks=LONG)])
def test_a_file_that_cannot_be_read_is_tried_once_and_again_only_when_it_changes(
    cycles: int, office: Office, store: Store, corpus: DriveCorpus
) -> None:
    good, bad = office.file("good.txt", "Text."), office.file("bad.pdf", b"%PDF-1.7 and nothing that follows\n")
    first = corpus.sync()
    assert (first.upserted, first.failed) == (1, 1)
    corpus.sync()
    before = rows(store)
    for cycle in range(cycles):
        if cycle % 2:
            office.world.view(bad, by=BEN)  # its number rises, and its bytes are the same
        again = corpus.sync(full=cycle == 3)
        assert (again.upserted, again.failed) == (0, 1)
        assert [failure.source_id for failure in again.failures] == [f"drive:{bad}"]
    assert corpus.log.count(DOWNLOAD, file_id=bad) <= 2  # once more where everything was to be read anew
    corpus.sync()
    assert rows(store) == before
    assert corpus.state(bad)[0] == "failed"

    office.world.write(bad, make_pdf([words("NEEDLE of the pdf")]))
    mended = corpus.sync()

    assert (mended.upserted, mended.failed) == (1, 0)
    assert set(corpus.found(BEN)) == {good, bad} and "NEEDLE" in corpus.found(BEN)[bad]
    assert corpus.sync().did_nothing


@in_every_mode
def test_three_files_of_one_name_are_three_documents(office: Office, corpus: DriveCorpus) -> None:
    files = [office.file("report.pdf", make_pdf([words(f"Text of report NEEDLE{number}")])) for number in range(3)]

    assert corpus.sync().upserted == 3

    found = corpus.found(BEN)
    assert set(found) == set(files)
    assert all(f"NEEDLE{number}" in found[file] for number, file in enumerate(files))
    assert {hit.title for hit in corpus.hits(BEN)} == {"report.pdf"}
    office.world.delete(files[1])
    corpus.sync()
    assert set(corpus.found(BEN)) == {files[0], files[2]}


@LONG
@in_every_mode
def test_a_file_that_is_reached_in_four_ways_is_one_document_under_its_own_grants(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    world = office.world
    file = office.file("plan.txt", "Text of the plan.")
    link = world.add_shortcut("a way", file, parent=office.folder, owner=ADA).id
    world.share(link, EVE)  # who may see the shortcut may not see what it leads to
    corpus.add_connector("account")
    corpus.add_connector("ben", email=BEN)

    synced = [corpus.sync(name) for name in ("drive", "account", "ben")]

    assert [done.downloads for done in synced] == [len(done.embedded) for done in synced] == [1, 0, 0]
    assert corpus.shown() == {file: "Text of the plan."}
    assert [len(corpus.hits(email)) for email in (ADA, BEN, ROBOT, EVE)] == [1, 1, 1, 0]

    for name in ("drive", "account", "ben", "drive"):  # each has another path for it, and that of the first one stays
        forget_the_listing(store)
        listed = corpus.sync(name)
        assert "drive.files.list" in listed.requests and listed.did_nothing
    world.delete(link)
    corpus.sync()
    assert len(corpus.hits(BEN)) == 1
    world.trash(file)
    for name in ("drive", "account", "ben"):
        corpus.sync(name)
    assert corpus.shown() == {}


@LONG
def test_an_export_that_fails_for_ever_is_given_up_and_others_are_read(office: Office, corpus: DriveCorpus) -> None:
    world = office.world
    document = {"text/markdown": "Text of a document."}
    bad, good = (world.add_document(name, document, parent=office.folder, owner=ADA).id for name in ("bad", "good"))
    corpus.drive.faults.add(Fault(EXPORT, file_id=bad, status=500, times=None))

    first = corpus.sync()

    assert (first.upserted, first.failed) == (1, 1)
    assert set(corpus.found(BEN)) == {good}
    assert corpus.state(bad)[0] == "failed" and "500" in (corpus.state(bad)[1] or "")
    asked = corpus.log.count(EXPORT, file_id=bad)
    assert 1 < asked <= 50
    for _ in range(3):
        assert corpus.sync().failed == 1
    assert corpus.log.count(EXPORT, file_id=bad) == asked
    corpus.drive.faults.clear()
    world.write(bad, exports={"text/markdown": "Text that is well again."})
    assert (corpus.sync().upserted, set(corpus.found(BEN))) == (1, {bad, good})


def test_a_file_at_which_drive_failed_costs_nothing_until_the_daily_listing_and_is_read_then(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    office.file("good.txt", "Text of good.")
    bad = office.file("bad.txt", "Text of bad.")
    corpus.drive.faults.add(Fault(DOWNLOAD, file_id=bad, status=500, times=None))
    assert (corpus.sync().upserted, corpus.sync().downloads) == (1, 0)
    listings = corpus.log.count("drive.files.list")
    assert corpus.sync().downloads == 0
    assert corpus.log.count("drive.files.list") == listings

    forget_the_listing(store)
    again = corpus.sync()
    assert (again.failed, corpus.log.count(DOWNLOAD, file_id=bad)) == (1, 6)

    corpus.drive.faults.clear()
    forget_the_listing(store)
    assert corpus.sync().upserted == 1
    assert corpus.found(BEN)[bad] == "Text of bad."
