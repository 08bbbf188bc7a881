"""One file or folder at which Drive fails for ever does not stop the listing of everything else, nor is it shown to anybody."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from activities.connectors.drive.config import DriveConfig
from activities.connectors.drive.drive import Drive
from activities.connectors.drive.errors import Call, DriveFault
from activities.connectors.drive.patience import PATIENT_WITH, WAITS_S
from activities.connectors.drive.service import DriveService
from activities.connectors.drive.sessions import DriveSessions
from headwater.connectors import DocumentDenied, Throttled
from headwater.errors import TransientError
from tests.drive.faults import Fault
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled

PERMISSIONS, GET, LIST, ABOUT = (
    "drive.permissions.list",
    "drive.files.get",
    "drive.files.list",
    "drive.about.get",
)


class Failing(DriveService):
    """Drive fails at each call whose address holds one of ``broken``."""

    def __init__(self, *args: Any, broken: set[str], **more: Any) -> None:
        super().__init__(*args, **more)
        self._broken = broken

    def answer(self, request: Any, call: Call) -> dict[str, Any]:
        if any(each in request.uri for each in self._broken):
            raise DriveFault("Drive failed.")
        return super().answer(request, call)


@dataclass
class Office(Follower):
    """Ada's folder ``Office``, with a folder ``hr`` in it, whose permissions have to be listed. Nobody waits."""

    broken: set[str] = field(default_factory=set)
    waits: list[float] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)

    def connect(self) -> Drive:
        return Drive(
            DriveConfig.parse(self.config),
            memory=self.memory,
            sessions=self.sessions,
            now=lambda: self.now,
            wait=self.waits.append,
        )

    def fail(self, method: str, name: str, **fault: Any) -> None:
        self.drive.faults.add(Fault(method, file_id=self.ids[name], **{"times": None, "status": 500, **fault}))

    def withheld(self) -> dict[str, str]:
        """Why each document is withheld that is, by file id."""
        reasons = {source_id.removeprefix("drive:"): change.grants for source_id, change in self.held.items()}
        return {file_id: grants.withheld for file_id, grants in reasons.items() if grants and grants.withheld}


