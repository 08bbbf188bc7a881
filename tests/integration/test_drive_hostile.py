"""Answers of Drive that are anything but what they should be: a clear error or a withheld document, and never a public one."""

import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.connectors.drive.config import DriveConfig
from activities.connectors.drive.drive import Drive
from activities.connectors.drive.errors import Call
from activities.connectors.drive.service import DriveService
from activities.connectors.drive.sessions import DriveSessions
from headwater.connectors import Change, ChangeKind, ChangePage, Memory
from headwater.errors import HeadwaterError, TransientError
from headwater.ids import UNSTORABLE
from headwater.testing import MemoryInMemory
from tests.drive.serving import RunningDrive
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled

LIES: tuple[Any, ...] = (
    None, 0, -1, 7, 2**70, 1e308, float("nan"), True, False, "", "x", "true", "\x00", "name\x00", "\ud800", "..", "../x",
    "a/b", "a b", "drive", "A" * 10_000, [], {}, [[]], [None], [7], [{}], {"id": {}}, {"id": None},
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-13-45", "application/vnd.google-apps.folder",
    "application/vnd.google-apps.shortcut", "domain:a.test", "anyone", "https://elsewhere.test/x", "k\r\nX-Evil: 1",
)  # fmt: skip
pytestmark = pytest.mark.long
PAGES_MAX, TRIES_MAX = 300, 20
ABOUT = ("", "/files?", "/files/", "/permissions?", "/changes?", "/drives")
EXAMPLES = int(os.environ.get("HEADWATER_TEST_DRIVE_LIES", "60"))
SEEDS = st.integers(min_value=0, max_value=2**32)


