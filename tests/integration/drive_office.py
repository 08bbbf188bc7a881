"""A small Drive that the tests of the emulator look at through Google's own client."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from googleapiclient.errors import HttpError  # type: ignore[import-untyped]  # it comes without types

from tests.drive.client import client
from tests.drive.serving import RunningDrive, running_drive
from tests.drive.world import World

ADA, BEN, ROBOT = "ada@a.test", "ben@a.test", "robot@b.test"


@dataclass(frozen=True)
class Office:
    """A running emulator with a client for each of its users."""

    drive: RunningDrive
    ada: Any
    """Owns everything in My Drive."""

    ben: Any
    """Organises the shared drive, and sees nothing of Ada's."""

    robot: Any
    """Reads `folder` and what is below it."""

    folder: str
    file: str
    """`plan.md` in `folder`, with `PLAN` in it."""

    @property
    def world(self) -> World:
        return self.drive.world


PLAN = b"# Plan\n\nFirst the roof, then the cellar.\n"


@contextmanager
def open_office() -> Iterator[Office]:
    """An office of three users, with one folder and one file that the robot may read."""
    world = World()
    for email in (ADA, BEN, ROBOT):
        world.add_user(email)
    folder = world.add_folder("Office", owner=ADA).id
    world.share(folder, ROBOT)
    file = world.add_file("plan.md", PLAN, parent=folder, owner=ADA).id
    with running_drive(world) as drive, ExitStack() as clients:
        ada, ben, robot = (clients.enter_context(client(drive, email)) for email in (ADA, BEN, ROBOT))
        yield Office(drive, ada, ben, robot, folder, file)


def refused(request: Any) -> tuple[int, str, str]:
    """Status, reason and message with which Drive refuses a request."""
    try:
        answer = request.execute()
    except HttpError as error:
        inner = json.loads(error.content)["error"]
        assert inner["code"] == error.resp.status
        return inner["code"], inner["errors"][0]["reason"], inner["message"]
    raise AssertionError(f"Not refused: {answer!r}")
