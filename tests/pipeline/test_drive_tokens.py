"""A worker signs in once, however many documents it reads and however many threads read them."""

from pathlib import Path

from activities.connectors import WorkersConnectors
from activities.store import Store
from tests.drive.world import World
from tests.pipeline.by_hand import ByHand
from tests.pipeline.drive_shelf import drive_shelf

ADA, ROBOT = "ada@a.test", "robot@b.test"


def test_a_sync_of_many_documents_fetches_one_token(store: Store, database: str, tmp_path: Path) -> None:
    world = World()
    for email in (ADA, ROBOT):
        world.add_user(email)
    folder = world.add_folder("Office", owner=ADA).id
    world.share(folder, ROBOT, role="writer")
    for number in range(20):
        world.add_file(f"{number}.txt", f"Text {number}", parent=folder, owner=ADA)
    connectors = WorkersConnectors()
    with drive_shelf(store, database, tmp_path, world, email=ROBOT) as shelf:
        (page,) = ByHand(store, connectors=connectors).sync(connector=shelf.name)
        assert page.upserted == 20
        assert shelf.drive.log.count("drive.files.get:media") == 20
        assert shelf.drive.log.count("token") == 1
    connectors.close()
