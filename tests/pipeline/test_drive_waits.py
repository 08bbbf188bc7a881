"""Who waits for Drive to prepare a large document does not hold up a worker that stops, or a sync that is cancelled."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.testing import ActivityEnvironment

from activities.connectors import WorkersConnectors
from activities.connectors.drive.kinds import MARKDOWN
from activities.contracts import PageRef
from activities.embedder_source import EmbedderSource
from activities.prepare_page import PagePreparer
from activities.store import Store
from headwater.embedders import resolve_embedder
from tests.drive.faults import Fault
from tests.drive.world import World
from tests.integration.waiting import until
from tests.pipeline.by_hand import MAX_BYTES, ByHand, InlineParser
from tests.pipeline.drive_shelf import DriveShelf, drive_shelf

ADA, ROBOT = "ada@a.test", "robot@b.test"
POLL = "drive.operations.get"


@pytest.fixture
def shelf(store: Store, database: str, tmp_path: Path) -> Iterator[DriveShelf]:
    """A document that Drive exports by a long-running download only, of which it does not get ready."""
    world = World()
    for email in (ADA, ROBOT):
        world.add_user(email)
    world.modes.export_limit = 10
    document = world.add_document("Plan", {MARKDOWN: "# A plan that is long\n"}, owner=ADA)
    world.share(document.id, ROBOT, role="writer")
    with drive_shelf(store, database, tmp_path, world, email=ROBOT) as shelf:
        shelf.drive.faults.add(Fault("exportLink", times=None, status=403))
        shelf.drive.operations.polls_until_done = 1_000_000
        yield shelf


@pytest.mark.parametrize(
    ("end", "told"),
    [(ActivityEnvironment.worker_shutdown, ApplicationError), (ActivityEnvironment.cancel, CancelledError)],
)
def test_an_activity_that_is_to_end_does_not_wait_for_drive_and_the_document_is_not_blamed(
    store: Store, shelf: DriveShelf, end: Callable[[ActivityEnvironment], None], told: type[Exception]
) -> None:
    connectors = WorkersConnectors()
    hand = ByHand(store, connectors=connectors)
    run = hand.begin(connector=shelf.name).in_pass
    listed = hand.list_page(run).page_id
    preparer = PagePreparer(
        store, EmbedderSource(resolve_embedder), InlineParser(), max_bytes=MAX_BYTES, connectors=connectors
    )
    environment = ActivityEnvironment()
    with ThreadPoolExecutor(1) as pool:
        prepared = pool.submit(environment.run, preparer.prepare_page, PageRef(in_pass=run, page_id=listed))
        until(lambda: shelf.drive.log.count(POLL) > 0)
        end(environment)
        with pytest.raises(told) as raised:
            prepared.result(timeout=10)
    connectors.close()
    assert getattr(raised.value, "type", "HandedOver") == "HandedOver"
    with store.connection() as connection:
        assert connection.execute("SELECT attempts, faults, rev_id, status FROM headwater.page_item").fetchall() == [
            (0, 0, None, None)
        ]
