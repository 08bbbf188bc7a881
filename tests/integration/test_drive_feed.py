"""What the change feed tells, and what it leaves out: files and folders that change, go, come back and move."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headwater.connectors import ChangeKind, SourceUnavailable, Throttled
from tests.drive.faults import Fault
from tests.drive.items import File
from tests.drive.modes import Modes
from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled

MODES = {
    "quiet": Modes(),
    "loud": Modes(
        coalesce_changes=False,
        descendants_on_move=True,
        descendants_on_trash=True,
        descendants_on_access=True,
        empty_pages=True,
        duplicate_across_pages=True,
        page_cap=4,
    ),
}


class Office:
    """Ada's folder ``Office``, which is read, with ``hr`` and ``hr/old`` in it; and ``Attic``, which is not."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.folder = world.add_folder("Office", owner=ADA).id
        world.share(self.folder, ROBOT, role="writer")
        self.attic = world.add_folder("Attic", owner=ADA).id
        world.share(self.attic, ROBOT, role="writer")
        self.hr = world.add_folder("hr", parent=self.folder, owner=ADA).id
        self.old = world.add_folder("old", parent=self.hr, owner=ADA).id
        self.plan = self.file("plan.md")
        self.pay = self.file("pay.md", parent=self.hr)
        self.raise_ = self.file("raise.md", parent=self.old)

    def file(self, name: str, data: str = "", *, parent: str | None = None) -> File:
        return self.world.add_file(name, data or f"# {name}\n", parent=parent or self.folder, owner=ADA)


@pytest.fixture(params=list(MODES))
def office(request: pytest.FixtureRequest) -> Office:
    world = peopled()
    world.modes = MODES[request.param]
    return Office(world)


@pytest.fixture
def follower(office: Office, tmp_path: Path) -> Iterator[Follower]:
    with following(tmp_path, office.world, folder_ids=[office.folder]) as opened:
        opened.sync()
        assert opened.paths == ["Office/hr/old/raise.md", "Office/hr/pay.md", "Office/plan.md"]
        yield opened


def test_new_files_and_new_bytes_are_told(office: Office, follower: Follower) -> None:
    before = follower.change("plan.md")
    office.world.write(office.plan.id, "# Another plan\n")
    office.file("old-upload.md").modified = office.world.clock.now().replace(year=2015)

    follower.sync()

    assert "old-upload.md" in follower.names
    assert follower.change("plan.md").version != before.version


def test_a_rename_keeps_the_version_and_changes_the_label(office: Office, follower: Follower) -> None:
    before = follower.change("plan.md")
    office.world.rename(office.plan.id, "roof.md")

    follower.sync()

    after = follower.change("roof.md")
    assert (after.version, after.path) == (before.version, "Office/roof.md")
    assert after.label != before.label


def test_a_view_changes_nothing_that_is_compared(office: Office, follower: Follower) -> None:
    before = follower.change("plan.md")
    office.world.view(office.plan.id, by=ROBOT)

    follower.sync()

    after = follower.change("plan.md")
    assert (after.version, after.label, after.access) == (before.version, before.label, before.access)


@pytest.mark.parametrize("way", ["trash", "delete", "unshare"])
def test_a_file_that_goes_is_deleted(way: str, office: Office, follower: Follower) -> None:
    own = office.world.add_file("own.md", "x", parent=office.folder, owner=ADA)
    follower.sync()
    match way:
        case "trash":
            office.world.trash(own.id)
        case "delete":
            office.world.delete(own.id)
        case _:
            office.world.move(own.id, office.world.root_of(ADA))  # where the connector sees nothing

    follower.sync()

    assert follower.names == ["pay.md", "plan.md", "raise.md"]


def test_a_restored_file_comes_back_as_it_was(office: Office, follower: Follower) -> None:
    before = follower.change("plan.md")
    office.world.trash(office.plan.id)
    follower.sync()
    assert "plan.md" not in follower.names

    office.world.untrash(office.plan.id)
    follower.sync()

    assert (follower.change("plan.md").source_id, follower.change("plan.md").version) == (
        before.source_id,
        before.version,
    )


@pytest.mark.parametrize("way", ["trash", "delete", "move out", "hide"])
def test_a_folder_that_goes_takes_everything_below_with_it(way: str, office: Office, follower: Follower) -> None:
    for number in range(12):
        office.file(f"{number}.md", parent=office.old)
    follower.sync()
    match way:
        case "trash":
            office.world.trash(office.hr)
        case "delete":
            office.world.delete(office.hr)
        case "move out":
            office.world.move(office.hr, office.attic)
        case _:
            office.world.edit(office.hr, inherited_permissions_disabled=True)

    done = follower.sync(limit=5)

    assert follower.names == ["plan.md"]
    assert not done.is_whole


def test_a_folder_that_moves_in_brings_everything_below(office: Office, follower: Follower) -> None:
    boxes = office.world.add_folder("boxes", parent=office.attic, owner=ADA).id
    deep = office.world.add_folder("deep", parent=boxes, owner=ADA).id
    for number in range(12):
        office.file(f"{number}.md", parent=deep)
    follower.sync()

    office.world.move(boxes, office.hr)
    follower.sync(limit=5)

    assert len(follower.held) == 15
    assert "Office/hr/boxes/deep/7.md" in follower.paths


def test_a_folder_that_moves_within_reach_is_nothing_but_other_paths(office: Office, follower: Follower) -> None:
    before = follower.change("raise.md")
    office.world.move(office.old, office.folder)

    follower.sync()

    after = follower.change("raise.md")
    assert (after.path, after.version) == ("Office/old/raise.md", before.version)


