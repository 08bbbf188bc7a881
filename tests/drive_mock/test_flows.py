"""The connector follows a server that others wrote as it follows the emulator: one set of facts for both."""

import hashlib
from collections.abc import Mapping
from typing import Final

import pytest

from headwater.connectors import SourceUnavailable
from tests.drive_mock.office import Office
from tests.drive_mock.servers import Permission
from tests.integration.drive_follower import ADA, BEN, ROBOT

READER: Final[Permission] = {"type": "user", "role": "reader", "emailAddress": BEN}
# By a name: a permission, and whom it lets find the file.
PERMISSIONS: Final[Mapping[str, tuple[Permission, list[str]]]] = {
    "user": (READER, [BEN]),
    "capitals": ({"type": "user", "role": "commenter", "emailAddress": BEN.upper()}, [BEN]),
    "group": ({"type": "group", "role": "reader", "emailAddress": "eng@a.test"}, ["eng@a.test"]),
    "domain": ({"type": "domain", "role": "reader", "domain": "a.test", "allowFileDiscovery": True}, ["domain:a.test"]),
    "domain by link": ({"type": "domain", "role": "reader", "domain": "a.test"}, []),
    "link": ({"type": "anyone", "role": "reader"}, []),
    "anyone": ({"type": "anyone", "role": "reader", "allowFileDiscovery": True}, []),
}


def test_everything_below_the_folder_is_listed_and_nothing_else(office: Office) -> None:
    office.add("plan.txt")
    office.add("deep.txt", parent=office.add_folder("b", parent=office.add_folder("a")))
    office.add("private.txt", parent=office.add_folder_outside("Attic"))

    done = office.follower.sync()

    assert office.follower.paths == ["Office/a/b/deep.txt", "Office/plan.txt"]
    assert done.is_whole and not done.unlisted


@pytest.mark.parametrize("limit", [1, 4])
def test_pages_of_any_size_list_the_same(limit: int, office: Office) -> None:
    wanted = [f"{number}.txt" for number in range(9)]
    for name in wanted:
        office.add(name)

    office.follower.sync(limit=limit)

    assert office.follower.names == wanted


def test_what_is_in_the_trash_is_not_listed(office: Office) -> None:
    office.trash(office.add("old.txt"))
    office.add("new.txt")

    office.follower.sync()

    assert office.follower.names == ["new.txt"]


def test_the_bytes_arrive_as_they_were_put(office: Office) -> None:
    put = {"empty.txt": b"", "text.txt": "Größe 大小\r\n".encode(), "bytes.txt": bytes(range(256)) * 300}
    files = {name: office.add(name, data) for name, data in put.items()}
    office.follower.sync()

    fetched = {name: office.follower.fetch(name) for name in put}

    assert {name: document.data for name, document in fetched.items()} == put
    for name, document in fetched.items():
        assert document.version == office.follower.change(name).version
        assert hashlib.md5(put[name], usedforsecurity=False).hexdigest() in str(document.version)
        assert office.server.downloads(files[name]) == 1


def test_a_pass_over_what_did_not_change_asks_two_questions(office: Office) -> None:
    for number in range(5):
        office.add(f"{number}.txt")
    office.follower.sync()
    before = office.server.asked()

    done = office.follower.sync()

    assert not done.changes and not done.is_whole
    assert office.server.asked() - before == 2


def test_a_change_is_one_change_and_a_new_version(office: Office) -> None:
    plan, _ = office.add("plan.txt", b"North."), office.add("note.txt")
    office.follower.sync()
    before = office.follower.change("plan.txt").version
    office.write(plan, b"South.")

    done = office.follower.sync()

    assert done.upserts == ["plan.txt"]
    assert office.follower.change("plan.txt").version != before
    assert office.follower.fetch("plan.txt").data == b"South."


def test_a_rename_is_another_label_of_the_same_version(office: Office) -> None:
    plan = office.add("plan.txt")
    office.follower.sync()
    before = office.follower.change("plan.txt")
    office.rename(plan, "route.txt")

    office.follower.sync()
    after = office.follower.change("route.txt")

    assert office.follower.names == ["route.txt"]
    assert after.version == before.version and after.label != before.label


def test_what_is_new_is_found_in_folders_that_are_new_too(office: Office) -> None:
    office.follower.sync()
    office.add("deep.txt", parent=office.add_folder("b", parent=office.add_folder("a")))

    office.follower.sync()

    assert office.follower.paths == ["Office/a/b/deep.txt"]


def test_the_trash_takes_a_file_and_gives_it_back(office: Office) -> None:
    plan = office.add("plan.txt")
    office.follower.sync()

    office.trash(plan)
    office.follower.sync()
    assert office.follower.names == []

    office.trash(plan, is_trashed=False)
    office.follower.sync()
    assert office.follower.names == ["plan.txt"]


def test_what_is_deleted_is_gone(office: Office) -> None:
    plan, _ = office.add("plan.txt"), office.add("note.txt")
    office.follower.sync()
    office.delete(plan)

    office.follower.sync()

    assert office.follower.names == ["note.txt"]


