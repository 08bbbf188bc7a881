"""Who may read what in the emulated Drive: inheritance, limited access, links, expiry, and the rest of a permission."""

from datetime import timedelta

import pytest

from tests.drive.errors import DriveError
from tests.drive.world import World

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

ANN, BOB, CEO = "ann@a.test", "bob@a.test", "ceo@b.test"
BOTH = {ANN, BOB}


@pytest.fixture
def world() -> World:
    world = World()
    for email in (ANN, "Bob@A.test", CEO):
        world.add_user(email)
    return world


def test_a_new_file_is_its_owners_alone(world: World) -> None:
    assert world.readers_of(world.add_file("a.txt", owner=ANN).id) == {ANN}


def test_a_folder_shares_what_is_below_it_and_what_comes_later(world: World) -> None:
    outer = world.add_folder("outer", owner=ANN)
    inner = world.add_folder("inner", parent=outer.id)
    early = world.add_file("early.txt", parent=inner.id)
    world.share(outer.id, BOB)
    late = world.add_file("late.txt", parent=inner.id)
    assert world.readers_of(early.id) == world.readers_of(late.id) == BOTH
    world.unshare(outer.id, BOB)
    assert world.readers_of(early.id) == world.readers_of(late.id) == {ANN}


def test_addresses_compare_without_case_and_are_shown_as_given(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    made = world.share(file.id, "BOB@A.test")
    assert world.may_read("bob@a.TEST", file.id)
    assert world.readers_of(file.id) == BOTH
    assert world.about(BOB)["user"]["emailAddress"] == "Bob@A.test"
    assert world.permission_resource(file.id, made.id, ANN)["emailAddress"] == "BOB@A.test"


def test_a_group_is_its_members_and_those_of_groups_in_it(world: World) -> None:
    world.add_group("inner@a.test", members=[BOB])
    world.add_group("outer@a.test", members=["inner@a.test", "outer@a.test"])
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, "outer@a.test")
    assert world.readers_of(file.id) == BOTH
    assert world.groups_of(BOB) == {"inner@a.test", "outer@a.test"}
    world.set_members("inner@a.test", [])
    assert world.readers_of(file.id) == {ANN}


def test_a_domain_reads_only_what_it_can_discover(world: World) -> None:
    hidden, found = world.add_file("hidden.txt", owner=CEO), world.add_file("found.txt", owner=CEO)
    world.share(hidden.id, "a.test")
    world.share(found.id, "a.test", discoverable=True)
    assert world.readers_of(found.id) == {ANN, BOB, CEO}
    assert world.readers_of(hidden.id) == {CEO}
    assert world.may_open(ANN, hidden.id)


def test_a_domain_is_not_its_subdomains_or_its_lookalikes(world: World) -> None:
    world.add_user("eve@sub.a.test")
    world.add_user("eve@nota.test")
    file = world.add_file("a.txt", owner=CEO)
    world.share(file.id, "a.test", discoverable=True)
    assert world.readers_of(file.id) == {ANN, BOB, CEO}


def test_anyone_reads_only_where_told_and_never_by_a_link(world: World) -> None:
    link, public = world.add_file("link.txt", owner=ANN), world.add_file("public.txt", owner=ANN)
    world.share(link.id)
    world.share(public.id, discoverable=True)
    assert world.readers_of(public.id) == world.readers_of(link.id) == {ANN}
    assert world.readers_of(public.id, discoverable_as_everyone=True) == {ANN, BOB, CEO}
    assert world.readers_of(link.id, discoverable_as_everyone=True) == {ANN}
    assert world.may_open(CEO, link.id)


def test_a_permission_ends_at_its_time(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB, expires=world.clock.now() + timedelta(hours=1))
    assert world.may_read(BOB, file.id)
    world.clock.advance(timedelta(hours=1))
    assert not world.may_read(BOB, file.id)


