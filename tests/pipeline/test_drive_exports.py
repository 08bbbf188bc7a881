"""A Google document that gets another name, place or reader is shown so, and is not exported again, whichever form it came in."""

from datetime import timedelta
from pathlib import Path

import pytest

from activities.connectors import WorkersConnectors
from activities.connectors.drive.kinds import MARKDOWN, TEXT
from activities.store import Store
from tests.drive.world import World
from tests.pipeline.by_hand import ByHand
from tests.pipeline.drive_shelf import drive_shelf

ADA, BEN, ROBOT = "ada@a.test", "ben@a.test", "robot@b.test"
EXPORT = "drive.files.export*"


@pytest.mark.parametrize(("form", "exports"), [(MARKDOWN, 1), (TEXT, 2)])
def test_a_document_is_exported_once_whatever_becomes_of_it_but_an_edit(
    form: str, exports: int, store: Store, database: str, tmp_path: Path
) -> None:
    world = World()
    for email in (ADA, BEN, ROBOT):
        world.add_user(email)
    folder = world.add_folder("Office", owner=ADA).id
    world.share(folder, ROBOT, role="writer")
    below = world.add_folder("below", parent=folder, owner=ADA).id
    document = world.add_document("Plan", {form: "Text of the plan"}, parent=folder, owner=ADA).id
    connectors = WorkersConnectors()
    with drive_shelf(store, database, tmp_path, world, email=ROBOT) as shelf:
        hand, log = ByHand(store, connectors=connectors), shelf.drive.log
        hand.sync(connector=shelf.name)
        assert log.count(EXPORT) == exports, "where there is no Markdown the text is the second attempt"
        world.clock.advance(timedelta(minutes=5))

        world.rename(document, "Another plan")
        assert sum(page.upserted for page in hand.sync(connector=shelf.name)) == 1
        world.move(document, below)
        hand.sync(connector=shelf.name)
        assert shelf.found_by(BEN) == {}
        world.share(document, BEN)
        hand.sync(connector=shelf.name)
        assert shelf.found_by(BEN) == {document: "Text of the plan"}
        assert log.count(EXPORT) == exports
        with store.connection() as connection:
            titles = connection.execute("SELECT title FROM headwater.document_version ORDER BY version_id").fetchall()
        assert titles[-1][0] == "Another plan"

        world.write(document, exports={form: "Text of another plan"})
        hand.sync(connector=shelf.name)
        assert log.count(EXPORT) == 2 * exports
        assert shelf.found_by(BEN) == {document: "Text of another plan"}
    connectors.close()
