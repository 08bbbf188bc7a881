"""Somebody who follows a Drive by its connector, as `SyncCorpus` does and without a store: pages, memory, what is held."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from activities.connectors.drive.config import DriveConfig
from activities.connectors.drive.drive import Drive
from activities.connectors.drive.sessions import DriveSessions
from headwater.connectors import Change, ChangeKind, FetchedDocument, Unlisted
from headwater.testing import MemoryInMemory
from tests.drive.serving import RunningDrive, running_drive
from tests.drive.world import World

ADA, BEN, ROBOT = "ada@a.test", "ben@a.test", "robot@b.test"
PAGES_MAX = 5_000


@dataclass
class Pass:
    """What one pass brought."""

    changes: list[Change] = field(default_factory=list)
    unlisted: list[Unlisted] = field(default_factory=list)
    pages: int = 0
    is_whole: bool = False

    @property
    def upserts(self) -> list[str]:
        return [name_of(change) for change in self.changes if change.kind is ChangeKind.UPSERT]


@dataclass
class DriveFollower:
    """``held`` is what a corpus would have: by source id, the change that was applied last."""

    config: dict[str, Any]
    sessions: DriveSessions
    memory: MemoryInMemory = field(default_factory=MemoryInMemory)
    held: dict[str, Change] = field(default_factory=dict)
    cursor: str | None = None
    now: datetime = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
    wait: Callable[[float], None] = time.sleep

    def connect(self) -> Drive:
        return Drive(
            DriveConfig.parse(self.config),
            memory=self.memory,
            sessions=self.sessions,
            now=lambda: self.now,
            wait=self.wait,
        )

    def sync(self, *, limit: int = 50, full: bool = False, between: Callable[[int], None] = lambda page: None) -> Pass:
        """One pass. ``between`` is called after each page, with its number. A pass that fails leaves the cursor where it was."""
        self.now += timedelta(minutes=1)
        cursor = self.connect().restart(self.cursor) if full else self.cursor
        done, seen = Pass(), set[str]()
        while True:
            page = self.connect().list_page(cursor, limit=limit)
            assert len(page.changes) <= limit
            assert len({change.source_id for change in page.changes}) == len(page.changes)
            done.changes += page.changes
            done.unlisted += page.unlisted
            done.pages += 1
            assert done.pages < PAGES_MAX
            seen |= self._apply(page.changes)
            cursor = page.cursor
            between(done.pages)
            if page.done:
                break
        self.cursor, done.is_whole = cursor, page.is_whole
        if page.is_whole and not done.unlisted:
            self.held = {source_id: change for source_id, change in self.held.items() if source_id in seen}
        return done

    def _apply(self, changes: Any) -> set[str]:
        for change in changes:
            if change.kind is ChangeKind.DELETE:
                self.held.pop(change.source_id, None)
            else:
                self.held[change.source_id] = change
        return {change.source_id for change in changes if change.kind is ChangeKind.UPSERT}

    @property
    def names(self) -> list[str]:
        return sorted(map(name_of, self.held.values()))

    @property
    def paths(self) -> list[str]:
        return sorted(change.path for change in self.held.values())

    def readers(self, name: str) -> list[str]:
        """Who may read the one document of that name."""
        (grants,) = [change.grants for change in self.held.values() if name_of(change) == name]
        assert grants is not None
        return sorted((*grants.principal_ids, *grants.group_ids, *(("everyone",) if grants.everyone else ())))

    def change(self, name: str) -> Change:
        (change,) = [change for change in self.held.values() if name_of(change) == name]
        return change

    def fetch(self, name: str) -> FetchedDocument:
        return self.connect().fetch(self.change(name), max_bytes=1 << 20)


@dataclass
class Follower(DriveFollower):
    """Who follows the emulator, and may look behind it."""

    drive: RunningDrive = field(kw_only=True)

    @property
    def world(self) -> World:
        return self.drive.world


def name_of(change: Change) -> str:
    """The name of an upsert's document; of a deletion its source id."""
    return str(json.loads(change.locator)["name"]) if change.locator else change.source_id


@contextmanager
def following(folder: Path, world: World, *, email: str = ROBOT, **config: Any) -> Iterator[Follower]:
    """A follower of a served world, with the rights of ``email``. The connections are closed at the end."""
    sessions = DriveSessions()
    with running_drive(world) as drive:
        credentials = drive.authorized_user_file(folder, email)
        settings = {"root_url": f"{drive.url}/", "credentials": str(credentials), **config}
        try:
            yield Follower(settings, sessions, drive=drive)
        finally:
            sessions.close()


def peopled() -> World:
    """A world of three users, of whom nobody has anything."""
    world = World()
    for email in (ADA, BEN, ROBOT):
        world.add_user(email)
    return world
