"""Many writers and readers of one corpus at once. The same run without the scope's lock is seen to fail."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from activities.store import Store
from tests.integration.seen import overlaps, table
from tests.integration.staging_factory import Corpus
from tests.integration.stress_shift import Shift, first_page, read, write

GOOD_S, CONTROL_S, STARTING_S = 15, 5, 3
FAULTS = ("mixed", "short", "missing", "batch mixed")


@pytest.fixture
def processes() -> Iterator[ProcessPoolExecutor]:
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.stress_shift"])
    with ProcessPoolExecutor(8, mp_context=context) as pool:
        yield pool


def run(
    processes: ProcessPoolExecutor,
    dsn: str,
    corpus: Corpus,
    *,
    seconds: float,
    writers: int,
    readers: int,
    has_lock: bool,
) -> tuple[Counter[str], Counter[str]]:
    until = time.time() + STARTING_S + seconds
    shifts = [Shift(dsn, corpus, until, seed, has_lock) for seed in range(writers + readers)]
    writing = [processes.submit(write, shift) for shift in shifts[:writers]]
    reading = [processes.submit(read, shift) for shift in shifts[writers:]]
    done = sum((each.result() for each in writing), Counter[str]())
    found = sum((each.result() for each in reading), Counter[str]())
    print(f"{'good' if has_lock else 'control'}: {dict(done)} {dict(found)}")
    return done, found


def test_readers_see_whole_documents_while_many_write(
    processes: ProcessPoolExecutor, store: Store, database: str, corpus: Corpus
) -> None:
    first_page(store, corpus)
    done, found = run(processes, database, corpus, seconds=GOOD_S, writers=6, readers=2, has_lock=True)
    assert {fault: found[fault] for fault in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert overlaps(store) == 0
    assert not [what for what in done if what.startswith("error")]
    assert done["published in part"] == 0
    busy = ("replaced", "batches", "deleted", "added again", "rolled back", "granted", "refused")
    assert all(done[what] for what in busy) and found["reads"] > 50, "the run must have met what it is about"
    assert done["replaced"] > 100 and any(row["kind"] == "fork" for row in table(store, "pointer_log"))


def test_without_the_lock_readers_see_mixtures(
    processes: ProcessPoolExecutor, store: Store, database: str, corpus: Corpus
) -> None:
    first_page(store, corpus)
    with store.connection() as connection:
        connection.execute("DROP INDEX headwater.span_one_open")
    _, found = run(processes, database, corpus, seconds=CONTROL_S, writers=4, readers=2, has_lock=False)
    assert found["mixed"] > 0
    assert overlaps(store) > 0