@pytest.fixture(params=["folder", "account"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    world = peopled()
    world.modes.omit_permissions = True
    ids = {"Office": world.add_folder("Office", owner=ADA).id}
    world.share(ids["Office"], ROBOT, role="writer")
    ids["hr"] = world.add_folder("hr", parent=ids["Office"], owner=ADA).id
    for name, folder in (("plan.md", "Office"), ("notes.md", "Office"), ("pay.md", "hr"), ("raise.md", "hr")):
        ids[name] = world.add_file(name, f"# {name}\n", parent=ids[folder], owner=ADA).id
        world.share(ids[name], BEN)
    config: dict[str, Any] = {"folder_ids": [ids["Office"]]} if request.param == "folder" else {}
    broken: set[str] = set()
    sessions = DriveSessions(connect=partial(Failing, broken=broken))
    with following(tmp_path, world, **config) as follower:
        yield Office(follower.config, sessions, drive=follower.drive, broken=broken, ids=ids)
        sessions.close()


@pytest.mark.parametrize(
    "fault",
    [{"status": 500}, {"status": 418, "reason": "teapot"}, {"status": 404, "body": "<html>"}, {"lost_at_bytes": 5}],
)
def test_a_file_whose_permissions_drive_fails_to_tell_is_withheld_alone_until_they_are_told(
    office: Office, fault: dict[str, Any]
) -> None:
    office.fail(PERMISSIONS, "pay.md", **{"status": None, **fault})
    office.sync()

    assert office.withheld() == {office.ids["pay.md"]: "drive_failed"}
    assert office.readers("plan.md") == [ADA, BEN, ROBOT]
    with pytest.raises(DocumentDenied, match="every sync asks once more"):
        office.fetch("pay.md")
    assert office.drive.log.count("drive.files.get:media") == 0

    office.sync()  # nothing changed, and it is asked for again
    assert office.withheld() == {office.ids["pay.md"]: "drive_failed"}
    office.drive.faults.clear()
    office.sync()
    assert office.withheld() == {} and office.readers("pay.md") == [ADA, BEN, ROBOT]
    mark = office.drive.log.mark()
    office.sync()
    assert office.drive.log.count(PERMISSIONS, file_id=office.ids["pay.md"], since=mark) == 0, "it is done with"


def test_who_lost_a_file_does_not_keep_it_while_drive_fails_to_say_so(office: Office) -> None:
    office.sync()
    world, pay = office.world, office.ids["pay.md"]
    world.unshare(pay, BEN)
    office.fail(PERMISSIONS, "pay.md")

    office.sync()

    assert office.withheld() == {pay: "drive_failed"}


def test_a_fault_is_asked_again_a_few_times_with_pauses_before_it_is_believed(office: Office) -> None:
    office.fail(PERMISSIONS, "pay.md", times=len(WAITS_S))
    office.sync()
    assert office.withheld() == {} and office.waits == list(WAITS_S)
    assert office.drive.log.count(ABOUT) == 0


def test_what_fails_when_drive_is_down_is_no_files_fault(office: Office) -> None:
    office.fail(PERMISSIONS, "pay.md")
    office.drive.faults.add(Fault(ABOUT, times=None, status=503, retry_after="40"))
    with pytest.raises(TransientError) as raised:
        office.sync()
    assert raised.value.retry_after_s == 40 and office.withheld() == {}


def test_a_throttle_is_no_files_fault(office: Office) -> None:
    office.fail(PERMISSIONS, "pay.md", status=429, reason="rateLimitExceeded", retry_after="7")
    with pytest.raises(Throttled):
        office.sync()
    assert office.waits == []


def test_many_files_that_fail_do_not_each_take_their_time(office: Office) -> None:
    for number in range(10):
        name = f"{number}.md"
        office.ids[name] = office.world.add_file(name, "# text\n", parent=office.ids["hr"], owner=ADA).id
        office.fail(PERMISSIONS, name)
    office.sync()
    assert len(office.withheld()) == 10
    assert sum(office.waits) < (PATIENT_WITH + 1) * sum(WAITS_S)


@pytest.mark.parametrize("office", ["folder"], indirect=True)
def test_a_folder_that_cannot_be_listed_is_said_and_what_is_known_in_it_is_asked_for(office: Office) -> None:
    office.sync()
    world, hr = office.world, office.ids["hr"]
    office.broken.add(f"%27{hr}%27+in+parents")
    world.rename(hr, "people")
    world.trash(office.ids["raise.md"])
    world.unshare(office.ids["pay.md"], BEN)
    world.add_file("new.md", "# new\n", parent=hr, owner=ADA)
    world.add_file("other.md", "# other\n", parent=office.ids["Office"], owner=ADA)

    done = office.sync(full=True)

    assert {part.path for part in done.unlisted} == {"Office/people"} and "cannot be listed" in done.unlisted[0].reason
    there = ["Office/notes.md", "Office/other.md", "Office/people/new.md", "Office/people/pay.md", "Office/plan.md"]
    assert office.paths == there, "what the feed tells is told"
    assert office.readers("pay.md") == [ADA, ROBOT]

    assert office.sync().unlisted, "every pass tries again"
    office.broken.clear()
    assert not office.sync().unlisted
    assert office.paths == there


@pytest.mark.parametrize("office", ["account"], indirect=True)
def test_a_file_that_drive_fails_to_show_is_neither_shown_nor_believed_to_be_gone_with_its_folder(
    office: Office,
) -> None:
    world, pay = office.world, office.ids["pay.md"]
    world.share(pay, ROBOT, role="writer")
    office.sync()
    world.unshare(office.ids["Office"], ROBOT)
    office.fail(GET, "pay.md")

    done = office.sync()

    assert office.withheld() == {pay: "drive_failed"} and len(office.held) == 1
    assert done.unlisted == []
    office.drive.faults.clear()
    office.sync()
    assert office.paths == ["Shared with me/pay.md"] and office.readers("pay.md") == [ADA, BEN, ROBOT]
    world.unshare(pay, ROBOT)
    office.sync()
    assert office.held == {}


@pytest.mark.parametrize("office", ["folder"], indirect=True)
def test_one_of_two_folders_of_the_settings_that_fails_does_not_stop_the_other(office: Office) -> None:
    other = office.world.add_folder("Other", owner=ADA).id
    office.world.share(other, ROBOT, role="writer")
    office.world.add_file("there.md", "# there\n", parent=other, owner=ADA)
    office.config["folder_ids"] = [office.ids["Office"], other]
    office.fail(GET, "Office")

    done = office.sync()

    assert office.names == ["there.md"]
    assert [part.path for part in done.unlisted] == [f"folder {office.ids['Office']}"]
    office.drive.faults.clear()
    office.sync()
    assert len(office.names) == 5
    office.fail(GET, "Office")
    office.world.write(office.ids["plan.md"], "# anew\n")
    before = office.change("plan.md")
    assert office.sync().unlisted and len(office.names) == 5
    assert office.change("plan.md").version != before.version


@pytest.mark.parametrize("office", ["folder"], indirect=True)
def test_a_shared_drive_that_one_shortcut_leads_to_and_drive_fails_at_stops_nothing_else(office: Office) -> None:
    world = office.world
    drive = office.ids["Team"] = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    far = world.add_file("far.md", "# far\n", parent=drive).id
    world.add_shortcut("far", far, parent=office.ids["Office"], owner=ADA)
    office.fail("drive.changes.getStartPageToken", "Team")

    office.sync()
    assert len(office.names) == 4

    office.drive.faults.clear()
    office.sync()
    assert "far.md" in office.names, "every pass asks again"
