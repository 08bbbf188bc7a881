"""Drive refuses to tell how an item is: on whichever way that is met, nothing is deleted. Only what is gone is gone.

Documents whose state nobody tells are shown to nobody meanwhile, and come back as soon as it is told.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from headwater.connectors import SourceUnavailable
from tests.drive.faults import Fault
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled

GET, LIST = "drive.files.get", "drive.files.list"
EMPTY: Final = '{"files": []}'
REFUSALS: Final[dict[str, dict[str, Any]]] = {
    "hidden": {"status": 403, "reason": "insufficientFilePermissions"},
    "unheard of": {"status": 403, "reason": "somethingNew"},
    "wrong": {"status": 400, "reason": "invalid"},
}
GONE: Final[dict[str, Any]] = {"status": 404, "reason": "notFound"}


class Office:
    """Ada's folder ``Office``, which is followed, alone or with all that the robot sees; beside it ``Attic``."""

    def __init__(self, follower: Follower) -> None:
        self.follower, self.world = follower, follower.world
        for file in self.world.all_files():
            setattr(self, file.name.removesuffix(".md").lower(), file.id)

    office: str
    attic: str
    hr: str
    plan: str
    pay: str
    far: str
    here: str

    def refuse(self, file_id: str, **refusal: Any) -> None:
        self.follower.drive.faults.add(Fault(GET, file_id=file_id, times=None, **refusal))


@pytest.fixture(params=["folder", "account"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    world = peopled()
    top = world.add_folder("Office", owner=ADA).id
    attic = world.add_folder("Attic", owner=ADA).id
    for folder in (top, attic):
        world.share(folder, ROBOT, role="writer")
    hr = world.add_folder("hr", parent=top, owner=ADA).id
    world.add_file("plan.md", "# plan\n", parent=top, owner=ADA)
    pay = world.add_file("pay.md", "# pay\n", parent=hr, owner=ADA).id
    world.share(pay, ROBOT, role="writer")
    target = world.add_file("far.md", "# far\n", parent=attic, owner=ADA).id
    for name in ("here", "there"):
        world.add_shortcut(name, target, parent=top, owner=ADA)
    config: dict[str, Any] = {"folder_ids": [top]} if request.param == "folder" else {}
    with following(tmp_path, world, **config) as follower:
        opened = Office(follower)
        follower.sync()
        assert follower.names == ["far.md", "pay.md", "plan.md"]
        yield opened


def crawl(office: Office, refusal: dict[str, Any]) -> None:
    """A folder is crawled: it can be neither listed nor looked at."""
    office.follower.drive.faults.add(Fault(LIST, nth=2, **refusal))
    office.refuse(office.hr, **refusal)


def come_up(office: Office, refusal: dict[str, Any]) -> None:
    """What is known does not come up in a listing, and is asked for."""
    office.follower.drive.faults.add(Fault(LIST, nth=2, status=200, body=EMPTY))
    for each in (office.pay, office.far):
        office.refuse(each, **refusal)


def point(office: Office, refusal: dict[str, Any]) -> None:
    """A shortcut is followed."""
    office.refuse(office.far, **refusal)


def leave(office: Office, refusal: dict[str, Any]) -> None:
    """One of two ways to a file ends."""
    office.world.trash(office.here)
    office.refuse(office.far, **refusal)


def hide(office: Office, refusal: dict[str, Any]) -> None:
    """A folder is hidden, and what was in it, which may lie elsewhere too, is asked for."""
    office.world.unshare(office.office, ROBOT)
    office.refuse(office.pay, **refusal)


Way = Callable[[Office, dict[str, Any]], None]
# Of each way: the scope in which it is met, whether everything is listed, and what goes if Drive says that it is gone.
WAYS: Final[list[tuple[Way, str, bool, list[str]]]] = [
    (crawl, "folder", True, ["pay.md"]),
    (come_up, "folder", True, ["far.md", "pay.md"]),
    (come_up, "account", True, ["far.md", "pay.md"]),
    (point, "folder", True, ["far.md"]),
    (leave, "folder", False, ["far.md"]),
    (hide, "account", False, ["pay.md"]),
]


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize(("way", "office", "full", "goes"), WAYS, indirect=["office"])
def test_a_refusal_deletes_nothing_on_any_way(
    way: Way, office: Office, full: bool, goes: list[str], refusal: str
) -> None:
    follower = office.follower
    # With its folder one file is hidden in truth.
    expected = {f"drive:{each}" for each in (office.far, office.pay, *(() if way is hide else (office.plan,)))}
    way(office, REFUSALS[refusal])

    follower.sync(full=full)
    assert set(follower.held) == expected

    follower.drive.faults.clear()
    assert not follower.sync().unlisted
    assert set(follower.held) == expected
    assert not [change for change in follower.held.values() if change.grants is None or change.grants.withheld]


@pytest.mark.parametrize(("way", "office", "full", "goes"), WAYS, indirect=["office"])
def test_what_drive_says_is_gone_is_deleted(way: Way, office: Office, full: bool, goes: list[str]) -> None:
    held = list(office.follower.names)
    way(office, GONE)

    office.follower.sync(full=full)

    assert not set(goes) & set(office.follower.names)
    if way is not hide:
        assert office.follower.names == [name for name in held if name not in goes]


@pytest.mark.parametrize("office", ["folder"], indirect=True)
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_folder_of_the_settings_that_is_refused_stops_the_connector_and_loses_nothing(
    office: Office, refusal: str
) -> None:
    follower = office.follower
    office.refuse(office.office, **REFUSALS[refusal])

    assert follower.sync().unlisted, "the first pass says it"
    with pytest.raises(SourceUnavailable, match=office.office):
        follower.sync()
    assert len(follower.held) == 3

    follower.drive.faults.clear()
    follower.sync()
    assert follower.names == ["far.md", "pay.md", "plan.md"]


@pytest.mark.parametrize("office", ["account"], indirect=True)
def test_before_a_file_of_an_account_is_gone_the_account_has_still_its_own_folder(office: Office) -> None:
    """The account's rights are lost as a whole: it is told that each of its files is gone, and its own folder as well."""
    follower = office.follower
    follower.drive.faults.add(Fault(GET, times=None, **GONE))
    follower.drive.faults.add(Fault(LIST, nth=2, status=200, body=EMPTY))

    with suppress(SourceUnavailable):
        follower.sync(full=True)
    assert len(follower.held) == 3

    for each in (office.pay, office.office, office.attic):  # and the feed says so too
        office.world.unshare(each, ROBOT)
    with suppress(SourceUnavailable):
        follower.sync()
    assert len(follower.held) == 3


def test_a_file_that_two_feeds_tell_of_is_not_gone_because_it_is_refused(tmp_path: Path) -> None:
    world = peopled()
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    file = world.add_file("a.md", "# a\n", owner=ADA)
    world.share(file.id, ROBOT, role="writer")
    with following(tmp_path, world) as follower:
        follower.sync()
        world.unshare(file.id, ROBOT)
        follower.drive.faults.add(Fault(GET, file_id=file.id, times=None, **REFUSALS["hidden"]))

        follower.sync()

        (change,) = follower.held.values()
        assert change.grants is not None and change.grants.withheld
        follower.drive.faults.clear()
        follower.sync()
        assert follower.held == {}
