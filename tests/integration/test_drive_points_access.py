"""Who may read in Drive, and who finds it here: after a sync the two agree, and what is not certain is found by nobody."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from temporalio.exceptions import ApplicationError

from activities.store import Store
from tests.drive.clock import Clock
from tests.drive.faults import Fault
from tests.drive.modes import Modes
from tests.drive.world import World
from tests.integration.drive_corpus import (
    ADA,
    BEN,
    EVE,
    ROBOT,
    DriveCorpus,
    drive_corpus,
    peopled,
    shared_folder,
)
from tests.integration.drive_desk import Desk, open_desk
from tests.integration.drive_modes import copied, in_every_mode

PERMISSIONS = "drive.permissions.list"


@pytest.fixture
def desk(store: Store, database: str, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(store, database, tmp_path) as desk:
        yield desk


class Rooms:
    """A folder of Ada's with another one in it, and a shared drive of Ben's; a file in each. The robot may look into
    the permissions of all of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.folder = shared_folder(world)
        self.sub = world.add_folder("sub", parent=self.folder, owner=ADA).id
        self.above = world.add_file("above.txt", "Text above.", parent=self.folder, owner=ADA).id
        self.below = world.add_file("below.txt", "Text below.", parent=self.sub, owner=ADA).id
        self.drive = world.add_drive("Team", organizer=BEN).id
        world.share(self.drive, ROBOT, role="fileOrganizer")
        self.team = world.add_file("team.txt", "Text of the team.", parent=self.drive, by=BEN).id
        self.all = {self.above, self.below, self.team}

    def allowed_to(self, email: str) -> set[str]:
        return {file_id for file_id in self.all if self.world.may_read(email, file_id)}


def agree(rooms: Rooms, corpus: DriveCorpus) -> None:
    """Everybody finds what Drive lets them read."""
    for email in (ADA, BEN, EVE, ROBOT):
        assert set(corpus.found(email)) == rooms.allowed_to(email), email


@pytest.mark.long
@in_every_mode
def test_whoever_is_unshared_finds_nothing_after_one_sync_that_reads_nothing(
    modes: Modes, store: Store, database: str, tmp_path: Path
) -> None:
    world = peopled()
    world.modes = copied(modes)
    rooms = Rooms(world)
    world.share(rooms.above, EVE)
    world.share(rooms.sub, EVE)
    world.share(rooms.drive, EVE)
    with drive_corpus(store, database, tmp_path, world, folder_ids=[rooms.folder, rooms.drive]) as corpus:
        corpus.sync()
        assert set(corpus.found(EVE)) == rooms.all

        for item in (rooms.above, rooms.sub, rooms.drive):
            world.unshare(item, EVE)
            done = corpus.sync()
            assert (done.upserted, done.deleted, done.failed) == (0, 0, 0) and done.read_nothing
            agree(rooms, corpus)

        assert corpus.found(EVE) == {}


@pytest.mark.long
@in_every_mode
def test_permissions_of_a_folder_are_those_of_all_below_it_unless_its_access_is_limited(
    modes: Modes, store: Store, database: str, tmp_path: Path
) -> None:
    world = peopled()
    world.modes = copied(modes)
    rooms = Rooms(world)
    closet = world.add_folder("closet", parent=rooms.drive, by=BEN).id
    rooms.all.add(world.add_file("closed.txt", "Text of the closet.", parent=closet, by=BEN).id)
    with drive_corpus(store, database, tmp_path, world, folder_ids=[rooms.folder, rooms.drive]) as corpus:
        corpus.sync()
        agree(rooms, corpus)

        world.share(rooms.folder, BEN)
        world.share(rooms.drive, EVE)
        assert corpus.sync().read_nothing
        assert set(corpus.found(BEN)) == rooms.all
        agree(rooms, corpus)

        for folder in (rooms.sub, closet):
            world.edit(folder, inherited_permissions_disabled=True)
            world.share(folder, ROBOT, role="writer")
        assert corpus.sync().read_nothing
        assert rooms.below not in corpus.found(BEN) and set(corpus.found(EVE)) == {rooms.team}
        agree(rooms, corpus)

        for folder in (rooms.sub, closet):
            world.edit(folder, inherited_permissions_disabled=False)
        assert corpus.sync().read_nothing
        agree(rooms, corpus)


def test_a_domain_is_its_own_people_and_nobody_else(desk: Desk) -> None:
    file = desk.put("news.txt", "Text of the news.")
    desk.world.share(file, "a.test", discoverable=True)

    desk.corpus.sync()

    assert set(desk.corpus.found(BEN)) == {file}
    assert desk.corpus.found(EVE) == {}


