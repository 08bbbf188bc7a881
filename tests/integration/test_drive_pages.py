"""Pages that end before their answer does: for want of time, of room, or because Drive wants to be left alone.

What they did counts, nothing is left out, and whoever asks again and again comes to the end.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from activities.connectors.drive.config import DriveConfig
from activities.connectors.drive.drive import Drive
from activities.connectors.drive.listing import RESTARTS_MAX
from headwater.connectors import InvalidCursor, Throttled
from tests.drive.faults import Fault
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, Pass, following, peopled
from tests.integration.test_drive_walk import MODES, Office, shown

PERMISSIONS, LIST, CHANGES = "drive.permissions.list", "drive.files.list", "drive.changes.list"
FILES = 8


@dataclass
class Hurried(Follower):
    """A page may take so long; by default nothing, so that each does one piece of its work. ``calls``: of each page."""

    page_s: float = 0.0
    calls: list[int] = field(default_factory=list)

    def connect(self) -> Drive:
        config = DriveConfig.parse(self.config)
        return Drive(config, memory=self.memory, sessions=self.sessions, now=lambda: self.now, page_s=self.page_s)

    def sync(self, **how: Any) -> Pass:
        marks = [self.drive.log.mark()]
        done = super().sync(between=lambda _: marks.append(self.drive.log.mark()), **how)
        self.calls = [after - before for before, after in pairwise(marks)]
        return done


def hurried(follower: Follower, **more: Any) -> Hurried:
    """One who has seen nothing yet."""
    return Hurried(follower.config, follower.sessions, drive=follower.drive, **more)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Follower]:
    """A shared drive whose files are shared one by one, so that each has to be asked for its permissions; and shortcuts."""
    world = peopled()
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    for number in range(FILES):
        world.share(world.add_file(f"{number}.md", f"# {number}\n", parent=drive).id, ADA)
        far = world.add_file(f"far-{number}.md", f"# {number}\n", owner=BEN)
        world.share(far.id, ROBOT)
        world.add_shortcut(f"to-{number}", far.id, parent=drive)
    with following(tmp_path, world, drive_id=drive) as follower:
        yield follower


def test_a_page_without_time_does_one_item_and_a_pass_of_such_pages_does_everything(team: Follower) -> None:
    team.sync()
    slow = hurried(team)
    slow.sync()

    assert shown(slow) == shown(team) and len(slow.held) == 2 * FILES
    assert max(slow.calls) <= 6, "of a page: the answer, and what one item takes"

    for file in team.world.documents():
        team.world.write(file.id, "# anew\n")
    team.sync()
    done = slow.sync()
    assert shown(slow) == shown(team) and len(done.upserts) == 2 * FILES
    assert max(slow.calls) <= 6


def test_a_page_ends_in_time_however_slow_drive_answers(team: Follower) -> None:
    team.drive.faults.add(Fault(PERMISSIONS, times=None, latency_s=0.05))
    slow = hurried(team, page_s=0.2)
    slow.sync()

    assert len(slow.held) == 2 * FILES
    asked = [request.method for request in team.drive.log.of("drive.*")]
    pages = " ".join(asked).replace(CHANGES, LIST).split(LIST)
    # In 0.2 s no more than four such calls were answered, and one was under way.
    assert max(page.count(PERMISSIONS) for page in pages) <= 5
    assert asked.count(PERMISSIONS) >= FILES


@pytest.mark.parametrize("method", [LIST, CHANGES])
def test_an_answer_longer_than_asked_for_fills_several_pages(method: str, tmp_path: Path) -> None:
    world = peopled()
    for number in range(FILES):
        world.add_file(f"{number}.md", f"# {number}\n", owner=ROBOT)
    with following(tmp_path, world) as follower:
        if method == CHANGES:
            follower.sync()
            for file in world.documents():
                world.write(file.id, "# anew\n")
        with follower.sessions.lent(
            DriveConfig.parse(follower.config).credential_source(), root_url=f"{follower.drive.url}/"
        ) as calls:
            token = json.loads(follower.cursor)["feeds"][""] if follower.cursor else ""
            whole = (
                calls.changes(token)
                if method == CHANGES
                else calls.files("mimeType != 'application/vnd.google-apps.folder'")
            )
        follower.drive.faults.add(
            Fault(method, nth=1 if method == CHANGES else 2, times=None, status=200, body=json.dumps(whole))
        )

        done = follower.sync(limit=5)  # which says that no page has more

        assert len(done.upserts) == FILES and len(follower.held) == FILES
        assert follower.drive.log.count(method) <= 6


@pytest.mark.parametrize(
    "fault", [{"status": 429, "retry_after": "7"}, {"status": 403, "reason": "userRateLimitExceeded"}]
)
def test_a_page_in_which_drive_wants_to_be_left_alone_keeps_what_it_has(team: Follower, fault: dict[str, Any]) -> None:
    connector, cursor = team.connect(), None
    asked = list[str]()
    for _ in range(2):  # up to the files
        cursor = connector.list_page(cursor, limit=50).cursor
    team.drive.faults.add(Fault(PERMISSIONS, nth=4, **fault))

    page = connector.list_page(cursor, limit=50)
    assert 0 < len(page.changes) < 2 * FILES and not page.done
    seen = {change.source_id for change in page.changes}
    for _ in range(20):
        if page.done:
            break
        page = team.connect().list_page(page.cursor, limit=50)
        asked += [change.source_id for change in page.changes]

    assert page.done and not seen & set(asked) and len(seen) + len(asked) == 2 * FILES


def test_a_page_that_can_do_nothing_says_why(team: Follower) -> None:
    team.drive.faults.add(Fault(PERMISSIONS, nth=2, times=None, status=429, retry_after="7"))
    page = team.connect().list_page(None, limit=50)

    with pytest.raises(Throttled) as throttled:
        for _ in range(2 * FILES):
            page = team.connect().list_page(page.cursor, limit=50)
    assert throttled.value.retry_after_s == 7


@pytest.mark.parametrize("mode", list(MODES))
def test_whoever_has_no_time_holds_what_others_hold(mode: str, tmp_path: Path) -> None:
    office = Office(31, replace(MODES[mode]))
    with following(tmp_path, office.world, email="eve@b.test", folder_ids=[office.root]) as follower:
        slow = hurried(follower)
        for number in range(2):
            office.live(8)
            slow.sync(limit=50)
            anew = Follower(follower.config, follower.sessions, drive=follower.drive)
            anew.sync()
            assert shown(slow) == shown(anew), f"round {number}"


def test_each_folder_may_lose_its_place_once(tmp_path: Path) -> None:
    world = peopled()
    top = world.add_folder("Office", owner=ADA).id
    world.share(top, ROBOT, role="writer")
    for number in range(6):
        folder = world.add_folder(f"{number}", parent=top, owner=ADA).id
        for each in range(3):
            world.add_file(f"{number}-{each}.md", "x", parent=folder, owner=ADA)
    refused = set[str]()
    with following(tmp_path, world, folder_ids=[top]) as follower:

        def meanwhile(page: int) -> None:
            asked = follower.drive.log.of(LIST)
            if not asked:
                return
            if asked[-1].status == 400:
                refused.add(str(asked[-1].parameters["q"]))
            world.modes.refuse_list_tokens = None if asked[-1].parameters["q"] in refused else 400

        follower.sync(limit=2, between=meanwhile)

    assert len(follower.held) == 18 and len(refused) == 7


def circle(kind: str, *entries: object) -> dict[str, Any]:
    """An answer that says that another page follows, always the same."""
    return {"times": None, "status": 200, "body": json.dumps({kind: entries, "nextPageToken": "again"})}


def test_a_feed_that_goes_in_a_circle_is_given_up(team: Follower) -> None:
    team.sync()
    team.drive.faults.add(Fault(CHANGES, **circle("changes")))

    with pytest.raises(InvalidCursor, match="no end"):
        team.sync()


def test_a_listing_that_goes_in_a_circle_is_given_up(team: Follower) -> None:
    team.drive.faults.add(Fault(LIST, **circle("files")))

    with pytest.raises(InvalidCursor, match="in a circle"):
        team.sync()
    assert team.drive.log.count(LIST) <= 2 * (RESTARTS_MAX + 1)


@pytest.mark.parametrize("way", ["circle", "refused"])
def test_a_folder_whose_pages_cannot_be_turned_stops_no_other(way: str, tmp_path: Path) -> None:
    world = peopled()
    top = world.add_folder("Office", owner=ADA).id
    world.share(top, ROBOT, role="writer")
    for number in range(2):
        folder = world.add_folder(f"{number}", parent=top, owner=ADA).id
        for each in range(3):
            world.add_file(f"{number}-{each}.md", "x", parent=folder, owner=ADA)
    with following(tmp_path, world, folder_ids=[top]) as follower:
        follower.sync()
        wrong = circle("files") if way == "circle" else {"times": None, "status": 400, "reason": "invalid"}
        # The second folder that is listed in this pass, from its second page on where tokens are refused.
        follower.drive.faults.add(Fault(LIST, nth=3 if way == "circle" else 4, **wrong))
        if way == "refused":
            world.modes.page_cap = 2

        done = follower.sync(full=True)

        assert len(follower.held) == 6 and any("cannot be listed" in part.reason for part in done.unlisted)
        follower.drive.faults.clear()
        done = follower.sync(full=True)
        assert len(follower.held) == 6 and not done.unlisted


def test_an_account_of_nothing_but_folders_is_no_doubtful_one(tmp_path: Path) -> None:
    world = peopled()
    folder = world.add_folder("Office", owner=ROBOT).id
    world.add_folder("sub", parent=folder, owner=ROBOT)
    with following(tmp_path, world) as follower:
        for day in range(1, 4):
            follower.now = follower.now.replace(day=2 * day)
            done = follower.sync()
            assert done.is_whole and not done.unlisted


def test_an_account_whose_files_are_all_deleted_is_no_doubtful_one(tmp_path: Path) -> None:
    world = peopled()
    folder = world.add_folder("Office", owner=ROBOT).id
    for number in range(3):
        world.add_file(f"{number}.md", "x", parent=folder, owner=ROBOT)
    with following(tmp_path, world) as follower:
        follower.sync()
        for file in world.documents():
            world.trash(file.id)
        for day in range(2, 4):
            follower.now = follower.now.replace(day=2 * day)
            done = follower.sync()
            assert done.is_whole and not done.unlisted and follower.names == []


def test_what_a_listing_left_out_is_listed_again_within_the_day(tmp_path: Path) -> None:
    world = peopled()
    for number in range(3):
        world.add_file(f"{number}.md", "x", owner=ROBOT)
    with following(tmp_path, world) as follower:
        follower.sync()
        nothing = Fault(LIST, times=2, status=200, body='{"files": []}')
        follower.drive.faults.add(nothing)
        doubtful = follower.sync(full=True)
        assert doubtful.unlisted and len(follower.held) == 3

        assert not follower.sync().is_whole, "not at once, which may be every minute"
        follower.now = follower.now.replace(hour=follower.now.hour + 2)
        done = follower.sync()
        assert done.is_whole and not done.unlisted and len(done.upserts) == 3
        follower.now = follower.now.replace(hour=follower.now.hour + 2)
        assert not follower.sync().is_whole