@dataclass
class Liar:
    """What Drive said, and what it is said to have said. Honest answers are kept: the world stands still."""

    dice: random.Random | None = None
    share: float = 0.0
    about: str = ""
    """What stands in the address of each call that is answered with lies."""

    said: dict[str, Any] = field(default_factory=dict)

    def falsify(self, uri: str, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer with a lie in one place or a few, or something left out."""
        dice = self.dice
        if dice is None or self.about not in uri or dice.random() >= self.share:
            return answer
        for _ in range(dice.randrange(1, 4)):
            places = list(_places(answer))
            if not places:
                break
            holder, key = dice.choice(places)
            if dice.random() < 0.2 and isinstance(holder, dict):
                del holder[key]
            else:
                holder[key] = copy.deepcopy(dice.choice(LIES))
        return answer


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


class Lying(DriveService):
    def __init__(self, *args: Any, liar: Liar, **more: Any) -> None:
        super().__init__(*args, **more)
        self._liar = liar

    def answer(self, request: Any, call: Call) -> dict[str, Any]:
        said = self._liar.said
        if request.uri not in said:
            try:
                said[request.uri] = super().answer(request, call)
            except HeadwaterError as error:
                said[request.uri] = error
        if isinstance(said[request.uri], HeadwaterError):
            raise said[request.uri]
        return self._liar.falsify(request.uri, copy.deepcopy(said[request.uri]))


@dataclass
class Stage:
    """A Drive that changed since it was listed. ``memory`` and ``cursor`` are of before."""

    drive: RunningDrive
    config: dict[str, Any]
    sessions: DriveSessions
    liar: Liar
    memory: MemoryInMemory
    cursor: str | None
    truth: dict[str, tuple[str, frozenset[str]]]
    """Path and readers of each document, by source id."""

    texts: dict[str, bytes]

    def connect(self, memory: Memory) -> Drive:
        return Drive(DriveConfig.parse(self.config), memory=memory, sessions=self.sessions, wait=lambda seconds: None)


@pytest.fixture(scope="module", params=["folder", "account"])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    world = peopled()
    world.modes.empty_pages = True
    office = world.add_folder("Office", owner=ADA).id
    world.share(office, ROBOT, role="writer")
    folders = {name: world.add_folder(name, parent=office, owner=ADA).id for name in ("hr", "plans")}
    files = {
        name: world.add_file(name, f"text of {name}", parent=folders[folder], owner=ADA).id
        for folder, names in {"hr": ("pay.md", "raise.md"), "plans": ("north.txt", "south.txt")}.items()
        for name in names
    }
    document = world.add_document("Plan", {"text/markdown": "text of Plan"}, parent=office, owner=ADA).id
    world.share(files["pay.md"], BEN)
    world.add_shortcut("to pay", files["pay.md"], parent=folders["plans"], owner=ADA)
    drive_id = world.add_drive("Team", organizer=ADA).id
    world.share(drive_id, ROBOT, role="fileOrganizer")
    shared = world.add_file("shared.txt", "text of shared.txt", parent=drive_id, by=ADA).id
    liar = Liar()
    sessions = DriveSessions(connect=partial(Lying, liar=liar))
    config: dict[str, Any] = {"folder_ids": [office, drive_id]} if request.param == "folder" else {}
    with following(tmp_path_factory.mktemp("drive"), world, **config) as opened:
        before = replace(opened, sessions=sessions)
        before.sync()
        liar.said.clear()
        world.rename(folders["hr"], "people")
        world.move(files["raise.md"], folders["plans"])
        world.unshare(files["pay.md"], BEN)
        world.trash(files["south.txt"])
        world.write(files["north.txt"], "another text")
        world.rename(shared, "common.txt")
        after = Follower(opened.config, opened.sessions, drive=opened.drive)
        after.sync()
        texts = {f"drive:{each}": world.file(each).data or b"" for each in (*files.values(), shared)}
        texts[f"drive:{document}"] = b"text of Plan"
        truth = {source_id: (change.path, _readers(change)) for source_id, change in after.held.items()}
        assert len(truth) == 5
        yield Stage(opened.drive, opened.config, sessions, liar, before.memory, before.cursor, truth, texts)
    sessions.close()


def follow(
    stage: Stage, memory: MemoryInMemory, cursor: str | None, look: Callable[[Change], None]
) -> str:  # fmt: skip
    """One pass, of which every change is looked at."""
    for _ in range(PAGES_MAX):
        page = _page(stage, memory, cursor)
        for change in page.changes:
            look(change)
        _must_be_storable([page.cursor, *([part.path, part.reason] for part in page.unlisted)])
        json.dumps(
            [[link.node, link.parent, dict(link.record), link.due] for link in memory.all_links()], allow_nan=False
        )
        _must_be_storable([[link.node, *map(str, link.record.values())] for link in memory.all_links()])
        cursor = page.cursor
        if page.done:
            return cursor
    raise AssertionError("The pass has no end.")


def _page(stage: Stage, memory: MemoryInMemory, cursor: str | None) -> ChangePage:
    """The next page. Where waiting may help it is asked for again, as a sync does."""
    for _ in range(TRIES_MAX):
        try:
            return stage.connect(memory).list_page(cursor, limit=5)
        except TransientError as error:
            _must_be_storable([str(error)])
    return stage.connect(memory).list_page(cursor, limit=5)


@given(seed=SEEDS, share=st.sampled_from([0.1, 0.3, 0.9]), about=st.sampled_from(ABOUT), is_first=st.booleans())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_drive_says_nothing_is_shown_to_those_who_may_not_see_it_and_it_is_put_right_afterwards(
    stage: Stage, seed: int, share: float, about: str, is_first: bool
) -> None:
    memory, cursor = (MemoryInMemory(), None) if is_first else (copy.deepcopy(stage.memory), stage.cursor)
    stage.liar.dice, stage.liar.share, stage.liar.about = random.Random(seed), share, about

    def look(change: Change) -> None:
        _must_be_kept(change)
        _, readers = stage.truth.get(change.source_id, ("", frozenset((ADA, ROBOT))))
        assert _readers(change) <= readers
        if change.kind is ChangeKind.UPSERT and change.locator:
            _fetch(stage, memory, change)

    try:
        follow(stage, memory, cursor, look)
    except HeadwaterError as error:
        _must_be_storable([str(error)])
    stage.liar.dice = None
    held: dict[str, tuple[str, frozenset[str]]] = {}

    def hold(change: Change) -> None:
        if change.kind is ChangeKind.UPSERT:
            held[change.source_id] = change.path, _readers(change)
        else:
            held.pop(change.source_id, None)

    follow(stage, memory, None, hold)
    assert held == stage.truth


def _fetch(stage: Stage, memory: Memory, change: Change) -> None:
    try:
        fetched = stage.connect(memory).fetch(change, max_bytes=1 << 16)
    except HeadwaterError as error:
        _must_be_storable([str(error)])
        return
    assert fetched.data in stage.texts.values()
    _must_be_storable([fetched.name, fetched.title, fetched.uri, fetched.version, json.dumps(fetched.metadata)])


def _readers(change: Change) -> frozenset[str]:
    if change.grants is None:
        return frozenset()
    grants = change.grants
    assert not grants.everyone
    return frozenset((*grants.principal_ids, *grants.group_ids, *(each.name for each in grants.expiring)))


def _must_be_kept(change: Change) -> None:
    """A database can keep it, and its ids are of Drive's alphabet."""
    assert change.source_id.removeprefix("drive:").replace("-", "").replace("_", "").isalnum()
    _must_be_storable([change.locator, change.path, change.version, change.label, *_readers(change)])
    assert len(change.version or "") < 500 and len(change.locator) < 100_000


def _must_be_storable(values: Any) -> None:
    for value in values:
        if isinstance(value, list):
            _must_be_storable(value)
        elif value is not None:
            assert not UNSTORABLE.search(value), value
            value.encode()