def test_a_link_is_found_by_nobody_who_was_not_named(desk: Desk) -> None:
    for name, grantee in (("anyone.txt", "anyone"), ("domain.txt", "a.test")):
        desk.world.share(desk.put(name, "Text."), grantee)

    desk.corpus.sync()

    assert len(desk.corpus.found(ADA)) == 2
    assert desk.corpus.found(BEN) == desk.corpus.found(EVE) == {}


@pytest.mark.long
def test_what_anyone_may_discover_is_everyones_only_where_that_was_asked_for(
    store: Store, database: str, tmp_path: Path
) -> None:
    with open_desk(store, database, tmp_path, discoverable_as_everyone=True) as desk:
        for_all, by_link = desk.put("all.txt", "Text."), desk.put("link.txt", "Text.")
        desk.world.share(for_all, "anyone", discoverable=True)
        desk.world.share(by_link, "anyone")

        desk.corpus.sync()

        assert set(desk.corpus.found(EVE)) == {for_all}


def test_an_account_that_may_only_read_lets_nobody_in_and_says_so_until_it_may_look(desk: Desk) -> None:
    desk.world.share(desk.folder, ROBOT, role="reader")
    file = desk.put("plan.txt", "Text of the plan.")

    done = desk.corpus.sync()

    assert done.read_nothing and (done.upserted, done.withheld) == (0, 1)
    assert desk.corpus.state(file) == ("denied", "grants_unreadable")
    assert all(desk.corpus.found(email) == {} for email in (ADA, BEN, EVE, ROBOT))
    assert desk.corpus.sync().did_nothing

    desk.world.share(desk.folder, ROBOT, role="writer")
    assert desk.corpus.sync().upserted == 1
    assert set(desk.corpus.found(ADA)) == {file} and desk.corpus.found(EVE) == {}


@pytest.mark.long
def test_permissions_of_a_shared_drive_that_may_not_be_listed_let_nobody_in(
    store: Store, database: str, tmp_path: Path
) -> None:
    world = peopled()
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT)
    file = world.add_file("team.txt", "Text.", parent=drive, by=BEN).id
    with drive_corpus(store, database, tmp_path, world, drive_id=drive) as corpus:
        done = corpus.sync()

        assert done.read_nothing and done.withheld == 1
        assert corpus.state(file) == ("denied", "grants_unreadable")
        assert corpus.found(BEN) == corpus.found(ROBOT) == {}
        assert {request.status for request in corpus.log.of(PERMISSIONS)} == {403}


@pytest.mark.long
def test_permissions_that_could_be_seen_and_cannot_any_more_hide_the_file_and_show_it_again_unread(desk: Desk) -> None:
    file = desk.put("plan.txt", "Text of the plan.")
    desk.corpus.sync()
    desk.world.modes.omit_permissions = True
    desk.corpus.drive.faults.add(
        Fault(PERMISSIONS, file_id=file, status=403, reason="insufficientFilePermissions", times=None)
    )
    assert desk.corpus.sync(full=True).withheld == 1
    assert desk.corpus.found(ADA) == {}

    desk.corpus.drive.faults.clear()
    done = desk.corpus.sync(full=True)

    assert done.embedded == []
    assert desk.corpus.found(ADA) == {file: "Text of the plan."}


def test_fewer_permissions_than_the_file_names_let_nobody_in(desk: Desk) -> None:
    file = desk.put("plan.txt", "Text.")
    kept_back = desk.world.share(file, BEN)
    desk.world.modes.hidden_permissions.add((file, kept_back.id))

    desk.corpus.sync()

    assert desk.corpus.state(file) == ("denied", "grants_incomplete")
    assert desk.corpus.found(ADA) == {}


@pytest.mark.long
def test_more_permissions_than_a_page_holds_are_all_read(store: Store, database: str, tmp_path: Path) -> None:
    world = peopled()
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    file = world.add_file("team.txt", "Text.", parent=drive, by=BEN).id
    many = [f"reader-{number:03}@a.test" for number in range(230)]
    for email in many:
        world.share(file, email)
    with drive_corpus(store, database, tmp_path, world, drive_id=drive) as corpus:
        corpus.sync()

        assert corpus.log.count(PERMISSIONS, file_id=file) == 3
        assert [set(corpus.found(email)) for email in (many[0], many[150], many[-1], EVE)] == [{file}] * 3 + [set()]