def test_what_is_inherited_outlasts_what_ends(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    file = world.add_file("a.txt", parent=folder.id)
    world.share(folder.id, BOB)
    world.share(file.id, BOB, "writer", expires=world.clock.now() + timedelta(hours=1))
    world.clock.advance(timedelta(hours=2))
    assert world.may_read(BOB, file.id)


def test_a_pending_owner_has_nothing_until_the_ownership_is_theirs(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    below = world.add_file("b.txt", parent=folder.id)
    world.share(folder.id, BOB, "writer", pending_owner=True)
    assert not world.may_read(BOB, folder.id)
    assert not world.may_read(BOB, below.id)
    assert [held.get("pendingOwner") for held in world.permission_resources(folder.id)] == [False, True]
    assert len(world.permission_resources(below.id)) == 1
    world.transfer(folder.id, BOB)
    assert world.may_read(BOB, folder.id)


def test_a_deleted_account_reads_nothing_and_its_permission_says_so(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    made = world.share(file.id, BOB)
    world.delete_user(BOB)
    assert world.readers_of(file.id) == {ANN}
    assert world.permission_resource(file.id, made.id, ANN)["deleted"] is True


def test_a_published_view_opens_nothing(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB, view="published")
    assert not world.may_open(BOB, file.id)
    assert len(world.list_permissions(file.id, ANN).resources) == 1
    assert len(world.list_permissions(file.id, ANN, view="published").resources) == 2


def test_limited_access_keeps_out_those_who_would_inherit(world: World) -> None:
    outer = world.add_folder("outer", owner=ANN)
    world.share(outer.id, BOB)
    world.share(outer.id, CEO)
    secret = world.add_folder("secret", parent=outer.id, inherited_permissions_disabled=True)
    file = world.add_file("a.txt", parent=secret.id)
    world.share(secret.id, BOB)
    assert world.readers_of(file.id) == BOTH
    assert not world.may_open(CEO, secret.id)
    assert world.sees(CEO, secret.id)
    assert not world.sees(CEO, file.id)


def test_limited_access_shows_the_others_as_a_view_of_the_metadata(world: World) -> None:
    outer = world.add_folder("outer", owner=ANN)
    world.share(outer.id, CEO, "writer")
    secret = world.add_folder("secret", parent=outer.id, inherited_permissions_disabled=True)
    views = {
        held["type"]: held.get("view") for held in world.permission_resources(secret.id) if held["role"] == "reader"
    }
    assert views == {"user": "metadata"}
    world.edit(secret.id, inherited_permissions_disabled=False)
    assert world.role_of(CEO, secret.id) == "writer"


def test_a_drives_organizers_pass_limited_access_and_its_readers_do_not(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    world.share(drive.id, BOB)
    secret = world.add_folder("secret", parent=drive.id, inherited_permissions_disabled=True)
    deep = world.add_file("a.txt", parent=world.add_folder("deeper", parent=secret.id).id)
    assert world.readers_of(deep.id) == {ANN}
    assert world.sees(BOB, secret.id)


def test_inheritance_says_where_from_in_shared_drives_only(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    folder = world.add_folder("f", owner=ANN)
    world.share(folder.id, BOB)
    in_drive, in_mine = world.add_file("a.txt", parent=drive.id), world.add_file("b.txt", parent=folder.id)
    world.share(in_drive.id, ANN, "writer")
    member, shared = world.permission_resources(in_drive.id)[0], world.permission_resources(in_mine.id)[1]
    assert member["permissionDetails"] == [
        {"permissionType": "file", "role": "writer", "inherited": False},
        {"permissionType": "member", "role": "organizer", "inherited": True, "inheritedFrom": drive.id},
    ]
    assert member["role"] == "organizer"
    assert shared["permissionDetails"] == [{"permissionType": "file", "role": "reader", "inherited": True}]


def test_the_owner_of_a_folder_edits_what_others_put_into_it(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    world.share(folder.id, BOB, "writer")
    file = world.add_file("a.txt", parent=folder.id, by=BOB)
    assert (file.owner, world.role_of(ANN, file.id)) == (BOB, "writer")


def test_several_parents_add_up_and_a_cycle_ends(world: World) -> None:
    one, two = world.add_folder("1", owner=ANN), world.add_folder("2", owner=ANN)
    file = world.add_file("a.txt", parent=one.id)
    world.share(two.id, BOB)
    world.set_parents(file.id, [one.id, two.id])
    assert world.readers_of(file.id) == BOTH
    world.set_parents(one.id, [two.id])
    world.set_parents(two.id, [one.id])
    assert world.readers_of(file.id) == BOTH
    assert not world.is_trashed(file.id)
    assert world.path_of(file.id) == "2/1/a.txt"


def test_an_open_way_counts_beside_a_limited_one(world: World) -> None:
    open_way, limited = world.add_folder("1", owner=ANN), world.add_folder("2", owner=ANN)
    top = world.add_folder("top", owner=ANN)
    world.share(top.id, BOB)
    world.move(open_way.id, top.id)
    world.move(limited.id, top.id)
    world.edit(limited.id, inherited_permissions_disabled=True)
    file = world.add_file("a.txt", parent=limited.id)
    assert not world.may_read(BOB, file.id)
    world.set_parents(file.id, [limited.id, open_way.id])
    assert world.may_read(BOB, file.id)


def test_what_is_in_the_trash_is_read_by_nobody_and_opens_still(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    file = world.add_file("a.txt", parent=folder.id)
    world.share(folder.id, BOB)
    world.trash(folder.id)
    assert world.readers_of(file.id) == set()
    assert world.may_open(BOB, file.id)


def test_only_those_who_may_share_do(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB)
    with pytest.raises(DriveError) as refused:
        world.share(file.id, CEO, by=BOB)
    assert (refused.value.status, refused.value.reason) == (403, "insufficientFilePermissions")
    world.share(file.id, BOB, "writer")
    world.share(file.id, CEO, by=BOB)
    world.edit(file.id, writers_can_share=False)
    with pytest.raises(DriveError):
        world.unshare(file.id, CEO, by=BOB)


def test_what_is_inherited_cannot_be_taken_away_below(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    file = world.add_file("a.txt", parent=folder.id)
    made = world.share(folder.id, BOB)
    with pytest.raises(DriveError) as refused:
        world.unshare(file.id, made.id)
    assert refused.value.reason == "cannotDeleteInheritedPermission"


def test_everybody_may_leave_what_was_shared_with_them(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB)
    world.unshare(file.id, BOB, by=BOB)
    assert not world.sees(BOB, file.id)


def test_a_new_owner_may_not_see_where_the_file_is(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    file = world.add_file("a.txt", parent=folder.id)
    world.transfer(file.id, BOB)
    assert "parents" not in world.resource_of(file, BOB)
    assert world.resource_of(file, ANN)["parents"] == [folder.id]
    assert world.role_of(ANN, file.id) == "writer"
    world.unshare(file.id, ANN)
    assert world.role_of(ANN, file.id) == "writer"  # by the folder, which is still hers
    world.move(file.id, world.root_of(BOB))
    assert world.readers_of(file.id) == {BOB}


def test_expiry_is_for_people_and_roles_of_drives_are_for_drives(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    for grantee in ("anyone", "a.test"):
        with pytest.raises(DriveError):
            world.share(file.id, grantee, expires=world.clock.now() + timedelta(days=1))
    with pytest.raises(DriveError):
        world.share(file.id, BOB, "organizer")
    with pytest.raises(DriveError):
        world.share(file.id, BOB, by=ANN, expires=world.clock.now())
