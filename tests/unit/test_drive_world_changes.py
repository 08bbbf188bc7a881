"""The emulated change logs: whose they are, what an entry shows, and the modes in which Google leaves them open."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.drive.errors import DriveError
from tests.drive.world import World

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

ANN, BOB = "ann@a.test", "bob@a.test"
ALL: dict[str, Any] = {"supports_all_drives": True, "include_items_from_all_drives": True}


@pytest.fixture
def world() -> World:
    world = World()
    world.add_user(ANN)
    world.add_user(BOB)
    return world


class Reader:
    """Reads one log on, from where it ended when the reader was made."""

    def __init__(self, world: World, viewer: str, *, drive_id: str | None = None, **how: Any) -> None:
        self._world, self._viewer, self._how = world, viewer, how
        self._drive_id = drive_id
        self.token = world.start_token(viewer, drive_id=drive_id, supports_all_drives=drive_id is not None)

    def pages(self) -> Iterator[list[dict[str, Any]]]:
        while True:
            page = self._world.list_changes(self._viewer, self.token, drive_id=self._drive_id, **self._how)
            assert (page.next_page_token is None) != (page.new_start_page_token is None)
            self.token = page.next_page_token or page.new_start_page_token or ""
            yield list(page.changes)
            if page.next_page_token is None:
                return

    def changes(self) -> list[dict[str, Any]]:
        return [change for page in self.pages() for change in page]

    def seen(self) -> list[tuple[str, bool]]:
        """File id (or drive id) and whether it was removed."""
        return [(change.get("fileId") or change["driveId"], change["removed"]) for change in self.changes()]


def test_a_change_is_told_to_those_who_see_the_file(world: World) -> None:
    anns, bobs = Reader(world, ANN), Reader(world, BOB)
    file = world.add_file("a.txt", owner=ANN)
    assert anns.seen() == [(file.id, False)]
    assert bobs.seen() == []


def test_losing_access_is_a_removal_for_the_one_and_a_change_for_the_other(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB)
    anns, bobs = Reader(world, ANN), Reader(world, BOB)
    world.unshare(file.id, BOB)
    assert anns.seen() == [(file.id, False)]
    (change,) = bobs.changes()
    assert (change["fileId"], change["removed"], "file" in change) == (file.id, True, False)


def test_a_deletion_is_a_removal_for_everybody(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB)
    anns, bobs = Reader(world, ANN), Reader(world, BOB)
    world.delete(file.id)
    assert anns.seen() == bobs.seen() == [(file.id, True)]


def test_the_trash_is_a_change_and_no_removal(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    anns = Reader(world, ANN)
    world.trash(file.id)
    (change,) = anns.changes()
    assert (change["removed"], change["file"]["trashed"]) == (False, True)
    before = world.file(file.id).modified
    world.untrash(file.id)
    assert anns.changes()[0]["file"]["trashed"] is False
    assert world.file(file.id).modified == before


def test_one_entry_a_file_at_its_last_change(world: World) -> None:
    one, two = world.add_file("1.txt", owner=ANN), world.add_file("2.txt", owner=ANN)
    coalesced = Reader(world, ANN)
    for file in (one, two, one):
        world.rename(file.id, file.name + "!")
    single = Reader(world, ANN)
    single.token = coalesced.token
    assert coalesced.seen() == [(two.id, False), (one.id, False)]
    world.modes.coalesce_changes = False
    assert single.seen() == [(one.id, False), (two.id, False), (one.id, False)]


def test_an_entry_shows_the_file_as_it_is_or_as_it_was(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.modes.coalesce_changes, world.modes.change_states = False, "then"
    anns = Reader(world, ANN)
    world.rename(file.id, "b.txt")
    world.rename(file.id, "c.txt")
    changes = anns.changes()
    assert [change["file"]["name"] for change in changes] == ["b.txt", "c.txt"]
    assert int(changes[0]["file"]["version"]) < int(changes[1]["file"]["version"])
    again = Reader(world, ANN)
    world.modes.change_states = "current"
    world.rename(file.id, "d.txt")
    world.rename(file.id, "e.txt")
    assert [change["file"]["name"] for change in again.changes()] == ["e.txt", "e.txt"]


@pytest.mark.parametrize("kind", ["move", "trash", "access"])
@pytest.mark.parametrize("speak", [False, True])
def test_what_is_below_a_folder_speaks_only_if_told_to(world: World, kind: str, speak: bool) -> None:
    folder = world.add_folder("f", owner=ANN)
    world.share(folder.id, BOB)
    file = world.add_file("a.txt", parent=folder.id)
    setattr(world.modes, f"descendants_on_{kind}", speak)
    version = world.file(file.id).version
    anns, bobs = Reader(world, ANN), Reader(world, BOB)
    if kind == "move":
        world.move(folder.id, world.add_folder("elsewhere", owner=ANN).id)
        anns.changes()
        bobs.changes()
        world.move(folder.id, world.root_of(ANN))
    elif kind == "trash":
        world.trash(folder.id)
    else:
        world.unshare(folder.id, BOB)
    gone = kind == "access"
    below = [file.id] if speak else []
    assert anns.seen() == [(file_id, False) for file_id in [folder.id, *below]]
    assert bobs.seen() == [(file_id, gone) for file_id in [folder.id, *below]]
    assert (world.file(file.id).version > version) == speak


def test_a_view_is_a_change_that_changes_nothing(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB)
    before, anns = world.resource_of(file, ANN), Reader(world, ANN)
    world.view(file.id, by=BOB)
    (change,) = anns.changes()
    after = change["file"]
    assert {name for name in after if after[name] != before[name]} == {"version"}


def test_membership_of_groups_and_the_passing_of_time_are_silent(world: World) -> None:
    world.add_group("eng@a.test")
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, "eng@a.test")
    bobs = Reader(world, BOB)
    world.set_members("eng@a.test", [BOB])
    assert world.may_read(BOB, file.id)
    assert bobs.seen() == []


def test_an_expired_permission_is_told_when_it_is_cleared_away(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB, expires=world.clock.now())
    anns = Reader(world, ANN)
    assert anns.seen() == []
    assert (world.expire(), world.expire()) == (1, 0)
    assert anns.seen() == [(file.id, False)]
    assert len(world.permission_resources(file.id)) == 1


def test_pages_can_be_short_empty_and_overlap(world: World) -> None:
    anns = Reader(world, ANN, page_size=3)
    files = [world.add_file(f"{number}.txt", owner=ANN).id for number in range(7)]
    start = anns.token
    assert [len(page) for page in anns.pages()] == [3, 3, 1]
    world.modes.empty_pages = world.modes.duplicate_across_pages = True
    anns.token = start
    pages = [[change["fileId"] for change in page] for page in anns.pages()]
    assert pages == [[], files[0:3], [], files[2:5], [], files[4:7]]
    world.modes.page_cap, anns.token = 1, start
    assert [change["fileId"] for change in anns.changes()] == files


def test_the_end_of_a_log_is_where_it_goes_on(world: World) -> None:
    anns = Reader(world, ANN)
    world.add_file("a.txt", owner=ANN)
    assert len(anns.changes()) == 1
    assert anns.changes() == []
    late = world.add_file("b.txt", owner=ANN)
    assert anns.seen() == [(late.id, False)]


@pytest.mark.parametrize("token", ["", "x", "0", "-1", "²", "999999999999"])
def test_a_token_that_no_log_gave_is_refused(world: World, token: str) -> None:
    with pytest.raises(DriveError) as refused:
        world.list_changes(ANN, token)
    assert (refused.value.status, refused.value.location) == (400, "pageToken")


def test_a_token_of_another_log_is_refused(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    own, drives = world.start_token(ANN), world.start_token(ANN, drive_id=drive.id, supports_all_drives=True)
    for token, drive_id in ((own, drive.id), (drives, None)):
        with pytest.raises(DriveError):
            world.list_changes(ANN, token, drive_id=drive_id, **ALL)


@pytest.mark.parametrize("status", [400, 410])
def test_every_token_can_be_lost(world: World, status: Any) -> None:
    token = world.start_token(ANN)
    world.modes.refuse_change_tokens = status
    with pytest.raises(DriveError) as refused:
        world.list_changes(ANN, token)
    assert refused.value.status == status


def test_a_shared_drive_has_a_log_of_its_own(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    anns, drives = Reader(world, ANN, **ALL), Reader(world, ANN, drive_id=drive.id, **ALL)
    file = world.add_file("a.txt", parent=drive.id)
    assert anns.seen() == []
    assert drives.seen() == [(file.id, False)]
    world.modes.drive_items_in_user_log = "always"
    world.rename(file.id, "b.txt")
    assert anns.seen() == drives.seen() == [(file.id, False)]


def test_a_member_hears_of_the_items_that_the_member_used(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    file = world.add_file("a.txt", parent=drive.id)
    world.view(file.id, by=ANN)
    with_drives, without = Reader(world, ANN, **ALL), Reader(world, ANN)
    world.rename(file.id, "b.txt")
    assert with_drives.seen() == [(file.id, False)]
    assert without.seen() == []


def test_what_is_made_in_a_drive_was_never_in_my_drive(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    with_drives, without = Reader(world, ANN, **ALL), Reader(world, ANN)
    file = world.add_file("a.txt", parent=drive.id, by=ANN)
    assert with_drives.seen() == [(file.id, False)]
    assert without.seen() == []


def test_joining_and_leaving_a_drive_is_one_change_and_none_for_its_items(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    world.add_file("a.txt", parent=drive.id)
    bobs = Reader(world, BOB, **ALL)
    world.share(drive.id, BOB)
    (joined,) = bobs.changes()
    assert (joined["changeType"], joined["driveId"], joined["drive"]["name"]) == ("drive", drive.id, "D")
    world.rename_drive(drive.id, "E")
    assert bobs.changes()[0]["drive"]["name"] == "E"
    world.unshare(drive.id, BOB)
    (left,) = bobs.changes()
    assert (left["removed"], "drive" in left) == (True, False)


@pytest.mark.parametrize("status", [403, 404])
def test_the_log_of_a_lost_drive_is_closed(world: World, status: Any) -> None:
    world.modes.lost_drive_status = status
    drive = world.add_drive("D", organizer=ANN)
    anns, drives = Reader(world, ANN, **ALL), Reader(world, ANN, drive_id=drive.id, **ALL)
    world.delete_drive(drive.id)
    assert anns.seen() == [(drive.id, True)]
    with pytest.raises(DriveError) as refused:
        drives.changes()
    assert refused.value.status == status


def test_what_leaves_a_drive_is_removed_from_its_log_and_told_to_the_new_owner(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    file = world.add_file("a.txt", parent=drive.id)
    drives, anns = Reader(world, ANN, drive_id=drive.id, **ALL), Reader(world, ANN)
    again = Reader(world, ANN, drive_id=drive.id, include_corpus_removals=True, **ALL)
    world.move(file.id, world.root_of(ANN), by=ANN)
    (left,) = drives.changes()
    assert (left["removed"], "file" in left) == (True, False)
    (kept,) = again.changes()
    assert (kept["removed"], kept["file"]["id"]) == (True, file.id)
    assert anns.seen() == [(file.id, False)]


def test_what_goes_into_a_drive_leaves_its_members_own_lists(world: World) -> None:
    """It is removed from one log and there in another: gone only for those who know no more than the first."""
    drive = world.add_drive("D", organizer=ANN)
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB)
    logs = [Reader(world, ANN), Reader(world, ANN, drive_id=drive.id, **ALL), Reader(world, BOB, **ALL)]
    kept = Reader(world, BOB, include_corpus_removals=True)
    world.modes.drive_items_in_user_log = "never"
    world.move(file.id, drive.id)
    assert [log.seen() for log in logs] == [[(file.id, True)], [(file.id, False)], [(file.id, False)]]
    assert [(change["removed"], change["file"]["driveId"]) for change in kept.changes()] == [(True, drive.id)]


def test_a_removal_is_told_though_the_file_changes_on_where_it_cannot_be_seen(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    world.share(drive.id, BOB)
    folder = world.add_folder("f", parent=drive.id)
    bobs = Reader(world, BOB, drive_id=drive.id, **ALL)
    file = world.add_file("a.txt", parent=folder.id)
    assert bobs.seen() == [(file.id, False)]
    world.modes.descendants_on_access = True
    world.edit(folder.id, inherited_permissions_disabled=True)
    world.rename(file.id, "b.txt")
    assert (file.id, True) in bobs.seen()


def test_changes_can_be_kept_to_my_drive_and_removals_left_out(world: World) -> None:
    shared = world.add_file("s.txt", owner=BOB)
    world.share(shared.id, ANN)
    mine, gone = world.add_file("m.txt", owner=ANN), world.add_file("g.txt", owner=ANN)
    narrow = Reader(world, ANN, restrict_to_my_drive=True, include_removed=False)
    world.rename(shared.id, "t.txt")
    world.rename(mine.id, "n.txt")
    world.delete(gone.id)
    assert narrow.seen() == [(mine.id, False)]


def test_an_entry_outlives_what_it_shows(world: World) -> None:
    world.modes.coalesce_changes, world.modes.change_states = False, "then"
    anns, narrow = Reader(world, ANN), Reader(world, ANN, restrict_to_my_drive=True)
    file = world.add_file("a.txt", owner=ANN)
    world.delete(file.id)
    assert anns.seen() == [(file.id, False), (file.id, True)]
    assert narrow.seen() == [(file.id, True)]


def test_times_that_drive_writes_can_be_off(world: World) -> None:
    anns = Reader(world, ANN)
    world.clock.skew = timedelta(hours=-3)
    now = world.clock.now()
    world.add_file("a.txt", owner=ANN)
    (change,) = anns.changes()
    assert change["file"]["createdTime"] == "2026-03-02T06:00:00.000Z"
    assert world.clock.now() >= now
