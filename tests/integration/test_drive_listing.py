"""A pass over Drive's folders, as the connector makes it: what is listed, in which order, and what is left alone
after it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest

from headwater.connectors import InvalidCursor, SourceUnavailable, Throttled
from headwater.errors import TransientError
from tests.drive.error_json import Vocabulary
from tests.drive.faults import Fault
from tests.drive.items import File
from tests.drive.world import World
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled


class Office:
    """Ada's folder, which the connector reads: two files and a folder with one more."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.folder = world.add_folder("Office", owner=ADA).id
        world.share(self.folder, ROBOT, role="writer")
        self.plan = self.file("plan.md")
        self.notes = self.file("notes.txt")
        self.hr = world.add_folder("hr", parent=self.folder, owner=ADA).id
        self.pay = self.file("pay.md", parent=self.hr)

    def file(self, name: str, data: str = "", *, parent: str | None = None) -> File:
        return self.world.add_file(name, data or f"# {name}\n", parent=parent or self.folder, owner=ADA)


@pytest.fixture
def office() -> Office:
    return Office(peopled())


@pytest.fixture
def follower(office: Office, tmp_path: Path) -> Iterator[Follower]:
    with following(tmp_path, office.world, folder_ids=[office.folder]) as opened:
        yield opened


def test_everything_below_a_folder_is_listed_and_nothing_else(office: Office, follower: Follower) -> None:
    office.world.add_file("private.md", "x", owner=ADA)

    done = follower.sync()

    assert follower.paths == ["Office/hr/pay.md", "Office/notes.txt", "Office/plan.md"]
    assert follower.readers("plan.md") == [ADA, ROBOT]
    assert done.is_whole and not done.unlisted


def test_the_token_is_taken_before_anything_is_listed(office: Office, follower: Follower) -> None:
    follower.sync()

    asked = [request.method for request in follower.drive.log.of("drive.*")]
    assert asked.index("drive.changes.getStartPageToken") < asked.index("drive.files.list")
    assert asked[-1] == "drive.changes.list"


def test_what_changes_while_it_is_listed_is_in_the_same_pass(office: Office, follower: Follower) -> None:
    def meanwhile(page: int) -> None:
        if page == 2:
            office.world.trash(office.plan.id)
            office.file("late.md")

    follower.sync(limit=1, between=meanwhile)

    assert follower.names == ["late.md", "notes.txt", "pay.md"]


def test_a_second_pass_asks_a_handful_of_questions_and_lists_nothing(office: Office, follower: Follower) -> None:
    follower.sync()
    before = follower.drive.log.mark()

    done = follower.sync()

    assert not done.changes and not done.is_whole
    assert [r.method for r in follower.drive.log.of("drive.*", since=before)] == [
        "drive.files.get",
        "drive.changes.list",
    ]


def test_one_change_among_many_files_costs_as_many_requests_as_among_few(office: Office, follower: Follower) -> None:
    costs = list[int]()
    for _ in range(2):
        follower.sync()
        before = follower.drive.log.mark()
        office.world.write(office.plan.id, f"# {before}\n")
        done = follower.sync()
        assert done.upserts == ["plan.md"]
        costs.append(follower.drive.log.count("drive.*", since=before))
        for number in range(60):
            office.file(f"more-{number}.md")

    assert costs[0] == costs[1] <= 4


def test_a_file_is_fetched_with_the_version_that_was_listed(office: Office, follower: Follower) -> None:
    follower.sync()
    document = follower.fetch("plan.md")

    assert document.data == b"# plan.md\n"
    assert document.version == follower.change("plan.md").version
    assert document.title == "plan.md"
    assert document.metadata == {"path": "Office/plan.md", "mime_type": "text/markdown"}
    assert document.uri is not None and office.plan.id in document.uri


def test_a_description_says_what_fetching_says_and_asks_nobody(office: Office, follower: Follower) -> None:
    follower.sync()
    fetched, before = follower.fetch("plan.md"), follower.drive.log.mark()

    described = follower.connect().describe(follower.change("plan.md"))

    assert (described.name, described.title, described.uri) == (fetched.name, fetched.title, fetched.uri)
    assert (described.media_type, described.metadata) == (fetched.media_type, fetched.metadata)
    assert follower.drive.log.count(since=before) == 0


def test_trashed_files_are_not_listed(office: Office, follower: Follower) -> None:
    for number in range(10):
        office.world.trash(office.file(f"old-{number}.md").id)

    follower.sync()

    assert follower.names == ["notes.txt", "pay.md", "plan.md"]


def test_files_of_one_name_are_as_many_documents(office: Office, follower: Follower) -> None:
    for number in range(3):
        office.file("report.pdf", f"{number}")

    follower.sync()

    assert follower.names.count("report.pdf") == 3