@pytest.mark.long
def test_a_permission_ends_for_whoever_asks_after_its_end_without_a_sync(
    store: Store, database: str, tmp_path: Path
) -> None:
    world = World(clock=Clock(follow_real_time=True))
    for email in (ADA, BEN, EVE, ROBOT):
        world.add_user(email)
    folder = shared_folder(world)
    file = world.add_file("plan.txt", "Text.", parent=folder, owner=ADA).id
    world.share(file, EVE, expires=world.clock.now() - timedelta(seconds=1))
    with drive_corpus(store, database, tmp_path, world, folder_ids=[folder]) as corpus:
        ends = world.clock.now() + timedelta(seconds=4)
        world.share(file, BEN, expires=ends)
        corpus.sync()
        assert set(corpus.found(BEN)) == {file} and corpus.found(EVE) == {}
        mark = corpus.log.mark()

        deadline = time.monotonic() + 30
        while corpus.found(BEN):
            assert time.monotonic() < deadline

        assert world.clock.now() >= ends
        assert set(corpus.found(ADA)) == {file}
        assert corpus.log.count(since=mark) == 0


@pytest.mark.long
def test_what_is_no_access_in_drive_is_none_here(desk: Desk) -> None:
    file = desk.put("plan.txt", "Text.")
    desk.world.share(file, BEN, role="writer", pending_owner=True)
    desk.world.share(file, "a.test", view="published")
    desk.world.add_user("gone@a.test")
    desk.world.share(file, "gone@a.test")
    desk.world.delete_user("gone@a.test")

    desk.corpus.sync()

    assert set(desk.corpus.found(ADA)) == {file}
    assert desk.corpus.found(BEN) == desk.corpus.found("gone@a.test") == {}


@pytest.mark.long
def test_addresses_compare_without_case_and_groups_are_what_the_host_says(desk: Desk) -> None:
    file = desk.put("plan.txt", "Text.")
    desk.world.add_group("inner@a.test", members=[EVE])
    desk.world.add_group("outer@a.test", members=["inner@a.test"])
    desk.world.share(file, "Ben@A.Test")
    desk.world.share(file, "Outer@a.test", type="group")

    desk.corpus.sync()

    assert set(desk.corpus.found(BEN)) == {file}
    assert desk.world.may_read(EVE, file)
    assert set(desk.corpus.found(EVE)) == {file}, "the host knows that she is in a group of the group"
    assert desk.corpus.found("stranger@c.test", groups=["elsewhere@a.test"]) == {}


@pytest.mark.long
def test_a_user_who_is_suspended_stops_the_connector_of_that_user_and_takes_nothing_away(desk: Desk) -> None:
    corpus, world = desk.corpus, desk.world
    mine = desk.put("plan.txt", "Text of the plan.")
    bens = world.add_file("ben.txt", "Text of Ben.", owner=BEN).id
    key = corpus.drive.service_account_file(corpus.folder, "robot@project.test", may_impersonate=(BEN,))
    corpus.add_connector("ben", credentials=key, subject=BEN)
    corpus.sync()
    corpus.sync("ben")
    corpus.drive.tokens.revoke(BEN)
    later = desk.put("later.txt", "Text of later.")

    with pytest.raises(ApplicationError, match="sign-in") as stopped:
        corpus.sync("ben")
    assert stopped.value.type == "SourceUnavailable"
    assert corpus.sync().upserted == 1
    assert set(corpus.found(ADA)) == {mine, later}
    assert set(corpus.found(BEN)) == {bens}

    corpus.drive.tokens.consent(BEN)
    world.rename(bens, "ben's.txt")
    assert corpus.sync("ben").upserted == 1


Owning = Literal["unshared", "kept"]


@pytest.mark.long
@pytest.mark.parametrize("former_owner", ["unshared", "kept"])
def test_a_file_with_another_owner_is_the_same_document_as_long_as_one_account_sees_it(
    former_owner: Owning, store: Store, database: str, tmp_path: Path
) -> None:
    world = peopled()
    folder = world.add_folder("Plans", owner=ADA).id
    file = world.add_file("plan.txt", "Text.", parent=folder, owner=ADA).id
    world.share(file, BEN, role="writer")
    with drive_corpus(store, database, tmp_path, world, email=ADA) as corpus:
        corpus.add_connector("ben", email=BEN)
        corpus.sync()
        corpus.sync("ben")
        world.transfer(file, BEN, move_to_root=True)
        if former_owner == "unshared":
            world.unshare(file, ADA)

        done = [corpus.sync(), corpus.sync("ben")]

        assert [each.deleted for each in done] == [0, 0]
        assert all(each.embedded == [] for each in done)
        assert corpus.found(BEN) == {file: "Text."}
        assert set(corpus.found(ADA)) == ({file} if former_owner == "kept" else set())

        world.unshare(file, ADA) if former_owner == "kept" else None
        world.trash(file)
        assert sum(each.deleted for each in (corpus.sync(), corpus.sync("ben"))) == 1
        assert corpus.found(BEN) == {}