def test_a_renamed_folder_renames_the_paths_below(office: Office, follower: Follower) -> None:
    before = follower.drive.log.mark()
    office.world.rename(office.hr, "people")

    follower.sync()

    assert follower.paths == ["Office/people/old/raise.md", "Office/people/pay.md", "Office/plan.md"]
    assert follower.drive.log.count("drive.files.get:media", since=before) == 0


def test_the_folder_itself_may_be_renamed(office: Office, follower: Follower) -> None:
    office.world.rename(office.folder, "Bureau")

    follower.sync()

    assert follower.paths == ["Bureau/hr/old/raise.md", "Bureau/hr/pay.md", "Bureau/plan.md"]


def test_a_file_moves_out_and_in(office: Office, follower: Follower) -> None:
    office.world.move(office.pay.id, office.attic)
    follower.sync()
    assert follower.names == ["plan.md", "raise.md"]

    office.world.move(office.pay.id, office.old)
    follower.sync()
    assert "Office/hr/old/pay.md" in follower.paths


def test_a_folder_that_went_and_came_back_is_whole(office: Office, follower: Follower) -> None:
    office.world.trash(office.hr)
    follower.sync()
    office.world.untrash(office.hr)

    follower.sync()

    assert follower.names == ["pay.md", "plan.md", "raise.md"]


def test_what_was_moved_out_of_a_lost_folder_in_time_stays(office: Office, follower: Follower) -> None:
    office.world.move(office.old, office.folder)
    office.world.trash(office.hr)

    follower.sync()

    assert follower.paths == ["Office/old/raise.md", "Office/plan.md"]


def test_a_cycle_ends(office: Office, follower: Follower) -> None:
    office.world.set_parents(office.hr, [office.folder, office.old])
    follower.sync()
    assert follower.names == ["pay.md", "plan.md", "raise.md"]

    office.world.set_parents(office.hr, [office.old])
    follower.sync()
    assert follower.names == ["plan.md"]


def test_a_file_of_two_folders_stays_while_one_is_in_reach(office: Office, follower: Follower) -> None:
    office.world.set_parents(office.plan.id, [office.hr, office.folder])
    follower.sync()
    office.world.trash(office.hr)
    follower.sync()
    assert follower.paths == ["Office/plan.md"]

    office.world.set_parents(office.plan.id, [office.attic])
    follower.sync()
    assert follower.names == []


def test_a_permission_is_taken_from_everything_below(office: Office, follower: Follower) -> None:
    office.world.share(office.hr, BEN)
    follower.sync()
    assert follower.readers("raise.md") == [ADA, BEN, ROBOT]
    before = follower.change("raise.md")

    office.world.unshare(office.hr, BEN)
    follower.sync()

    after = follower.change("raise.md")
    assert follower.readers("raise.md") == follower.readers("pay.md") == [ADA, ROBOT]
    assert (after.version, after.label) == (before.version, before.label)
    assert after.access != before.access


def test_a_permission_on_the_folder_itself_or_above_it_is_seen(office: Office, follower: Follower) -> None:
    above = office.world.add_folder("Above", owner=ADA).id
    office.world.move(office.folder, above)
    follower.sync()
    office.world.share(above, BEN)  # of which no feed tells the connector

    follower.sync()
    assert follower.readers("raise.md") == [ADA, BEN, ROBOT]


def test_a_lost_folder_deletes_nothing_and_goes_on_where_it_stood(office: Office, follower: Follower) -> None:
    office.world.unshare(office.folder, ROBOT)
    office.world.trash(office.plan.id)

    (part,) = follower.sync().unlisted
    assert office.folder in part.path
    for _ in range(2):
        with pytest.raises(SourceUnavailable, match=office.folder):
            follower.sync()
    assert len(follower.held) == 3

    office.world.share(office.folder, ROBOT, role="writer")
    follower.sync()
    assert follower.names == ["pay.md", "raise.md"]


def test_a_trashed_root_is_emptied_and_comes_back(office: Office, follower: Follower) -> None:
    office.world.trash(office.folder)
    follower.sync()
    assert follower.names == []

    office.world.untrash(office.folder)
    follower.sync()
    assert len(follower.held) == 3


def test_a_file_that_becomes_something_unreadable_is_deleted(office: Office, follower: Follower) -> None:
    office.world.write(office.plan.id, mime_type="application/vnd.google-apps.form", exports={})

    done = follower.sync()

    assert [change.kind for change in done.changes if change.source_id.endswith(office.plan.id)][
        -1
    ] is ChangeKind.DELETE
    assert follower.names == ["pay.md", "raise.md"]


def test_a_hidden_folder_that_is_shown_again_is_listed(office: Office, follower: Follower) -> None:
    office.world.edit(office.hr, inherited_permissions_disabled=True)
    follower.sync()
    assert follower.names == ["plan.md"]

    office.world.edit(office.hr, inherited_permissions_disabled=False)
    follower.sync()
    assert follower.names == ["pay.md", "plan.md", "raise.md"]


def test_what_changes_again_while_its_page_waits_for_drive_is_not_lost(office: Office, follower: Follower) -> None:
    """The page ends where Drive throttles it, and what it took of the changes is not taken again; what has become of that
    meanwhile is."""
    office.world.modes.omit_permissions = True
    for file in (office.plan, office.pay, office.raise_):
        office.world.write(file.id, "Another text.")
    follower.drive.faults.add(
        Fault("drive.permissions.list", file_id=office.pay.id, status=403, reason="userRateLimitExceeded")
    )

    def meanwhile(page: int) -> None:
        if follower.drive.log.count("drive.changes.list", since=begun) == 1:
            office.world.delete(office.plan.id)

    begun = follower.drive.log.mark()
    with suppress(Throttled):  # where the page begins with the file at which Drive throttles
        follower.sync(between=meanwhile)
    follower.sync()

    assert follower.names == ["pay.md", "raise.md"]
