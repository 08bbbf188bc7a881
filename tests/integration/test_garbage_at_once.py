"""Collecting while others publish, delete, roll back and read, and collections that are killed."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

import pytest

from activities.store import Store
from activities.store.freeing import Freed
from activities.store.garbage import Keep, collect
from headwater.errors import HeadwaterError
from headwater.models import Scope
from tests.integration.seen import overlaps, seen, table
from tests.integration.staging_factory import Corpus, Document, publish
from tests.integration.stress_shift import Shift, first_page, read, write

SECONDS, STARTING_S = 5, 2
FEW = Keep(generations=3, seconds=0)
NONE = Keep(generations=0, seconds=0)


@pytest.fixture
def processes() -> Iterator[ProcessPoolExecutor]:
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.test_garbage_at_once"])
    with ProcessPoolExecutor(5, mp_context=context) as pool:
        yield pool


def collect_on(shift: Shift) -> Counter[str]:
    """Collects all the time. Counts of what was freed, and errors by name."""
    done: Counter[str] = Counter()
    with Store.open(shift.dsn, max_size=2) as store:
        while time.time() < shift.until:
            try:
                for progress in collect(store, shift.corpus.scope, FEW):
                    done["revisions"] += progress.freed.revisions
            except HeadwaterError as error:
                done[f"error {type(error.__cause__ or error).__name__}"] += 1
    return done


def test_collecting_disturbs_neither_writers_nor_readers(
    processes: ProcessPoolExecutor, store: Store, database: str, corpus: Corpus
) -> None:
    first_page(store, corpus)
    until = time.time() + STARTING_S + SECONDS
    shifts = [Shift(database, corpus, until, seed) for seed in range(5)]
    writing = [processes.submit(write, shift) for shift in shifts[:3]]
    reading, collecting = processes.submit(read, shifts[3]), processes.submit(collect_on, shifts[4])
    done = sum((each.result() for each in writing), Counter[str]())
    found, freed = reading.result(), collecting.result()
    faults = {what: found[what] for what in ("mixed", "short", "missing", "batch mixed")}
    assert faults == dict.fromkeys(faults, 0)
    # A rollback to what was collected meanwhile is refused, which is no fault.
    errors = {what for what in (*done, *freed) if what.startswith("error")} - {"error InvalidInput"}
    assert not errors
    assert freed["revisions"] > 30 and done["rolled back"] and found["reads"] > 10, (
        "the run must have met what it is about"
    )
    assert overlaps(store) == 0
    for _ in collect(store, corpus.scope, FEW):
        pass
    assert len(table(store, "revision")) < len(table(store, "page")) + 24


@dataclass(frozen=True)
class Killed:
    dsn: str
    scope: Scope
    told: Connection

    def work(self) -> None:
        """Collects, and says so after every transaction."""
        with Store.open(self.dsn, max_size=2) as store:
            for _ in collect(store, self.scope, NONE):
                self.told.send(b".")


@pytest.mark.parametrize("transactions", [2, 4])
def test_a_killed_collection_is_finished_by_the_next(
    store: Store, database: str, corpus: Corpus, transactions: int
) -> None:
    for tag in ("old", "older", "new"):
        publish(store, corpus, *[Document(f"s{number}", [f"{tag} {number}"]) for number in range(150)])
    context = get_context("forkserver")
    told, tell = context.Pipe(duplex=False)
    process = context.Process(target=Killed(database, corpus.scope, tell).work)
    process.start()
    tell.close()
    for _ in range(transactions):
        told.recv()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    left = len(table(store, "revision")) - 150
    assert left > 0, "it was killed too late to show anything"
    freed = Freed()
    for progress in collect(store, corpus.scope, NONE):
        freed += progress.freed
    assert (freed.revisions, freed.chunks, freed.documents) == (left, left, left)
    assert seen(store, corpus) == {f"s{number}": [f"new {number}"] for number in range(150)}