def test_empty_pages_and_repeats_lose_nothing(office: Office, follower: Follower) -> None:
    office.world.modes.empty_pages = office.world.modes.duplicate_across_pages = True
    office.world.modes.page_cap = 3
    for number in range(20):
        office.file(f"{number}.md")

    follower.sync()
    for number in range(20):
        office.file(f"later-{number}.md")
    follower.sync()

    assert len(follower.held) == 43


def test_a_listing_whose_token_is_refused_begins_again(office: Office, follower: Follower) -> None:
    for number in range(9):
        office.file(f"{number}.md")

    def meanwhile(page: int) -> None:
        office.world.modes.refuse_list_tokens = 400 if page == 3 else None

    follower.sync(limit=4, between=meanwhile)

    assert len(follower.held) == 12


def test_a_full_pass_lists_everything_and_loses_nothing_of_the_feed(office: Office, follower: Follower) -> None:
    follower.sync()
    office.world.trash(office.plan.id)

    done = follower.sync(full=True)

    assert done.is_whole
    assert follower.names == ["notes.txt", "pay.md"]
    assert follower.drive.log.count("drive.changes.getStartPageToken") == 1


def test_once_a_day_everything_is_listed_although_nothing_changed(office: Office, follower: Follower) -> None:
    follower.sync()
    follower.now = follower.now.replace(day=follower.now.day + 2)

    done = follower.sync()

    assert done.is_whole and len(done.upserts) == 3
    assert follower.drive.log.count("drive.files.get:media") == 0


def test_shared_drive_folders_follow_that_drives_feed(tmp_path: Path) -> None:
    world = peopled()
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    folder = world.add_folder("Docs", parent=drive).id
    world.modes.drive_items_in_user_log = "never"
    world.add_file("a.md", "a", parent=folder)
    with following(tmp_path, world, folder_ids=[folder]) as follower:
        follower.sync()
        world.add_file("b.md", "b", parent=folder)
        world.add_file("c.md", "c", parent=drive)
        follower.sync()

        assert follower.paths == ["Docs/a.md", "Docs/b.md"]
        assert follower.readers("a.md") == [BEN, ROBOT]


@pytest.mark.parametrize("method", ["drive.changes.list", "drive.files.get"])
@pytest.mark.parametrize("vocabulary", ["errors", "details", "both"])
def test_a_throttle_deletes_nothing_and_goes_on_later(
    method: str, vocabulary: Vocabulary, office: Office, follower: Follower
) -> None:
    follower.sync()
    office.world.trash(office.plan.id)
    follower.drive.faults.add(
        Fault(method=method, status=403, reason="userRateLimitExceeded", vocabulary=vocabulary, retry_after="7")
    )

    with pytest.raises(Throttled) as throttled:
        follower.sync()
    assert throttled.value.retry_after_s == 7 and len(follower.held) == 3

    follower.sync()
    assert follower.names == ["notes.txt", "pay.md"]


@pytest.mark.parametrize("status", [400, 410])
def test_a_feed_that_forgot_its_token_is_followed_anew_and_nothing_is_lost(
    status: Literal[400, 410], office: Office, follower: Follower
) -> None:
    follower.sync()
    office.world.modes.refuse_change_tokens = status
    with pytest.raises(InvalidCursor):
        follower.sync()
    office.world.modes.refuse_change_tokens = None
    office.world.trash(office.plan.id)
    office.world.move(office.hr, office.world.add_folder("Attic", owner=ADA).id)
    follower.cursor = None  # what a sync does with such a cursor

    done = follower.sync()

    assert done.is_whole and follower.names == ["notes.txt"]


def test_a_page_of_changes_without_a_token_is_not_the_end(office: Office, follower: Follower) -> None:
    follower.sync()
    follower.drive.faults.add(Fault(method="drive.changes.list", status=200, body='{"changes": []}'))

    with pytest.raises(InvalidCursor):
        follower.sync()


@pytest.mark.parametrize("method", ["drive.files.list", "drive.changes.list", "drive.files.get"])
def test_an_answer_that_is_cut_short_is_asked_for_again(method: str, office: Office, follower: Follower) -> None:
    follower.drive.faults.add(Fault(method=method, cut_at_bytes=40))

    with suppress(TransientError):  # what is about one item is asked again at once, the rest by whoever wants the page
        follower.sync()
    assert [request.is_fault for request in follower.drive.log.of(method)].count(True) == 1
    follower.sync()

    assert len(follower.held) == 3


def test_lost_credentials_stop_the_pass_and_delete_nothing(office: Office, follower: Follower) -> None:
    follower.sync()
    follower.drive.faults.add(Fault(method="drive.*", times=None, status=401, reason="authError"))

    with pytest.raises(SourceUnavailable, match="sign-in"):
        follower.sync()
    assert len(follower.held) == 3
