"""Whole accounts and shared drives: what belongs to them, and what happens when one of them vanishes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.connectors import SourceUnavailable
from tests.drive.faults import Fault
from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled


@pytest.fixture
def world() -> World:
    return peopled()


@pytest.fixture
def follower(world: World, tmp_path: Path) -> Iterator[Follower]:
    """Follows all that the robot sees."""
    with following(tmp_path, world) as opened:
        yield opened


def shared(world: World, name: str, *, parent: str | None = None) -> str:
    """A folder of Ada's that the robot may manage."""
    folder = world.add_folder(name, owner=ADA, parent=parent).id
    world.share(folder, ROBOT, role="writer")
    return folder


def team(world: World, name: str = "Team") -> str:
    """A shared drive of Ben's that the robot may manage."""
    drive = world.add_drive(name, organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    return drive


def test_an_account_has_its_own_files_those_shared_with_it_and_shared_drives(world: World, follower: Follower) -> None:
    world.add_file("mine.md", "x", owner=ROBOT)
    world.add_file(
        "in.md", "x", parent=world.add_folder("sub", parent=shared(world, "Office"), owner=ADA).id, owner=ADA
    )
    alone = world.add_file("alone.md", "x", owner=ADA)
    world.share(alone.id, ROBOT)
    world.add_file("team.md", "x", parent=team(world))

    done = follower.sync()

    assert follower.paths == [
        "My Drive/mine.md",
        "Shared with me/Office/sub/in.md",
        "Shared with me/alone.md",
        "Team/team.md",
    ]
    assert done.is_whole and not done.unlisted


def test_many_drives_and_small_pages_are_all_listed(world: World, follower: Follower) -> None:
    world.modes.empty_pages = True
    for number in range(12):
        drive = team(world, f"Team {number}")
        world.add_file(f"{number}.md", "x", parent=drive)

    follower.sync()

    assert len(follower.held) == 12


def test_a_file_is_where_it_lies_and_folders_need_no_order(world: World, follower: Follower) -> None:
    world.modes.newest_first = True
    office = shared(world, "Office")
    world.add_file(
        "deep.md", "x", parent=world.add_folder("b", parent=world.add_folder("a", parent=office).id).id, owner=ADA
    )

    follower.sync()

    assert follower.paths == ["Shared with me/Office/a/b/deep.md"]


@pytest.mark.parametrize("is_loud", [False, True])
@pytest.mark.parametrize("way", ["trash", "unshare", "delete"])
def test_a_folder_that_goes_takes_what_is_below_with_it(
    way: str, is_loud: bool, world: World, follower: Follower
) -> None:
    world.modes.descendants_on_trash = world.modes.descendants_on_access = is_loud
    office = shared(world, "Office")
    sub = world.add_folder("sub", parent=office, owner=ADA).id
    for number in range(5):
        world.add_file(f"{number}.md", "x", parent=sub, owner=ADA)
    kept = world.add_file("kept.md", "x", parent=sub, owner=ADA)
    world.share(kept.id, ROBOT, role="writer")
    follower.sync()
    assert len(follower.held) == 6

    match way:
        case "trash":
            world.trash(office)
        case "unshare":
            world.unshare(office, ROBOT)
        case _:
            world.delete(office)
    follower.sync(limit=4)

    assert follower.paths == (["Shared with me/kept.md"] if way == "unshare" else [])


def test_a_renamed_folder_renames_the_paths_below(world: World, follower: Follower) -> None:
    office = shared(world, "Office")
    world.add_file("a.md", "x", parent=world.add_folder("sub", parent=office, owner=ADA).id, owner=ADA)
    follower.sync()
    world.rename(office, "Bureau")

    follower.sync()

    assert follower.paths == ["Shared with me/Bureau/sub/a.md"]


def test_a_folder_that_is_shared_later_comes_with_all_that_is_in_it(world: World, follower: Follower) -> None:
    office = world.add_folder("Office", owner=ADA).id
    sub = world.add_folder("sub", parent=office, owner=ADA).id
    world.add_file("a.md", "x", parent=sub, owner=ADA)
    follower.sync()
    world.share(office, ROBOT, role="writer")

    follower.sync()

    assert follower.paths == ["Shared with me/Office/sub/a.md"]


def test_a_drive_that_is_joined_later_is_listed(world: World, follower: Follower) -> None:
    drive = world.add_drive("Team", organizer=BEN).id
    world.add_file("a.md", "x", parent=world.add_folder("sub", parent=drive).id)
    follower.sync()
    world.share(drive, ROBOT, role="fileOrganizer")

    follower.sync()

    assert follower.paths == ["Team/sub/a.md"]


def test_a_drive_is_renamed(world: World, follower: Follower) -> None:
    drive = team(world)
    world.add_file("a.md", "x", parent=drive)
    follower.sync()
    world.rename_drive(drive, "Crew")

    follower.sync()

    assert follower.paths == ["Crew/a.md"]


def test_who_joins_or_leaves_a_drive_is_seen(world: World, follower: Follower) -> None:
    drive = team(world)
    world.add_file("a.md", "x", parent=world.add_folder("sub", parent=drive).id)
    follower.sync()
    assert follower.readers("a.md") == [BEN, ROBOT]
    world.share(drive, ADA)
    follower.sync()
    assert follower.readers("a.md") == [ADA, BEN, ROBOT]

    before = follower.drive.log.mark()
    world.unshare(drive, ADA)
    follower.sync()

    assert follower.readers("a.md") == [BEN, ROBOT]
    assert follower.drive.log.count("drive.files.get:media", since=before) == 0


def test_a_file_that_moves_between_drives_stays_the_same_document(world: World, follower: Follower) -> None:
    here, there = team(world, "Here"), team(world, "There")
    file = world.add_file("a.md", "x", parent=here)
    follower.sync()
    for parent in (there, here, there):
        world.move(file.id, parent)
        done = follower.sync()
        assert [change.kind for change in done.changes][-1] == "upsert"
        assert len(follower.held) == 1

    assert follower.paths == ["There/a.md"]


@pytest.mark.parametrize("status", [403, 404])
@pytest.mark.parametrize("is_alone", [True, False])
def test_a_shared_drive_that_is_gone_is_believed_the_second_time(
    is_alone: bool, status: int, world: World, tmp_path: Path
) -> None:
    world.modes.lost_drive_status = 403 if status == 403 else 404
    drive = team(world)
    world.add_file("a.md", "x", parent=drive)
    world.add_file("mine.md", "x", owner=ROBOT)
    with following(tmp_path, world, **({"drive_id": drive} if is_alone else {})) as follower:
        follower.sync()
        assert "a.md" in follower.names
        world.unshare(drive, ROBOT)

        (part,) = follower.sync().unlisted
        assert drive in part.path and "a.md" in follower.names
        follower.sync()
        assert follower.names == ([] if is_alone else ["mine.md"])
        assert not follower.sync().unlisted

        world.share(drive, ROBOT, role="fileOrganizer")
        follower.sync()
        assert "a.md" in follower.names


def test_a_shared_drive_that_vanishes_in_the_middle_of_work_is_given_up_too(world: World, follower: Follower) -> None:
    drive = team(world)
    sub = world.add_folder("sub", parent=drive).id
    world.add_file("a.md", "x", parent=sub)
    follower.sync()
    world.rename(sub, "other")

    def meanwhile(page: int) -> None:
        if follower.memory.due(limit=1):
            world.unshare(drive, ROBOT)

    assert drive in follower.sync(between=meanwhile).unlisted[0].path
    assert follower.names == ["a.md"], "the pass that misses the drive believes nothing of it"
    follower.sync()

    assert follower.names == []


def test_a_shared_drive_that_is_away_for_one_pass_loses_nothing(world: World, follower: Follower) -> None:
    drive = team(world)
    world.add_file("a.md", "x", parent=drive)
    file = world.add_file("b.md", "x", parent=drive)
    follower.sync()
    world.unshare(drive, ROBOT)
    world.trash(file.id)
    follower.sync()
    assert follower.names == ["a.md", "b.md"]

    world.share(drive, ROBOT, role="fileOrganizer")
    follower.sync()

    assert follower.names == ["a.md"]


def test_a_full_pass_does_not_take_a_lost_drive_for_an_empty_one(world: World, follower: Follower) -> None:
    drive = team(world)
    world.add_file("a.md", "x", parent=drive)
    follower.sync()
    world.unshare(drive, ROBOT)
    follower.cursor = None  # as after a cursor that Drive refused

    assert follower.sync().unlisted
    assert follower.names == ["a.md"]


def test_a_listing_that_comes_back_empty_deletes_nothing(world: World, follower: Follower) -> None:
    for number in range(3):
        world.add_file(f"{number}.md", "x", owner=ROBOT)
    follower.sync()
    follower.drive.faults.add(Fault(method="drive.files.list", times=2, status=200, body='{"files": []}'))

    done = follower.sync(full=True)

    assert done.unlisted and len(follower.held) == 3


def test_an_account_that_was_emptied_in_time_is_empty(world: World, follower: Follower) -> None:
    file = world.add_file("only.md", "x", owner=ROBOT)
    follower.sync()
    world.trash(file.id)

    follower.sync(full=True)

    assert follower.names == []


def test_what_a_listing_leaves_out_is_asked_for_and_not_swept(world: World, follower: Follower) -> None:
    for number in range(9):
        world.add_file(f"{number}.md", f"{number}", owner=ROBOT)
    follower.sync()

    def meanwhile(page: int) -> None:
        if page in (3, 6):
            world.trash(next(file.id for file in world.documents()))  # the pages after it move up by one

    done = follower.sync(full=True, limit=2, between=meanwhile)

    assert done.is_whole
    assert follower.names == sorted(file.name for file in world.documents())


def test_an_incomplete_search_sweeps_nothing(world: World, follower: Follower) -> None:
    world.add_file("a.md", "x", owner=ROBOT)
    follower.sync()
    world.add_file("b.md", "x", owner=ROBOT)
    cut = '{"files": [], "incompleteSearch": true}'
    follower.drive.faults.add(Fault(method="drive.files.list", times=2, status=200, body=cut))

    done = follower.sync(full=True)

    assert done.unlisted and follower.names == ["a.md", "b.md"]


def test_a_shared_drive_connector_sees_that_drive_only(world: World, tmp_path: Path) -> None:
    drive, other = team(world), team(world, "Other")
    world.add_file("a.md", "x", parent=drive)
    file = world.add_file("b.md", "x", parent=other)
    world.add_file("mine.md", "x", owner=ROBOT)
    with following(tmp_path, world, drive_id=drive) as follower:
        follower.sync()
        assert follower.names == ["a.md"]
        world.move(file.id, drive)
        follower.sync()
        assert follower.names == ["a.md", "b.md"]
        world.move(file.id, other)
        follower.sync()
        assert follower.names == ["a.md"]
        asked = follower.drive.log.of("drive.files.list") + follower.drive.log.of("drive.changes.*")
        assert all(request.parameters.get("driveId") == drive for request in asked)


def test_my_drive_is_a_folder_called_root(world: World, tmp_path: Path) -> None:
    world.add_file("mine.md", "x", owner=ROBOT)
    world.add_file("in.md", "x", parent=shared(world, "Office"), owner=ADA)
    with following(tmp_path, world, folder_ids=["root"]) as follower:
        follower.sync()
        assert follower.paths == ["My Drive/mine.md"]


def test_a_folder_that_is_not_there_stops_the_first_pass(world: World, tmp_path: Path) -> None:
    file = world.add_file("mine.md", "x", owner=ROBOT).id
    for folder_id, told in (("nowhere", "hidden from"), (file, "no folder")):
        with (
            following(tmp_path, world, folder_ids=[folder_id]) as follower,
            pytest.raises(SourceUnavailable, match=told),
        ):
            follower.sync()


def test_other_folders_in_the_settings_replace_those_before(world: World, follower: Follower) -> None:
    one, two = shared(world, "One"), shared(world, "Two")
    for folder in (one, two):
        sub = world.add_folder("sub", parent=folder, owner=ADA).id
        world.add_file("a.md", folder, parent=sub, owner=ADA)
    for folder_ids in ([one], [two], [one, two], [], [two]):
        follower.config["folder_ids"] = folder_ids
        follower.cursor = None  # Drive's connector refuses a cursor of other settings
        follower.sync()
        assert len(follower.held) == (len(folder_ids) or 2)
    world.add_file("late.md", "x", parent=one, owner=ADA)
    follower.sync()
    assert follower.names == ["a.md"]
