"""Who may read what the connector lists: Drive's permissions, asked for where a listing does not tell them."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from headwater.connectors import DocumentDenied, DocumentUnsupported, GrantSet
from tests.drive.faults import Fault
from tests.drive.items import Permission
from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled


class Office:
    def __init__(self, world: World) -> None:
        self.world = world
        self.folder = world.add_folder("Office", owner=ADA).id
        world.share(self.folder, ROBOT, role="writer")
        self.file = world.add_file("plan.md", "# Plan\n", parent=self.folder, owner=ADA).id


@pytest.fixture
def office() -> Office:
    return Office(peopled())


@pytest.fixture
def follower(office: Office, tmp_path: Path) -> Iterator[Follower]:
    with following(tmp_path, office.world, folder_ids=[office.folder]) as opened:
        yield opened


def test_permissions_that_a_listing_leaves_out_are_asked_for(office: Office, follower: Follower) -> None:
    office.world.modes.omit_permissions = True

    follower.sync()

    assert follower.readers("plan.md") == [ADA, ROBOT]


def test_who_may_not_see_permissions_grants_nothing_and_reads_nothing(office: Office, follower: Follower) -> None:
    office.world.share(office.folder, ROBOT, role="reader")

    follower.sync()

    assert follower.readers("plan.md") == []
    with pytest.raises(DocumentDenied, match="may not see who"):
        follower.fetch("plan.md")
    assert follower.drive.log.count("drive.files.get:media") == 0
    before = follower.change("plan.md")
    assert before.grants == GrantSet(withheld="grants_unreadable")

    office.world.share(office.folder, ROBOT, role="writer")
    follower.sync()

    assert follower.readers("plan.md") == [ADA, ROBOT]
    assert follower.change("plan.md").access != before.access
    assert follower.fetch("plan.md").version == follower.change("plan.md").version


def test_a_permission_that_is_kept_back_denies_the_file(office: Office, follower: Follower) -> None:
    hidden = office.world.share(office.file, BEN)
    office.world.modes.hidden_permissions.add((office.file, hidden.id))

    follower.sync()

    assert follower.readers("plan.md") == []
    with pytest.raises(DocumentDenied, match="not show all"):
        follower.fetch("plan.md")


def test_a_link_lets_nobody_in_and_a_known_person_is_let_in(office: Office, follower: Follower) -> None:
    office.world.share(office.file, "anyone")
    office.world.share(office.file, "a.test", discoverable=True)
    office.world.share(office.folder, "all@a.test", type="group")

    follower.sync()

    assert follower.readers("plan.md") == [ADA, "all@a.test", "domain:a.test", ROBOT]


def test_everyone_is_granted_only_if_that_is_asked_for(office: Office, tmp_path: Path) -> None:
    office.world.share(office.file, "anyone", discoverable=True)
    for is_asked in (False, True):
        with following(
            tmp_path, office.world, folder_ids=[office.folder], discoverable_as_everyone=is_asked
        ) as follower:
            follower.sync()
            assert ("everyone" in follower.readers("plan.md")) is is_asked


def test_a_table_says_who_a_grantee_is_here(office: Office, tmp_path: Path) -> None:
    table = {"map": {f"user:{ADA}": ["user:ada"], f"user:{ROBOT}": []}}
    with following(tmp_path, office.world, folder_ids=[office.folder], access_map=table) as follower:
        follower.sync()
        assert follower.readers("plan.md") == ["ada"]


def test_a_file_that_nobody_may_find_is_not_read(office: Office, tmp_path: Path) -> None:
    table: dict[str, dict[str, list[str]]] = {"map": {f"user:{ADA}": [], f"user:{ROBOT}": []}}
    with following(tmp_path, office.world, folder_ids=[office.folder], access_map=table) as follower:
        follower.sync()
        assert follower.change("plan.md").grants == GrantSet(withheld="shared_with_nobody")
        with pytest.raises(DocumentDenied, match="Nobody"):
            follower.fetch("plan.md")
        assert follower.drive.log.count("drive.files.get:media") == 0


def test_a_permission_that_ends_is_kept_with_its_end(office: Office, follower: Follower) -> None:
    until = office.world.clock.now() + timedelta(days=1)
    office.world.share(office.file, BEN, expires=until)

    follower.sync()

    grants = follower.change("plan.md").grants
    assert grants is not None and BEN not in grants.principal_ids
    assert [(each.kind, each.name, each.expires_at) for each in grants.expiring] == [("principal", BEN, until)]


def test_an_unshare_changes_the_access_and_nothing_else(office: Office, follower: Follower) -> None:
    office.world.share(office.file, BEN)
    follower.sync()
    before, mark = follower.change("plan.md"), follower.drive.log.mark()
    office.world.unshare(office.file, BEN)

    follower.sync()

    after = follower.change("plan.md")
    assert follower.readers("plan.md") == [ADA, ROBOT]
    assert (after.version, after.label) == (before.version, before.label) and after.access != before.access
    assert follower.drive.log.count("drive.files.get:media", since=mark) == 0


def test_permissions_of_a_shared_drive_are_asked_for_once_per_folder(tmp_path: Path) -> None:
    world = peopled()
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    folder = world.add_folder("sub", parent=drive).id
    files = [world.add_file(f"{number}.md", f"{number}", parent=folder).id for number in range(20)]
    world.share(files[-1], ADA)
    with following(tmp_path, world, drive_id=drive) as follower:
        follower.sync()

        assert follower.readers("0.md") == [BEN, ROBOT]
        assert follower.readers("19.md") == [ADA, BEN, ROBOT]
        assert follower.drive.log.count("drive.permissions.list") <= 3

        limited = world.edit(folder, inherited_permissions_disabled=True).id
        world.share(limited, ADA)
        world.share(limited, ROBOT, role="writer")
        follower.sync()
        assert follower.readers("0.md") == [ADA, BEN, ROBOT]


def test_silent_changes_of_access_are_found_by_a_listing_that_reads_nothing(office: Office, follower: Follower) -> None:
    follower.sync()
    mark = follower.drive.log.mark()
    permissions = office.world.file(office.file).permissions
    permissions["silent"] = Permission("silent", "user", "reader", email=BEN)
    office.world.changes_made += 1
    follower.sync()
    assert follower.readers("plan.md") == [ADA, ROBOT]
    follower.now += timedelta(days=1)

    done = follower.sync()

    assert done.is_whole
    assert follower.readers("plan.md") == [ADA, BEN, ROBOT]
    assert follower.drive.log.count("drive.files.get:media", since=mark) == 0


def test_what_cannot_be_exported_or_downloaded_says_why_without_being_asked(office: Office, follower: Follower) -> None:
    office.world.add_document("form", {}, kind="form", parent=office.folder, owner=ADA)
    office.world.add_file("film.mp4", b"x", mime_type="video/mp4", parent=office.folder, owner=ADA)
    office.world.edit(office.file, download_restricted=True)

    follower.sync()

    mark = follower.drive.log.mark()
    for name, error in (("form", DocumentUnsupported), ("film.mp4", DocumentUnsupported), ("plan.md", DocumentDenied)):
        with pytest.raises(error):
            follower.fetch(name)
    assert follower.drive.log.count(since=mark) == 0


def test_one_file_whose_permissions_fail_does_not_fail_the_others(office: Office, follower: Follower) -> None:
    office.world.modes.omit_permissions = True
    office.world.add_file("other.md", "x", parent=office.folder, owner=ADA)
    follower.drive.faults.add(
        Fault(method="drive.permissions.list", file_id=office.file, status=403, reason="insufficientFilePermissions")
    )

    follower.sync()

    assert follower.readers("plan.md") == [] and follower.readers("other.md") == [ADA, ROBOT]


def test_locators_and_cursors_hold_no_secret(office: Office, follower: Follower) -> None:
    follower.sync()
    token = follower.drive.token(ROBOT)
    written = json.dumps([follower.cursor, *(str(change) for change in follower.held.values())])
    assert token not in written and "Bearer" not in written
