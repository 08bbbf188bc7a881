"""What each role may do in the emulated Drive, in My Drive and in shared drives, and how a permission is changed."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.drive.errors import DriveError
from tests.drive.items import Role
from tests.drive.world import World

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

ANN, BOB, EVE = "ann@a.test", "bob@a.test", "eve@b.test"


@pytest.fixture
def world() -> World:
    world = World()
    for email in (ANN, BOB, EVE):
        world.add_user(email)
    return world


def refused(action: Callable[[], object]) -> str:
    """The reason for which it is refused."""
    with pytest.raises(DriveError) as refusal:
        action()
    return refusal.value.reason


def capabilities(world: World, file_id: str, viewer: str) -> set[str]:
    return {name for name, may in world.resource_of(file_id, viewer)["capabilities"].items() if may}


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("reader", {"canCopy", "canDownload"}),
        ("commenter", {"canCopy", "canDownload", "canComment"}),
        (
            "writer",
            {"canCopy", "canDownload", "canComment", "canEdit", "canModifyContent", "canReadRevisions"}
            | {"canRename", "canShare"},
        ),
    ],
)
def test_what_a_role_may_do_with_a_file_of_somebody_else(world: World, role: Role, may: set[str]) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB, role)
    assert capabilities(world, file.id, BOB) == may
    assert capabilities(world, file.id, ANN) - may >= {"canDelete", "canTrash", "canUntrash"}


@pytest.mark.parametrize(
    ("role", "more"),
    [
        ("reader", set()),
        ("writer", {"canEdit", "canRename"}),
        ("fileOrganizer", {"canEdit", "canRename", "canShare", "canTrash"}),
        ("organizer", {"canEdit", "canRename", "canShare", "canTrash", "canDelete"}),
    ],
)
def test_what_a_member_may_do_with_an_item_of_the_drive(world: World, role: Role, more: set[str]) -> None:
    drive = world.add_drive("D", organizer=ANN)
    world.share(drive.id, BOB, role)
    file = world.add_file("a.txt", parent=drive.id)
    counted = {"canEdit", "canRename", "canShare", "canTrash", "canDelete"}
    assert capabilities(world, file.id, BOB) & counted == more
    assert "canReadDrive" in capabilities(world, file.id, BOB)


def test_who_may_limit_the_access_to_a_folder(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    world.share(drive.id, BOB, "fileOrganizer")
    inside, mine = world.add_folder("f", parent=drive.id), world.add_folder("g", owner=ANN)
    world.share(mine.id, BOB, "writer")
    assert "canDisableInheritedPermissions" in capabilities(world, inside.id, ANN)
    for unlimited in (drive.id, world.add_file("a.txt", parent=drive.id).id, world.root_of(ANN)):
        assert "canDisableInheritedPermissions" not in capabilities(world, unlimited, ANN)
    assert refused(lambda: world.edit(inside.id, inherited_permissions_disabled=True, by=BOB)) == (
        "insufficientFilePermissions"
    )
    world.edit(inside.id, inherited_permissions_disabled=True, by=ANN)
    assert "canEnableInheritedPermissions" in capabilities(world, inside.id, ANN)
    assert "canEnableInheritedPermissions" not in capabilities(world, mine.id, BOB)
    world.edit(mine.id, inherited_permissions_disabled=True, by=BOB)
    assert "canDisableInheritedPermissions" not in capabilities(world, mine.id, BOB)
    assert refused(lambda: world.edit(drive.id, inherited_permissions_disabled=True)) == "invalid"


def test_only_organizers_run_a_drive(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    world.share(drive.id, BOB, "fileOrganizer")
    assert refused(lambda: world.rename_drive(drive.id, "E", by=BOB)) == "insufficientFilePermissions"
    assert refused(lambda: world.delete_drive(drive.id, by=BOB)) == "insufficientFilePermissions"
    assert refused(lambda: world.share(drive.id, EVE, by=BOB)) == "insufficientFilePermissions"
    assert refused(lambda: world.rename_drive(drive.id, "E", by=EVE)) == "notFound"
    world.add_file("a.txt", parent=drive.id)
    assert refused(lambda: world.delete_drive(drive.id, by=ANN, with_items=False)) == "cannotDeleteSharedDriveWithItems"
    world.delete_drive(drive.id, by=ANN)
    assert world.all_files() == []
    assert refused(lambda: world.rename_drive(drive.id, "E")) == "notFound"


def test_the_trash_of_a_drive_says_who_and_when(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    file = world.add_file("a.txt", parent=drive.id)
    world.trash(file.id, by=ANN)
    resource = world.resource_of(file, ANN)
    assert (resource["trashingUser"]["emailAddress"], resource["trashedTime"]) == (ANN, "2026-03-02T09:00:01.000Z")
    world.untrash(file.id, by=ANN)
    assert not {"trashingUser", "trashedTime"} & set(world.resource_of(file, ANN))


def test_a_file_says_who_changed_it_last(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB, "writer")
    world.write(file.id, "x", by=BOB)
    anns, bobs = world.resource_of(file, ANN), world.resource_of(file, BOB)
    assert (anns["modifiedByMe"], bobs["modifiedByMe"]) == (False, True)
    assert anns["lastModifyingUser"]["emailAddress"] == BOB
    world.view(file.id, by=BOB)
    assert world.resource_of(file, BOB)["viewedByMeTime"] == "2026-03-02T09:00:03.000Z"
    assert world.resource_of(file, ANN)["viewedByMe"] is False


def test_roots_stay_as_they_are(world: World) -> None:
    root = world.root_of(ANN)
    for action in (
        world.trash,
        world.delete,
        lambda root: world.rename(root, "x"),
        lambda root: world.transfer(root, BOB),
    ):
        with pytest.raises(DriveError):
            action(root)
    assert world.list_files(ANN).files == []


def test_what_a_drive_owns_cannot_be_given_away(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    file = world.add_file("a.txt", parent=drive.id)
    with pytest.raises(DriveError):
        world.share(file.id, BOB, "owner")


def test_only_the_owner_gives_a_file_away(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB, "writer")
    assert refused(lambda: world.transfer(file.id, BOB, by=BOB)) == "insufficientFilePermissions"
    world.share(file.id, BOB, "owner", by=ANN)
    assert (file.owner, world.role_of(ANN, file.id)) == (BOB, "writer")
    world.transfer(file.id, EVE, move_to_root=True)
    assert file.parents == [world.root_of(EVE)]


def test_an_owner_stays_one_until_the_file_is_given_away(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    owner = world.user(ANN).permission_id
    assert world.share(file.id, ANN).role == "owner"
    assert refused(lambda: world.update_permission(file.id, owner, role="reader")) == "cannotModifyOwner"
    assert refused(lambda: world.unshare(file.id, owner)) == "cannotModifyOwner"


def test_a_permission_is_changed_in_its_parts(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    soon = world.clock.now() + timedelta(days=1)
    made = world.share(file.id, BOB, expires=soon)
    changed = world.update_permission(file.id, made.id, role="writer")
    assert (changed.role, changed.expires) == ("writer", soon)
    assert world.permission_resource(file.id, made.id, ANN)["expirationTime"] == "2026-03-03T09:00:01.000Z"
    assert world.update_permission(file.id, made.id, remove_expiration=True).expires is None
    assert world.update_permission(file.id, made.id, pending_owner=True).pending_owner
    assert world.update_permission(file.id, made.id, role="reader").pending_owner
    assert refused(lambda: world.update_permission(file.id, "7", role="reader")) == "notFound"


def test_changing_what_is_inherited_makes_a_permission_below(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    file = world.add_file("a.txt", parent=folder.id)
    made = world.share(folder.id, BOB)
    world.update_permission(file.id, made.id, role="writer")
    assert (world.role_of(BOB, file.id), world.role_of(BOB, folder.id)) == ("writer", "reader")
    world.unshare(folder.id, BOB)
    assert world.may_read(BOB, file.id)


def test_each_kind_of_grantee_is_taken_away_by_its_name(world: World) -> None:
    world.add_group("eng@a.test", members=[EVE])
    file = world.add_file("a.txt", owner=ANN)
    for grantee in (BOB, "eng@a.test", "b.test", "anyone"):
        world.share(file.id, grantee)
        assert len(file.permissions) == 2
        world.unshare(file.id, grantee)
        assert len(file.permissions) == 1
    assert refused(lambda: world.unshare(file.id, "anyone")) == "notFound"


def test_a_type_is_guessed_unless_somebody_says_it(world: World) -> None:
    assert world.add_file("a.PDF", owner=ANN).mime_type == "application/pdf"
    assert world.add_file("a", owner=ANN).mime_type == "application/octet-stream"
    assert world.add_file("a.pdf", owner=ANN, mime_type="text/plain").mime_type == "text/plain"


def test_a_file_is_made_where_its_maker_may(world: World) -> None:
    folder, file = world.add_folder("f", owner=ANN), world.add_file("a.txt", owner=ANN)
    assert refused(lambda: world.add_file("b.txt", parent=folder.id, by=BOB)) == "notFound"
    world.share(folder.id, BOB)
    assert refused(lambda: world.add_file("b.txt", parent=folder.id, by=BOB)) == "insufficientFilePermissions"
    assert refused(lambda: world.add_file("b.txt", parent=file.id)) == "parentNotAFolder"
    assert refused(lambda: world.add_file("b.txt", owner=ANN, file_id=file.id)) == "fileIdInUse"
    assert refused(lambda: world.add_shortcut("s", file.id, by=BOB)) == "notFound"
    assert refused(lambda: world.write(folder.id, "x")) == "fileNotDownloadable"
    assert world.add_file("b.txt", parent="root", by=BOB).parents == [world.root_of(BOB)]


def test_a_group_that_is_deleted_opens_nothing(world: World) -> None:
    world.add_group("eng@a.test", members=[BOB])
    file = world.add_file("a.txt", owner=ANN)
    made = world.share(file.id, "eng@a.test")
    world.delete_group("eng@a.test")
    assert world.readers_of(file.id) == {ANN}
    assert world.permission_resource(file.id, made.id, ANN)["deleted"] is True
