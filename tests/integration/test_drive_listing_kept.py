"""What a page listed before Drive wanted to be left alone is kept: whoever retries goes on, and does not begin anew."""

from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.store import Store
from tests.drive.faults import Fault
from tests.integration.drive_corpus import ADA, drive_corpus, peopled, shared_folder

LIST = "drive.files.list"
FILES = 12


@pytest.mark.parametrize("status", [429, 503])
def test_a_page_that_had_listed_something_is_kept(status: int, store: Store, database: str, tmp_path: Path) -> None:
    world = peopled()
    folder = shared_folder(world)
    for number in range(FILES):
        world.add_file(f"{number}.md", f"# Text {number}\n", parent=folder, owner=ADA)
    with drive_corpus(store, database, tmp_path, world, folder_ids=[folder]) as corpus:
        corpus.drive.faults.add(Fault(LIST, status=status))  # the pass has begun in this page

        done = corpus.sync(page_size=4)

        assert done.upserted == FILES and len(corpus.shown()) == FILES


def test_a_page_that_has_listed_nothing_says_why(store: Store, database: str, tmp_path: Path) -> None:
    world = peopled()
    with drive_corpus(store, database, tmp_path, world, folder_ids=[shared_folder(world)]) as corpus:
        corpus.drive.faults.add(Fault(LIST, times=None, status=429, retry_after="7"))

        with pytest.raises(ApplicationError) as stopped:
            corpus.sync()

        assert stopped.value.type == "Throttled"
        assert stopped.value.next_retry_delay is not None and stopped.value.next_retry_delay.total_seconds() == 7
