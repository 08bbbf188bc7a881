"""Random lives of a Drive, followed by its connector: at the end it holds what one holds who lists everything for the
first time.

What the connector holds is held against the world itself too: which documents are in reach, and who may read them. A
seed that fails is in the test's name.
"""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.connectors import Change
from headwater.errors import TransientError
from tests.drive.errors import DriveError
from tests.drive.faults import Fault
from tests.drive.items import File
from tests.drive.modes import Modes
from tests.drive.world import World
from tests.integration.drive_follower import Follower, following
from tests.unit.test_drive_world_walk import USERS, Life

ROBOT = "eve@b.test"
MODES = {
    "quiet": Modes(),
    "loud": Modes(
        coalesce_changes=False,
        descendants_on_move=True,
        descendants_on_trash=True,
        descendants_on_access=True,
        page_cap=7,
    ),
    "late": Modes(coalesce_changes=False, change_states="then", omit_permissions=True, duplicate_across_pages=True),
}


class Office(Life):
    """A life that happens mostly below one folder, which the robot may manage."""

    def __init__(self, seed: int, modes: Modes) -> None:
        super().__init__(seed, modes)
        self.root = self.world.add_folder("Office", owner=USERS[0]).id
        self.world.share(self.root, ROBOT, role="writer")
        for _ in range(25):
            self.add()

    def some_folder(self) -> File:
        inside = [file for file in map(self.world.file, self.world.below(self.root)) if file.is_folder]
        here = [self.world.file(self.root), *inside]
        return self.random.choice(here if self.random.random() < 0.75 else self.folders())

    def some_file(self) -> File:
        files = [file for file in self.world.all_files() if file.id != self.root]
        return self.random.choice(files or [self.world.add_file("first.txt", owner=USERS[0])])

    def live(self, steps: int) -> None:
        for _ in range(steps):
            for each in (self.step, self.add) if self.random.random() < 0.4 else (self.step,):
                _attempt(each)


def _attempt(step: Callable[[], None]) -> None:
    try:
        step()
    except DriveError:
        pass  # what Drive refuses has not happened


def in_reach(world: World, root: str) -> set[str]:
    """The documents below a folder, as the robot sees it, and what shortcuts there lead to."""
    found, seen, todo = set[str](), set[str](), [root]
    for folder in todo:
        if folder in seen or not world.sees(ROBOT, folder):
            continue
        seen.add(folder)
        for child in world.children_of(folder):
            if world.is_trashed(child.id) or not world.is_in_corpus(ROBOT, child.id):
                continue
            file_id = child.target.file_id if child.target else child.id
            if not world.exists(file_id) or world.is_trashed(file_id) or not world.sees(ROBOT, file_id):
                continue
            if world.file(file_id).is_folder:
                todo.append(file_id)
            elif not world.file(file_id).is_shortcut:
                found.add(f"drive:{file_id}")
    return found


def shown(follower: Follower) -> dict[str, tuple[object, ...]]:
    return {
        source_id: (change.path, version_of(change), change.label, change.access)
        for source_id, change in follower.held.items()
    }


def version_of(change: Change) -> object:
    """A document of Google's has the number of its last edit, which who comes later does not know, but when that was."""
    if change.version is None or not change.version.startswith("v:"):
        return change.version
    return change.version.partition(" ")[2], json.loads(change.locator)["modified"]


def check_grants(follower: Follower) -> None:
    """Whoever is granted a document may read it; whoever may read it for good is granted it, unless nobody is."""
    world = follower.world
    for source_id, change in follower.held.items():
        grants, file_id = change.grants, source_id.removeprefix("drive:")
        assert grants is not None
        if not (grants.principal_ids or grants.group_ids or grants.expiring):
            continue
        granted = {*grants.principal_ids, *(each.name for each in grants.expiring)}
        for user in USERS:
            groups = {f"domain:{user.partition('@')[2]}", *world.groups_of(user)}
            is_granted = user in granted or bool(groups & {*grants.group_ids, *granted})
            assert is_granted == world.may_read(user, file_id), (source_id, user)


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("seed", range(2))
def test_who_follows_the_feed_holds_what_is_there(seed: int, mode: str, tmp_path: Path) -> None:
    office = Office(seed, replace(MODES[mode]))
    dice = random.Random(seed)
    with following(tmp_path, office.world, email=ROBOT, folder_ids=[office.root]) as follower:
        for number in range(3):
            office.live(8)
            follower.sync(limit=dice.choice((2, 7, 50)))
            anew = Follower(follower.config, follower.sessions, drive=follower.drive)
            anew.sync()
            assert shown(follower) == shown(anew), f"seed {seed}, round {number}"
            assert set(follower.held) == in_reach(office.world, office.root), f"seed {seed}, round {number}"
            check_grants(follower)


@pytest.mark.parametrize("seed", range(2))
def test_passes_that_break_off_anywhere_end_at_the_same(seed: int, tmp_path: Path) -> None:
    """Each pass breaks off at some request; what its pages said before counts, and the next pass begins at the old
    cursor."""
    office = Office(seed + 10, replace(MODES["loud"]))
    dice = random.Random(seed)
    with following(tmp_path, office.world, email=ROBOT, folder_ids=[office.root]) as follower:
        follower.sync()
        for _ in range(3):
            office.live(8)
            for _ in range(4):
                follower.drive.faults.add(Fault(method="drive.*", nth=dice.randrange(1, 25), status=503))
                try:
                    follower.sync(limit=3)
                except TransientError:
                    office.live(1)
                follower.drive.faults.clear()
            follower.sync()
            anew = Follower(follower.config, follower.sessions, drive=follower.drive)
            anew.sync()
            assert shown(follower) == shown(anew)
