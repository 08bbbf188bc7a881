"""A document is its id: whatever it is called, wherever it lies, and on however many ways somebody comes to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.store import Store
from tests.integration.drive_corpus import ADA, BEN, DOWNLOAD, EVE
from tests.integration.drive_desk import Desk, open_desk

NAMES = (
    "report.txt",
    "report.txt",
    "report.txt",
    "a/b/../c.txt",
    'it\'s "quoted".txt',
    "back\\slash.txt",
    " spaces at both ends .txt ",
    "party 🎉 日本語.txt",
    "line\nend\tand tab.txt",
    "..",
    "x" * 900 + ".txt",
    "CON.txt",
    "%2e%2e%2fquery?=&#.txt",
)


@pytest.fixture
def desk(store: Store, database: str, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(store, database, tmp_path) as desk:
        yield desk


def test_files_of_equal_and_of_odd_names_are_as_many_documents_with_titles_of_one_line(desk: Desk) -> None:
    texts = {
        desk.put(name, f"Text number {number}.", mime_type="text/plain"): f"Text number {number}."
        for number, name in enumerate(NAMES)
    }

    done = desk.corpus.sync(page_size=3)

    assert (done.upserted, done.failed) == (len(NAMES), 0)
    assert desk.corpus.found(ADA) == texts
    titles = {hit.source_id.removeprefix("drive:"): hit.title or "" for hit in desk.corpus.hits(ADA)}
    assert all(title and title == " ".join(title.split()) for title in titles.values())
    assert sorted(titles.values()).count("report.txt") == 3
    assert desk.corpus.sync().did_nothing


def test_who_swaps_two_names_swaps_no_texts(desk: Desk) -> None:
    one, two = desk.put("one.txt", "Text of one."), desk.put("two.txt", "Text of two.")
    desk.corpus.sync()
    desk.world.rename(one, "two.txt")
    desk.world.rename(two, "one.txt")

    done = desk.corpus.sync()

    assert done.read_nothing and (done.upserted, done.deleted) == (2, 0)
    assert desk.corpus.found(ADA) == {one: "Text of one.", two: "Text of two."}
    assert {hit.source_id.removeprefix("drive:"): hit.title for hit in desk.corpus.hits(ADA)} == {
        one: "two.txt",
        two: "one.txt",
    }


@pytest.mark.long
def test_a_target_of_shortcuts_is_one_document_for_its_own_readers(desk: Desk) -> None:
    world, corpus = desk.world, desk.corpus
    target = world.add_file("far.txt", "Text from afar.", owner=BEN).id
    world.share(target, "robot@b.test", role="writer")
    ways = [world.add_shortcut(f"way {number}", target, parent=desk.folder, owner=ADA).id for number in range(3)]
    world.share(ways[0], EVE)
    world.add_shortcut("to nothing", "never-was", parent=desk.folder, owner=ADA)
    world.add_shortcut("to a way", ways[0], parent=desk.folder, owner=ADA)

    done = corpus.sync()

    assert (done.upserted, done.failed) == (1, 0)
    assert corpus.log.count(DOWNLOAD) == corpus.log.count(DOWNLOAD, file_id=target) == 1
    assert corpus.found(BEN) == {target: "Text from afar."}
    assert corpus.found(EVE) == corpus.found(ADA) == {}
    for way in ways[:2]:
        world.delete(way)
        assert corpus.sync().did_nothing
    world.trash(ways[2])
    assert corpus.sync().deleted == 1
    assert corpus.found(BEN) == {}


@pytest.mark.long
def test_a_file_that_only_its_key_opens_is_seen_and_not_taken_for_deleted(desk: Desk) -> None:
    keyed = desk.world.add_file("keyed.txt", "Text.", owner=BEN, resource_key="0-key").id
    desk.world.share(keyed, "anyone")
    desk.world.add_shortcut("way", keyed, parent=desk.folder, owner=ADA)

    done = desk.corpus.sync()

    assert {request.status for request in desk.corpus.log.of("drive.files.get", file_id=keyed)} == {200}
    assert done.read_nothing and desk.corpus.state(keyed) == ("denied", "grants_unreadable")
    assert all("0-key" not in str(request.parameters) for request in desk.corpus.log.of())
    assert desk.corpus.found(BEN) == desk.corpus.found(ADA) == {}


@pytest.mark.long
def test_a_file_that_turns_into_something_without_text_takes_its_text_along(desk: Desk) -> None:
    file = desk.put("plan.txt", "Text of the plan.")
    desk.corpus.sync()
    desk.world.write(file, b"\x00\x01film", mime_type="video/mp4")
    desk.world.rename(file, "plan.mp4")

    done = desk.corpus.sync()

    assert done.downloads == 0
    assert desk.corpus.found(ADA) == {}
    desk.world.write(file, "A text again.", mime_type="text/plain")
    desk.world.rename(file, "plan.txt")
    desk.corpus.sync()
    assert desk.corpus.found(ADA) == {file: "A text again."}
