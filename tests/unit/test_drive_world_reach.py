"""What a connector can come to on the emulated Drive, by account and scope."""

from typing import Any

import pytest

from tests.drive.reach import reach
from tests.drive.world import World

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

ANN, ROBOT = "ann@a.test", "robot@p.test"


@pytest.fixture
def world() -> World:
    world = World()
    world.add_user(ANN)
    world.add_user(ROBOT)
    return world


def names(world: World, **scope: Any) -> list[str]:
    return sorted(file.name for file in reach(world, ROBOT, **scope).values())


def test_a_folder_reaches_what_is_below_it_and_not_what_is_beside(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    world.share(folder.id, ROBOT)
    inner = world.add_folder("g", parent=folder.id)
    world.add_file("deep", parent=inner.id)
    world.trash(world.add_file("trashed", parent=inner.id).id)
    world.share(world.add_file("beside", owner=ANN).id, ROBOT)
    assert names(world, folders=[folder.id]) == ["deep"]
    assert names(world) == ["beside", "deep"]
    world.unshare(folder.id, ROBOT)
    assert names(world, folders=[folder.id]) == []


def test_what_is_shared_by_itself_is_found_in_a_folder_that_shows_no_more_than_its_name(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    world.share(folder.id, ROBOT)
    hidden = world.add_folder("g", parent=folder.id, inherited_permissions_disabled=True)
    world.share(world.add_file("a", parent=hidden.id).id, ROBOT)
    world.add_file("b", parent=hidden.id)
    assert names(world, folders=[folder.id]) == ["a"]
    assert names(world) == ["a"]


def test_a_shortcut_brings_its_target_once(world: World) -> None:
    folder, elsewhere = world.add_folder("f", owner=ANN), world.add_folder("e", owner=ANN)
    for shared in (folder, elsewhere):
        world.share(shared.id, ROBOT)
    file = world.add_file("a", parent=elsewhere.id)
    for target in (file.id, file.id, world.add_file("secret", owner=ANN).id, "gone"):
        world.add_shortcut("s", target, parent=folder.id)
    assert names(world, folders=[folder.id]) == ["a"]
    world.add_file("b", parent=elsewhere.id)
    world.add_shortcut("back", folder.id, parent=elsewhere.id)
    world.add_shortcut("there", elsewhere.id, parent=folder.id)
    assert names(world, folders=[folder.id]) == ["a", "b"]
    assert names(world, folders=[folder.id], follow_shortcuts=False) == []


def test_a_drive_reaches_its_items(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    world.add_document("d", {}, kind="form", parent=drive.id)
    assert names(world, drive_id=drive.id) == []
    world.share(drive.id, ROBOT)
    assert names(world, drive_id=drive.id) == ["d"]
    assert names(world) == ["d"]
