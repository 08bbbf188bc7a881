"""A file that becomes something without text, in a corpus with two connectors that hold it: its old text is gone with either."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from activities.store import Store
from tests.drive.native import native_type
from tests.drive.world import World
from tests.pipeline.drive_shelf import connect, drive_shelf, make_corpus
from tests.pipeline.harness import Pipeline, Synced

ADA, ROBOT = "ada@a.test", "robot@b.test"


@dataclass(frozen=True)
class Named:
    name: str


@pytest.mark.parametrize("order", [("all", "crew"), ("crew", "all")])
async def test_what_two_connectors_hold_shows_nothing_once_it_has_no_text(
    pipeline: Pipeline, store: Store, database: str, tmp_path: Path, order: tuple[str, str]
) -> None:
    world = World()
    for email in (ADA, ROBOT):
        world.add_user(email)
    crew = world.add_drive("Crew", organizer=ADA).id
    world.share(crew, ROBOT, "writer")
    plan = world.add_file("plan.txt", "Text of the plan.", parent=crew).id
    # The robot has opened it, so that its own feed tells of it and the drive's does: one after the other.
    world.view(plan, by=ROBOT)
    with drive_shelf(store, database, tmp_path, world, email=ROBOT) as shelf:
        both: dict[str, Synced] = {"all": shelf, "crew": Named("crew")}
        credentials = tmp_path / "authorized-user.json"
        connect(store, make_corpus(store), "crew", shelf.drive, credentials=credentials, drive_id=crew)
        for connector in both.values():
            await pipeline.sync(connector)
        assert shelf.found_by(ADA) == {plan: "Text of the plan."}
        world.write(plan, exports={}, mime_type=native_type("form"))
        for name in order:
            await pipeline.sync(both[name])
        assert shelf.found_by(ADA) == {}
        world.write(plan, "Text again.", mime_type="text/plain")
        for name in order:
            await pipeline.sync(both[name])
        assert shelf.found_by(ADA) == {plan: "Text again."}