def test_a_folder_that_is_deleted_takes_with_it_what_is_in_it(office: Office) -> None:
    folder = office.add_folder("a")
    office.add("deep.txt", parent=office.add_folder("b", parent=folder))
    office.add("note.txt")
    office.follower.sync()
    office.delete(folder)

    office.follower.sync()

    assert office.follower.names == ["note.txt"]


def test_a_folder_goes_out_of_reach_and_comes_back_with_all_that_is_in_it(office: Office) -> None:
    attic, plans = office.add_folder_outside("Attic"), office.add_folder("plans")
    office.add("deep.txt", parent=office.add_folder("old", parent=plans))
    office.follower.sync()

    office.move(plans, out_of=office.folder, into=attic)
    office.follower.sync()
    assert office.follower.paths == []

    office.move(plans, out_of=attic, into=office.folder)
    office.follower.sync()
    assert office.follower.paths == ["Office/plans/old/deep.txt"]


def test_what_is_in_a_renamed_folder_has_another_path_and_the_same_version(office: Office) -> None:
    plans = office.add_folder("plans")
    office.add("deep.txt", parent=plans)
    office.follower.sync()
    before = office.follower.change("deep.txt").version
    office.rename(plans, "routes")

    office.follower.sync()

    assert office.follower.paths == ["Office/routes/deep.txt"]
    assert office.follower.change("deep.txt").version == before


def test_what_changes_while_everything_is_listed_is_in_the_same_pass(office: Office) -> None:
    first, *_ = [office.add(f"{number}.txt") for number in range(5)]

    def meanwhile(page: int) -> None:
        if page == 2:
            office.trash(first)
            office.add("late.txt")

    office.follower.sync(limit=2, between=meanwhile)

    assert office.follower.names == ["1.txt", "2.txt", "3.txt", "4.txt", "late.txt"]


@pytest.mark.parametrize("after", [2, 3])
def test_what_changes_again_while_the_changes_are_read_is_not_lost(after: int, office: Office) -> None:
    """The mock tells all changes at once, however few were asked for, and they are taken over several pages."""
    files = {name: office.add(name) for name in ("1.txt", "2.txt", "3.txt", "4.txt", "5.txt")}
    office.follower.sync()
    for file_id in files.values():
        office.write(file_id, b"Another text.")

    def meanwhile(page: int) -> None:
        if page == after:
            office.delete(files["1.txt"])
            office.server.share(files["2.txt"], READER)

    office.follower.sync(limit=2, between=meanwhile)
    office.follower.sync()

    assert office.follower.names == ["2.txt", "3.txt", "4.txt", "5.txt"]
    assert office.follower.readers("2.txt") == [ADA, BEN, ROBOT]


def test_a_full_pass_sweeps_and_loses_nothing(office: Office) -> None:
    plan, _ = office.add("plan.txt"), office.add("note.txt")
    office.follower.sync()
    office.delete(plan)

    done = office.follower.sync(full=True)

    assert done.is_whole
    assert office.follower.names == ["note.txt"]


def test_a_shortcut_brings_what_it_leads_to_once_and_under_its_own_grants(office: Office) -> None:
    attic = office.add_folder_outside("Attic")
    office.follower.sync()
    plan = office.add("plan.txt", parent=attic)
    office.server.show(plan)
    office.server.share(plan, READER)
    shortcuts = [office.add_shortcut(f"to the plan {number}", plan) for number in range(2)]

    office.follower.sync()
    assert office.follower.names == ["plan.txt"]
    assert office.follower.readers("plan.txt") == [ADA, BEN, ROBOT]

    office.delete(shortcuts[0])
    office.follower.sync()
    assert office.follower.names == ["plan.txt"]

    office.delete(shortcuts[1])
    office.follower.sync()
    assert office.follower.names == []


def test_who_may_read_is_who_the_permissions_name(office: Office) -> None:
    files = {name: office.add(name) for name in PERMISSIONS}
    office.follower.sync()
    assert {name: office.follower.readers(name) for name in files} == {name: [ADA, ROBOT] for name in files}
    before = {name: office.follower.change(name).version for name in files}

    for name, (permission, _) in PERMISSIONS.items():
        office.server.share(files[name], permission)
    office.follower.sync()

    named = {name: sorted([ADA, ROBOT, *more]) for name, (_, more) in PERMISSIONS.items()}
    assert {name: office.follower.readers(name) for name in files} == named
    assert {name: office.follower.change(name).version for name in files} == before


def test_who_is_taken_off_the_permissions_may_not_read_any_more(office: Office) -> None:
    plan = office.add("plan.txt")
    office.server.share(plan, READER)
    office.follower.sync()
    assert BEN in office.follower.readers("plan.txt")

    office.server.unshare(plan, BEN)
    office.follower.sync()

    assert office.follower.readers("plan.txt") == [ADA, ROBOT]


def test_lost_credentials_stop_the_pass_and_delete_nothing(office: Office) -> None:
    plan = office.add("plan.txt")
    office.follower.sync()
    office.delete(plan)
    office.lose_credentials()

    with pytest.raises(SourceUnavailable, match="sign-in"):
        office.follower.sync()

    assert office.follower.names == ["plan.txt"]
