"""A shared drive is lost: the first pass that misses it reports it, the second drops what it held, and the run goes on.

However it is lost, and whoever tells of it: the drive's own feed is silent then, and the account's may say of each item that it is
removed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from headwater.connectors import SourceUnavailable
from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled


@dataclass(frozen=True)
class Crew:
    """A shared drive with two files in a folder, and a shortcut in it to a file of Ada's."""

    follower: Follower
    drive: str
    shelf: str
    file: str
    far: str
    scope: Literal["drive", "account"]

    @property
    def world(self) -> World:
        return self.follower.world

    @property
    def others(self) -> list[str]:
        """What does not hang on the drive."""
        return ["far.md", "mine.md"] if self.scope == "account" else []

    @property
    def all(self) -> list[str]:
        return sorted({"a.md", "b.md", "far.md", *self.others})


@pytest.fixture(params=["drive", "account"])
def scope(request: pytest.FixtureRequest) -> Literal["drive", "account"]:
    return "drive" if request.param == "drive" else "account"


@pytest.fixture(params=["used", "always"])
def crew(request: pytest.FixtureRequest, scope: Literal["drive", "account"], tmp_path: Path) -> Iterator[Crew]:
    world = peopled()
    world.modes.drive_items_in_user_log = request.param
    drive = world.add_drive("Crew", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    world.share(drive, ADA, role="fileOrganizer")
    shelf = world.add_folder("Shelf", parent=drive).id
    file = world.add_file("a.md", "x", parent=shelf).id
    world.add_file("b.md", "x", parent=shelf)
    world.add_file("mine.md", "x", owner=ROBOT)
    far = world.add_file("far.md", "x", parent=world.add_folder("Far", owner=ADA).id).id
    world.share(far, ROBOT, role="writer")
    world.add_shortcut("there", far, parent=shelf)
    for each in (file, far, shelf):
        world.view(each, by=ROBOT)
    with following(tmp_path, world, **({"drive_id": drive} if scope == "drive" else {})) as follower:
        yield Crew(follower, drive, shelf, file, far, scope)


LOSSES: dict[str, Callable[[Crew], object]] = {
    "deleted": lambda crew: crew.world.delete_drive(crew.drive),
    "left": lambda crew: crew.world.unshare(crew.drive, ROBOT),
}


@pytest.fixture(params=list(LOSSES))
def lose(request: pytest.FixtureRequest) -> Callable[[Crew], object]:
    return LOSSES[request.param]


def test_what_a_lost_drive_held_goes_with_the_second_pass_that_misses_it(
    crew: Crew, lose: Callable[[Crew], object]
) -> None:
    follower = crew.follower
    follower.sync()
    assert follower.names == crew.all
    lose(crew)

    assert [part.path for part in follower.sync().unlisted] == [f"shared drive {crew.drive}"]
    assert follower.names == crew.all, "one pass alone deletes nothing"
    follower.sync()
    assert follower.names == crew.others
    assert not follower.sync().unlisted


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("page", [1, 3])
def test_a_drive_that_is_lost_in_the_middle_of_a_pass_is_not_believed_to_be_gone_by_that_one(
    crew: Crew, lose: Callable[[Crew], object], page: int, full: bool
) -> None:
    follower, world = crew.follower, crew.world
    follower.sync()
    world.rename(crew.shelf, "Other")
    world.rename(crew.far, "far.md")

    def meanwhile(number: int) -> None:
        if number == page:
            lose(crew)

    try:
        assert follower.sync(between=meanwhile, full=full, limit=2).pages > page
    except SourceUnavailable as error:
        assert crew.drive in str(error)
    assert follower.names == crew.all
    for _ in range(2):
        follower.sync()
    assert follower.names == crew.others


def test_a_drive_that_is_lost_before_the_first_pass_is_named(crew: Crew, lose: Callable[[Crew], object]) -> None:
    lose(crew)
    if crew.scope == "account":
        crew.follower.sync()
        assert crew.follower.names == crew.others
        return
    with pytest.raises(SourceUnavailable, match=f"There is no shared drive {crew.drive}"):
        crew.follower.sync()


def test_what_is_lost_elsewhere_meanwhile_goes_as_soon_as_the_drive_is_back(crew: Crew) -> None:
    """The shortcut in the drive led to it, and nobody told of that while the drive was away."""
    follower, world = crew.follower, crew.world
    follower.sync()
    world.unshare(crew.drive, ROBOT)
    world.unshare(crew.far, ROBOT)
    world.delete(crew.file)
    follower.sync()
    assert "a.md" in follower.names

    world.share(crew.drive, ROBOT, role="fileOrganizer")
    follower.sync()
    assert follower.names == sorted({"b.md", *crew.others} - {"far.md"})


def test_a_drive_that_only_a_shortcut_leads_into_is_lost_as_any_item_is(tmp_path: Path) -> None:
    world = peopled()
    world.modes.drive_items_in_user_log = "always"
    office, crew = (world.add_drive(name, organizer=BEN).id for name in ("Office", "Crew"))
    for drive in (office, crew):
        world.share(drive, ROBOT, role="fileOrganizer")
    box = world.add_folder("Box", parent=world.add_folder("Shelf", parent=crew).id).id
    world.add_file("a.md", "x", parent=box)
    world.add_file("b.md", "x", parent=office)
    world.add_shortcut("there", box, parent=office)
    with following(tmp_path, world, drive_id=office) as follower:
        follower.sync()
        assert follower.names == ["a.md", "b.md"]
        world.unshare(crew, ROBOT)
        for _ in range(2):
            follower.sync()
        assert follower.names == ["b.md"]
