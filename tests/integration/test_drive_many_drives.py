"""An account of many shared drives: each costs some calls in every pass, and no page waits for all of them."""

from pathlib import Path

import pytest

from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, following, peopled
from tests.integration.test_drive_pages import hurried
from tests.integration.test_drive_walk import shown

DRIVES = 8


@pytest.fixture
def world() -> World:
    return peopled()


@pytest.fixture
def drives(world: World) -> list[str]:
    """Shared drives of Ben's that the robot may manage, with a file in each."""
    drives = [world.add_drive(f"Team {number}", organizer=BEN).id for number in range(DRIVES)]
    for number, drive in enumerate(drives):
        world.share(drive, ROBOT, role="fileOrganizer")
        world.add_file(f"{number}.md", f"# {number}\n", parent=world.add_folder("sub", parent=drive).id)
    return drives


def test_no_page_of_an_account_of_many_drives_waits_for_all_of_them(
    world: World, drives: list[str], tmp_path: Path
) -> None:
    with following(tmp_path, world) as follower:
        follower.sync()
        slow = hurried(follower)
        slow.sync()
        assert shown(slow) == shown(follower) and len(slow.held) == DRIVES
        assert max(slow.calls) <= 6

        before = {change.source_id: change.access for change in slow.held.values()}
        world.share(drives[3], ADA)
        world.rename_drive(drives[5], "Crew")
        done = slow.sync()

        assert max(slow.calls) <= 6 and not done.is_whole
        assert slow.readers("3.md") == [ADA, BEN, ROBOT] and "Crew/sub/5.md" in slow.paths
        assert sum(before[change.source_id] != change.access for change in slow.held.values()) == 1


def test_many_drives_that_vanish_at_once_are_given_up_one_after_the_other(
    world: World, drives: list[str], tmp_path: Path
) -> None:
    with following(tmp_path, world) as follower:
        slow = hurried(follower)
        slow.sync()
        for drive in drives[:5]:
            world.unshare(drive, ROBOT)

        assert slow.sync().unlisted and len(slow.held) == DRIVES, "the first time none of them is believed to be gone"
        for _ in range(2 * DRIVES):
            slow.sync()
            assert max(slow.calls) <= 6

        assert len(slow.held) == DRIVES - 5 and not slow.sync().unlisted
