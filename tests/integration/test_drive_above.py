"""What lies above the target of a shortcut, where nothing else is followed: a change there is the target's too."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled

EVE = "eve@a.test"


@dataclass(frozen=True)
class Afar:
    """A shortcut in the office leads to what lies in `shelf`, below `annex`, below `top`, which Eve reads."""

    world: World
    office: str
    top: str
    annex: str
    shelf: str
    other: str
    target: str


@pytest.fixture(params=["file", "folder"])
def afar(request: pytest.FixtureRequest) -> Afar:
    world = peopled()
    world.add_user(EVE)
    office, top, other = (world.add_folder(name, owner=ADA).id for name in ("Office", "Top", "Other"))
    for folder in (office, top, other):
        world.share(folder, ROBOT, role="writer")
    world.share(top, EVE)
    annex = world.add_folder("Annex", parent=top).id
    shelf = world.add_folder("Shelf", parent=annex).id
    file = world.add_file("far.txt", "Far.", parent=shelf).id
    target = file if request.param == "file" else shelf
    world.add_shortcut("there", target, parent=office)
    return Afar(world, office, top, annex, shelf, other, target)


def readers(follower: Follower) -> list[str]:
    return follower.readers("far.txt") if follower.names else []


CHANGES: dict[str, Callable[[Afar], object]] = {
    "unshared": lambda afar: afar.world.unshare(afar.top, EVE),
    "limited": lambda afar: afar.world.edit(afar.annex, inherited_permissions_disabled=True),
    "moved": lambda afar: afar.world.move(afar.annex, afar.other),
    "trashed": lambda afar: afar.world.trash(afar.annex),
    "deleted": lambda afar: afar.world.delete(afar.annex),
    "shared": lambda afar: afar.world.share(afar.annex, BEN),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_change_above_what_a_shortcut_leads_to_is_seen_by_the_next_pass(
    afar: Afar, change: str, tmp_path: Path
) -> None:
    with following(tmp_path, afar.world, folder_ids=[afar.office]) as follower:
        follower.sync()
        assert readers(follower) == [ADA, EVE, ROBOT]
        CHANGES[change](afar)
        done = follower.sync()
        expected = {
            "unshared": [ADA, ROBOT], "limited": [], "moved": [ADA, ROBOT], "trashed": [], "deleted": [],
            "shared": sorted([ADA, BEN, EVE, ROBOT]),
        }  # fmt: skip
        assert readers(follower) == expected[change]
        assert not done.is_whole


def test_what_was_moved_is_followed_where_it_lies_now(afar: Afar, tmp_path: Path) -> None:
    world = afar.world
    with following(tmp_path, world, folder_ids=[afar.office]) as follower:
        follower.sync()
        world.move(afar.target, afar.other)
        follower.sync()
        world.share(afar.other, BEN)
        follower.sync()
        assert readers(follower) == [ADA, BEN, ROBOT]
        follower.drive.log.clear()
        world.share(afar.annex, BEN)  # where it lay before
        follower.sync()
        assert follower.drive.log.count("drive.files.get", file_id=afar.target) == 0


def test_what_was_in_the_trash_comes_back_with_the_folder_above_it(afar: Afar, tmp_path: Path) -> None:
    afar.world.trash(afar.annex)
    with following(tmp_path, afar.world, folder_ids=[afar.office]) as follower:
        follower.sync()
        assert follower.names == []
        afar.world.untrash(afar.annex)
        follower.sync()
        assert readers(follower) == [ADA, EVE, ROBOT]


def test_who_joins_a_shared_drive_reads_what_a_shortcut_leads_to_there(tmp_path: Path) -> None:
    world = peopled()
    office = world.add_folder("Office", owner=ADA).id
    club = world.add_drive("Club", organizer=ADA).id
    for place in (office, club):
        world.share(place, ROBOT, role="writer")
    rooms = world.add_folder("Rooms", parent=club).id
    world.add_shortcut("there", world.add_file("far.txt", "Far.", parent=rooms).id, parent=office)
    with following(tmp_path, world, folder_ids=[office]) as follower:
        follower.sync()
        assert readers(follower) == [ADA, ROBOT]
        world.share(club, BEN)
        follower.sync()
        assert readers(follower) == [ADA, BEN, ROBOT]


def test_what_moves_into_a_shared_drive_is_followed_there(afar: Afar, tmp_path: Path) -> None:
    world = afar.world
    club = world.add_drive("Club", organizer=ADA).id
    world.share(club, ROBOT, role="writer")
    rooms = world.add_folder("Rooms", parent=club).id
    with following(tmp_path, world, folder_ids=[afar.office]) as follower:
        follower.sync()
        world.move(afar.target, rooms)
        follower.sync()
        assert readers(follower) == [ADA, ROBOT]
        world.share(rooms, BEN)
        follower.sync()
        assert readers(follower) == [ADA, BEN, ROBOT]
        world.edit(rooms, inherited_permissions_disabled=True)
        follower.sync()
        assert readers(follower) == []


def test_without_a_change_above_a_pass_costs_what_it_cost(afar: Afar, tmp_path: Path) -> None:
    with following(tmp_path, afar.world, folder_ids=[afar.office]) as follower:
        follower.sync()
        follower.drive.log.clear()
        follower.sync()
        assert follower.drive.log.count() == 2  # its folder, and the feed
