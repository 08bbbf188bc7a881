"""Many files in many places, in the smallest pages that Drive may give: all of them are listed, or it is said that they
were not."""

from pathlib import Path

import pytest

from tests.drive.faults import Fault
from tests.drive.modes import Modes
from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, following, peopled
from tests.integration.drive_modes import copied, in_every_mode

DRIVES = 25  # more than Drive names on a page, unless it is asked for more


def spread(world: World, files: int, *, drives: int = DRIVES) -> set[str]:
    """Files in the folders of shared drives, of My Drive and of somebody who shares one, none of them at a root. Their ids."""
    homes = [world.add_drive(f"Team {number}", organizer=BEN).id for number in range(drives)]
    for home in homes:
        world.share(home, ROBOT, role="fileOrganizer")
    homes.append(world.add_folder("Office", owner=ADA).id)
    world.share(homes[-1], ROBOT, role="writer")
    homes.append(world.root_of(ROBOT))
    folders = [world.add_folder("deep", parent=world.add_folder("sub", parent=home).id).id for home in homes]
    places = [folders[number % len(folders)] for number in range(files)]
    return {world.add_file(f"{number}.md", "x", parent=place).id for number, place in enumerate(places)}


def held(names: set[str]) -> set[str]:
    return {f"drive:{name}" for name in names}


@pytest.mark.long
@in_every_mode
def test_every_file_of_every_drive_is_listed_in_whatever_pages_they_come(modes: Modes, tmp_path: Path) -> None:
    world = peopled()
    world.modes = copied(modes)
    files = spread(world, 54)
    with following(tmp_path, world) as follower:
        done = follower.sync(limit=20)

        assert set(follower.held) == held(files)
        assert done.is_whole and not done.unlisted
        asked = follower.drive.log.of("drive.drives.list")
        assert all(request.parameters["pageSize"] == "100" for request in asked)


@pytest.mark.long
def test_thousands_of_files_in_tiny_pages_are_listed_and_one_more_costs_little(tmp_path: Path) -> None:
    world = peopled()
    world.modes = Modes(page_cap=50, empty_pages=True, duplicate_across_pages=True)
    files = spread(world, 6_500)
    with following(tmp_path, world) as follower:
        done = follower.sync(limit=100)
        assert set(follower.held) == held(files)
        assert done.is_whole and not done.unlisted

        before = follower.drive.log.mark()
        drive = next(iter(world.drives))
        more = world.add_file("more.md", "x", parent=drive).id
        assert follower.sync(limit=100).upserts == ["more.md"]
        assert set(follower.held) == held({*files, more})
        # For each drive its feed and its members; nothing for each file.
        assert follower.drive.log.count(since=before) <= 5 * (DRIVES + 2)
        assert follower.drive.log.count("drive.files.list", since=before) == 0


def test_a_search_that_says_it_is_incomplete_is_not_taken_for_a_listing(tmp_path: Path) -> None:
    world = peopled()
    files = spread(world, 10, drives=3)
    with following(tmp_path, world) as follower:
        follower.sync()
        cut = '{"files": [], "incompleteSearch": true}'
        follower.drive.faults.add(Fault(method="drive.files.list", nth=2, times=None, status=200, body=cut))

        done = follower.sync(full=True)

        assert len(done.unlisted) > 3
        assert all("not search all" in part.reason for part in done.unlisted if part.path)
        assert set(follower.held) == held(files)
        follower.drive.faults.clear()
        again = follower.sync(full=True)
        assert again.is_whole and not again.unlisted and set(follower.held) == held(files)
        # Drive says it of searches over all drives, which are therefore never made.
        assert {request.parameters.get("corpora", "user") for request in follower.drive.log.of("drive.files.list")} == {
            "user",
            "drive",
        }
