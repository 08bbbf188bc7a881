"""Shortcuts: what they lead to is one document, wherever it lies, under its own grants."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled


class Office:
    """Ada's folder ``Office``, which the connector reads; and ``Attic``, which it sees and does not read."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.folder, self.attic = (world.add_folder(name, owner=ADA).id for name in ("Office", "Attic"))
        for folder in (self.folder, self.attic):
            world.share(folder, ROBOT, role="writer")
        self.target = world.add_file("target.md", "t", parent=self.attic, owner=ADA).id

    def point(self, target: str, *, parent: str | None = None) -> str:
        return self.world.add_shortcut("pointer", target, parent=parent or self.folder, owner=ADA).id


@pytest.fixture
def office() -> Office:
    return Office(peopled())


@pytest.fixture
def follower(office: Office, tmp_path: Path) -> Iterator[Follower]:
    with following(tmp_path, office.world, folder_ids=[office.folder]) as opened:
        yield opened


def test_a_shortcut_brings_its_target_under_the_targets_grants(office: Office, follower: Follower) -> None:
    pointer = office.point(office.target)
    office.world.share(pointer, BEN)

    follower.sync()

    assert follower.paths == ["Office/target.md"]
    assert list(follower.held) == [f"drive:{office.target}"]
    assert follower.readers("target.md") == [ADA, ROBOT]


def test_a_target_that_is_reached_in_three_ways_is_one_document(office: Office, follower: Follower) -> None:
    office.point(office.target)
    office.point(office.target)
    office.world.move(office.target, office.folder)

    follower.sync()

    assert follower.paths == ["Office/target.md"]


def test_what_happens_to_the_target_is_told(office: Office, follower: Follower) -> None:
    office.point(office.target)
    follower.sync()
    before = follower.change("target.md")
    office.world.write(office.target, "other")
    office.world.share(office.target, BEN)

    follower.sync()

    assert follower.change("target.md").version != before.version
    assert follower.readers("target.md") == [ADA, BEN, ROBOT]


@pytest.mark.parametrize("way", ["target", "hidden target", "shortcut", "its folder"])
def test_a_target_goes_with_itself_or_with_the_last_way_to_it(way: str, office: Office, follower: Follower) -> None:
    sub = office.world.add_folder("sub", parent=office.folder, owner=ADA).id
    pointer = office.point(office.target, parent=sub)
    follower.sync()
    assert follower.names == ["target.md"]
    match way:
        case "target":
            office.world.trash(office.target)
        case "hidden target":
            office.world.unshare(office.attic, ROBOT)
            office.world.share(office.target, ROBOT)
            office.world.unshare(office.target, ROBOT)
        case "shortcut":
            office.world.trash(pointer)
        case _:
            office.world.trash(sub)

    follower.sync()

    assert follower.names == []


def test_a_target_stays_while_one_way_leads_to_it(office: Office, follower: Follower) -> None:
    one, two = office.point(office.target), office.point(office.target)
    follower.sync()
    office.world.trash(one)
    follower.sync()
    assert follower.names == ["target.md"]
    office.world.move(office.target, office.folder)
    office.world.trash(two)
    follower.sync()
    assert follower.names == ["target.md"]


def test_a_shortcut_to_a_folder_brings_all_that_is_in_it(office: Office, follower: Follower) -> None:
    deep = office.world.add_folder("deep", parent=office.attic, owner=ADA).id
    office.world.add_file("a.md", "a", parent=deep, owner=ADA)
    pointer = office.point(office.attic)

    follower.sync()
    assert follower.paths == ["Office/Attic/deep/a.md", "Office/Attic/target.md"]

    office.world.add_file("b.md", "b", parent=deep, owner=ADA)
    follower.sync()
    assert "Office/Attic/deep/b.md" in follower.paths

    done = follower.sync(full=True)
    assert done.is_whole and len(follower.held) == 3

    office.world.trash(pointer)
    follower.sync()
    assert follower.names == []


def test_the_path_of_a_target_follows_the_only_shortcut_to_it(office: Office, follower: Follower) -> None:
    sub = office.world.add_folder("sub", parent=office.folder, owner=ADA).id
    pointers = [office.point(target, parent=sub) for target in (office.target, office.attic)]
    office.world.move(office.target, office.world.add_folder("Cellar", owner=ADA).id)
    office.world.share(office.target, ROBOT)
    office.world.add_file("in.md", "x", parent=office.attic, owner=ADA)
    follower.sync()
    assert follower.paths == ["Office/sub/Attic/in.md", "Office/sub/target.md"]

    office.world.rename(sub, "low")
    follower.sync()
    assert follower.paths == ["Office/low/Attic/in.md", "Office/low/target.md"]

    for pointer in pointers:
        office.world.move(pointer, office.folder)
    follower.sync()
    assert follower.paths == ["Office/Attic/in.md", "Office/target.md"]


def test_a_target_that_was_gone_or_hidden_comes_when_it_is_told_of(office: Office, follower: Follower) -> None:
    hidden = office.world.add_file("hidden.md", "h", owner=ADA).id
    folder = office.world.add_folder("Cellar", owner=ADA).id
    office.world.add_file("deep.md", "d", parent=folder, owner=ADA)
    office.world.trash(office.target)
    for target in (office.target, hidden, folder):
        office.point(target)
    follower.sync()
    assert follower.names == []

    for _ in range(2):
        office.world.untrash(office.target)
        for item in (hidden, folder):
            office.world.share(item, ROBOT, role="writer")
        follower.sync()
        assert follower.paths == ["Office/Cellar/deep.md", "Office/hidden.md", "Office/target.md"]

        office.world.trash(office.target)
        for item in (hidden, folder):
            office.world.unshare(item, ROBOT)
        follower.sync()
        assert follower.names == []


def test_shortcuts_in_a_circle_end(office: Office, follower: Follower) -> None:
    office.point(office.attic)
    office.point(office.folder, parent=office.attic)
    office.point(office.folder)

    for full in (False, True, False):
        follower.sync(full=full)
        assert follower.paths == ["Office/Attic/target.md"]


def test_a_shortcut_to_nothing_is_nothing(office: Office, follower: Follower) -> None:
    office.point("1nowhere")
    office.point(office.point("1nowhere"))

    assert not follower.sync().changes


def test_a_target_elsewhere_is_followed_in_the_feed_of_where_it_lies(office: Office, tmp_path: Path) -> None:
    world = office.world
    world.modes.drive_items_in_user_log = "never"
    here, there = (world.add_drive(name, organizer=BEN).id for name in ("Here", "There"))
    for drive in (here, there):
        world.share(drive, ROBOT, role="fileOrganizer")
    file = world.add_file("far.md", "far", parent=there).id
    world.add_shortcut("far", file, parent=here)
    world.add_shortcut("near", office.target, parent=here)
    with following(tmp_path, world, drive_id=here) as follower:
        follower.sync()
        assert follower.names == ["far.md", "target.md"]
        before = follower.change("far.md").version
        world.write(file, "farther")
        world.trash(office.target)

        follower.sync()

        assert follower.names == ["far.md"]
        assert follower.change("far.md").version != before
        world.unshare(there, ROBOT)
        follower.sync()
        follower.sync()
        assert follower.names == []


def test_an_account_sees_a_target_once(office: Office, tmp_path: Path) -> None:
    office.point(office.target)
    office.point(office.attic)
    with following(tmp_path, office.world) as follower:
        for full in (False, False, True):
            follower.sync(full=full)
            assert follower.paths == ["Shared with me/Attic/target.md"]
