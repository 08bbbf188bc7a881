"""What a change feed says, and what it does not: whatever happens, the next sync holds what is there, at the least cost."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from temporalio.exceptions import ApplicationError

from activities.store import Store
from tests.drive.faults import Fault
from tests.drive.modes import Modes
from tests.integration.drive_corpus import ADA, BEN, ROBOT, drive_corpus, peopled, shared_folder
from tests.integration.drive_desk import Desk, open_desk
from tests.integration.drive_follower import following
from tests.integration.drive_modes import copied, in_every_mode

CHANGES = "drive.changes.list"


@pytest.fixture
def desk(store: Store, database: str, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(store, database, tmp_path) as desk:
        yield desk


@pytest.mark.long
@in_every_mode
def test_what_no_time_of_modification_tells_is_seen_with_the_next_sync(
    modes: Modes, store: Store, database: str, tmp_path: Path
) -> None:
    with open_desk(store, database, tmp_path) as desk:
        world, corpus = desk.world, desk.corpus
        world.modes = copied(modes)
        attic = world.add_folder("Attic", owner=ADA).id
        world.share(attic, ROBOT, role="writer")
        long_ago = datetime(2015, 1, 1, tzinfo=UTC)
        plan, pay = (
            desk.put("plan.txt", "The plan.", modified=long_ago),
            desk.put("pay.txt", "The pay.", modified=long_ago),
        )
        waiting = desk.put("waiting.txt", "From the attic.", parent=attic, modified=long_ago)
        corpus.sync()
        assert corpus.found(ADA) == {plan: "The plan.", pay: "The pay."}

        old = desk.put("old.txt", "Uploaded late.", modified=long_ago)
        assert corpus.sync().downloads == 1
        world.write(plan, "Another plan.", modified=long_ago)
        assert corpus.sync().downloads == 1
        world.move(waiting, desk.folder)
        assert corpus.sync().downloads == 1
        assert corpus.found(ADA) == {
            plan: "Another plan.", pay: "The pay.", old: "Uploaded late.", waiting: "From the attic.",
        }  # fmt: skip

        world.trash(pay)
        assert (corpus.sync().deleted, pay in corpus.found(ADA)) == (1, False)
        world.untrash(pay)
        assert (corpus.sync().upserted, corpus.found(ADA)[pay]) == (1, "The pay.")
        world.share(plan, BEN)
        assert corpus.sync().read_nothing
        assert corpus.found(BEN) == {plan: "Another plan."}
        world.move(plan, attic)
        assert (corpus.sync().deleted, corpus.found(BEN)) == (1, {})
        assert corpus.sync().did_nothing


@pytest.mark.long
@in_every_mode
def test_a_folders_one_change_is_its_whole_subtrees(modes: Modes, store: Store, database: str, tmp_path: Path) -> None:
    with open_desk(store, database, tmp_path) as desk:
        world, corpus = desk.world, desk.corpus
        attic = world.add_folder("Attic", owner=ADA).id
        world.share(attic, ROBOT, role="writer")
        top = world.add_folder("top", parent=desk.folder, owner=ADA).id
        deep = world.add_folder("deep", parent=world.add_folder("sub", parent=top, owner=ADA).id, owner=ADA).id
        texts = {
            desk.put(f"{number}.txt", f"Text {number}.", parent=(top, deep)[number % 2]): f"Text {number}."
            for number in range(8)
        }
        other = world.add_folder("other", parent=desk.folder, owner=ADA).id
        world.modes = copied(modes)
        corpus.sync()
        assert corpus.found(ADA) == texts

        world.move(top, to=other)
        within = corpus.sync()
        assert within.read_nothing and (within.deleted, within.failed) == (0, 0)
        assert {hit.metadata["path"].rpartition("/")[0] for hit in corpus.hits(ADA)} == {
            "Office/other/top", "Office/other/top/sub/deep",
        }  # fmt: skip
        world.move(top, to=attic)
        assert (corpus.sync().deleted, corpus.found(ADA)) == (8, {})
        world.move(top, to=desk.folder)
        back = corpus.sync()
        assert (back.upserted, back.embedded) == (8, [])
        assert corpus.found(ADA) == texts
        world.trash(top)
        assert (corpus.sync().deleted, corpus.found(ADA)) == (8, {})
        world.untrash(top)
        assert (corpus.sync().upserted, corpus.found(ADA)) == (8, texts)
        world.delete(top)
        assert (corpus.sync().deleted, corpus.found(ADA)) == (8, {})
        assert corpus.sync().did_nothing


@pytest.mark.long
@pytest.mark.parametrize("status", [400, 410])
def test_after_a_lost_cursor_all_that_happened_meanwhile_is_made_up_for_and_nothing_else_is_read(
    status: Literal[400, 410], desk: Desk
) -> None:
    world, corpus = desk.world, desk.corpus
    kept, edited, deleted, trashed, moved = (
        desk.put(f"{name}.txt", f"Text of {name}.") for name in ("kept", "edited", "deleted", "trashed", "moved")
    )
    corpus.sync()
    world.modes.refuse_change_tokens = status
    world.delete(deleted)
    world.trash(trashed)
    world.move(moved, world.add_folder("Attic", owner=ADA).id)
    world.write(edited, "Another text.")
    fresh = desk.put("fresh.txt", "A fresh text.")
    with pytest.raises(ApplicationError) as lost:
        corpus.sync()
    assert lost.value.type == "InvalidCursor"
    assert len(corpus.found(ADA)) == 5, "nothing is taken away for that"
    world.modes.refuse_change_tokens = None

    done = corpus.sync()

    assert (done.upserted, done.deleted, done.downloads) == (2, 3, 2)
    assert corpus.found(ADA) == {kept: "Text of kept.", edited: "Another text.", fresh: "A fresh text."}
    assert corpus.sync().did_nothing


def test_a_feed_that_breaks_off_between_its_pages_goes_on_where_it_stood(desk: Desk) -> None:
    desk.world.modes.page_cap = 2
    desk.corpus.sync()
    files = {desk.put(f"{number}.txt", f"Text {number}."): f"Text {number}." for number in range(7)}
    desk.corpus.drive.faults.add(Fault(CHANGES, nth=3, status=503))

    with pytest.raises(ApplicationError):
        desk.corpus.sync(page_size=2)
    before = len(desk.corpus.found(ADA))
    desk.corpus.sync(page_size=2)

    assert 0 < before < 7
    assert desk.corpus.found(ADA) == files
    assert desk.corpus.log.count("drive.files.get:media") == 7
    assert desk.corpus.log.count("drive.changes.getStartPageToken") == 1


def test_a_document_that_was_only_looked_at_is_neither_published_nor_embedded(desk: Desk) -> None:
    files = [desk.put("plan.txt", "The plan."), desk.put_document("Plan", {"text/markdown": "# Plan\n"})]
    desk.corpus.sync()
    for file in files:
        desk.world.view(file, by=ADA)

    done = desk.corpus.sync()

    assert (done.upserted, done.embedded, done.downloads, done.generation) == (0, [], 0, 1)


def test_an_older_state_never_follows_a_newer_one(tmp_path: Path) -> None:
    """Two feeds tell of one file, each in its time."""
    world = peopled()
    world.modes.coalesce_changes, world.modes.change_states = False, "then"
    world.modes.drive_items_in_user_log = "always"
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    file = world.add_file("0.txt", "Text.", parent=drive).id
    world.add_shortcut("way", file, owner=ROBOT)
    with following(tmp_path, world) as follower:
        follower.sync()
        for number in range(1, 7):
            world.rename(file, f"{number}.txt")
        done = follower.sync(limit=2)
        names = [int(name.removesuffix(".txt")) for name in done.upserts]
        assert names == sorted(names) and follower.names == ["6.txt"]

        world.share(file, ADA)
        world.unshare(file, ADA)
        world.move(file, world.add_folder("sub", parent=drive).id)
        follower.sync(limit=1)
        assert follower.readers("6.txt") == [BEN, ROBOT]
        assert follower.paths == ["Team/sub/6.txt"]


def test_a_loss_of_access_of_which_no_feed_tells_is_found_by_the_daily_listing(tmp_path: Path) -> None:
    world = peopled()
    lost, kept = (world.add_file(f"{name}.txt", "Text.", owner=ADA) for name in ("lost", "kept"))
    for file in (lost, kept):
        world.share(file.id, ROBOT, role="writer")
    with following(tmp_path, world) as follower:
        follower.sync()
        mine = [held.id for held in lost.permissions.values() if held.email == ROBOT]
        del lost.permissions[mine[0]]
        world.changes_made += 1
        follower.sync()
        assert follower.names == ["kept.txt", "lost.txt"]
        follower.now += timedelta(days=1)

        follower.sync()

        assert follower.names == ["kept.txt"]


@pytest.mark.long
def test_files_that_are_seen_on_many_ways_are_read_and_found_once(store: Store, database: str, tmp_path: Path) -> None:
    world = peopled()
    folder = shared_folder(world)
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    team = world.add_file("team.txt", "Text.", parent=drive).id
    world.share(team, ADA)
    mine = world.add_file("mine.txt", "Mine.", parent=folder, owner=ADA).id
    for target in (team, mine):
        world.add_shortcut("way", target, parent=folder, owner=ADA)
        world.add_shortcut("way", target, parent=drive)
    with drive_corpus(store, database, tmp_path, world) as corpus:
        corpus.add_connector("folder", folder_ids=[folder])
        corpus.add_connector("team", drive_id=drive)

        done = [corpus.sync(name) for name in ("drive", "folder", "team")]

        assert [each.upserted for each in done] == [2, 0, 0]
        assert [each.downloads for each in done] == [2, 0, 0]
        assert [len(each.embedded) for each in done] == [2, 0, 0]
        assert len(corpus.hits(ADA)) == 2
        assert corpus.found(ADA) == {team: "Text.", mine: "Mine."}
