"""A Drive that changes at random, with calls that fail at random: after each sync everybody finds exactly what Drive says.

A walk that fails names its seed; `HEADWATER_TEST_DRIVE_SEED` walks that one again.
"""

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from activities.store import Store
from tests.drive.errors import DriveError
from tests.drive.faults import Fault
from tests.drive.items import File
from tests.drive.modes import Modes
from tests.drive.world import World
from tests.pipeline.drive_shelf import drive_shelf
from tests.pipeline.harness import Pipeline

ADA, BEN, EVE, ROBOT = USERS = ("ada@a.test", "ben@a.test", "eve@b.test", "robot@b.test")
GRANTEES = (BEN, EVE, "eng@a.test", "a.test")
STEPS, STEPS_A_SYNC = 160, 8
FILES_MAX = 24  # of a walk: what everybody may find must fit one answer
SEEDS = [int(os.environ["HEADWATER_TEST_DRIVE_SEED"])] if "HEADWATER_TEST_DRIVE_SEED" in os.environ else [1, 2, 3]
MODES = (
    Modes(),
    Modes(
        coalesce_changes=False, change_states="then", descendants_on_move=True, descendants_on_trash=True,
        descendants_on_access=True, empty_pages=True, duplicate_across_pages=True, page_cap=3,
    ),
    Modes(omit_permissions=True, page_cap=5),
)  # fmt: skip


class Walk:
    """Ada's two folders, of which the connector reads one; everything below either may change."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World(seed=seed, modes=MODES[seed % len(MODES)])
        for email in USERS:
            self.world.add_user(email)
        self.world.add_group("eng@a.test", members=[BEN])
        self.office, self.attic = (self.world.add_folder(name, owner=ADA).id for name in ("Office", "Attic"))
        for folder in (self.office, self.attic):
            self.world.share(folder, ROBOT, role="writer")
        self.steps: list[Callable[[], object]] = [
            self.add, self.add, self.add_folder, self.write, self.rename, self.move, self.move, self.trash,
            self.untrash, self.delete, self.share, self.share, self.unshare, self.view,
        ]  # fmt: skip

    def step(self) -> None:
        try:
            self.chance.choice(self.steps)()
        except DriveError:
            pass  # what Drive refuses has not happened

    def truth(self, email: str) -> dict[str, str]:
        """The texts that the user is to find: readable ones below the folder, by id."""
        world = self.world
        below = [world.file(each) for each in world.below(self.office)]
        return {
            file.id: file.data.decode()
            for file in below
            if not file.is_folder and world.sees(ROBOT, file.id) and world.may_read(email, file.id)
        }

    def add(self) -> None:
        if len(self.files()) < FILES_MAX:
            number = self.chance.randrange(10**9)
            self.world.add_file(f"{number}.txt", f"Text {number}.", parent=self.some_folder(), owner=ADA)

    def add_folder(self) -> None:
        self.world.add_folder(f"{self.chance.randrange(10**9)}", parent=self.some_folder(), owner=ADA)

    def write(self) -> None:
        self.world.write(self.some_file().id, f"Text {self.chance.randrange(10**9)}.")

    def rename(self) -> None:
        self.world.rename(self.something().id, f"{self.chance.randrange(10**9)}.txt")

    def move(self) -> None:
        self.world.move(self.something().id, self.some_folder())

    def trash(self) -> None:
        self.world.trash(self.something().id)

    def untrash(self) -> None:
        self.world.untrash(self.something().id)

    def delete(self) -> None:
        if self.chance.random() < 0.5:
            self.world.delete(self.something().id)

    def share(self) -> None:
        self.world.share(self.something().id, self.chance.choice(GRANTEES), discoverable=self.chance.random() < 0.5)

    def unshare(self) -> None:
        self.world.unshare(self.something().id, self.chance.choice(GRANTEES))

    def view(self) -> None:
        self.world.view(self.some_file().id, by=ADA)

    def fault(self) -> Fault:
        """A call that fails once or twice: throttled, broken off, or with an error of the server's."""
        method = self.chance.choice(
            ("drive.changes.list", "drive.files.list", "drive.files.get*", "drive.permissions.list")
        )
        status, reason = self.chance.choice(
            ((503, "backendError"), (429, "rateLimitExceeded"), (403, "userRateLimitExceeded"))
        )
        return Fault(method, nth=self.chance.randrange(1, 4), status=status, reason=reason)

    def things(self) -> list[File]:
        return [self.world.file(each) for top in (self.office, self.attic) for each in self.world.below(top)]

    def files(self) -> list[File]:
        return [each for each in self.things() if not each.is_folder]

    def something(self) -> File:
        return self.chance.choice(self.things() or [self._first()])

    def some_file(self) -> File:
        return self.chance.choice(self.files() or [self._first()])

    def some_folder(self) -> str:
        return self.chance.choice([self.office, self.attic, *(each.id for each in self.things() if each.is_folder)])

    def _first(self) -> File:
        return self.world.add_file("first.txt", "Text of the first.", parent=self.office, owner=ADA)


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
async def test_after_each_sync_everybody_finds_what_drive_lets_them_read(
    pipeline: Pipeline, store: Store, database: str, tmp_path: Path, seed: int
) -> None:
    walk = Walk(seed)
    with drive_shelf(store, database, tmp_path, walk.world, email=ROBOT, folder_ids=[walk.office]) as shelf:
        for step in range(1, STEPS + 1):
            walk.step()
            if step % STEPS_A_SYNC:
                continue
            if walk.chance.random() < 0.5:
                shelf.drive.faults.add(walk.fault())
            await pipeline.sync(shelf)
            for email in (ADA, BEN, EVE):
                found = await asyncio.to_thread(shelf.found_by, email)
                assert found == walk.truth(email), f"seed {seed}, step {step}, as {email}"
