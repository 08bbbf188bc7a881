"""Collecting while others publish, delete, roll back and read, and collections that are killed."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from uuid import uuid4

import pytest

from activities.store import Store
from activities.store.garbage.freeing import Freed
from activities.store.garbage.garbage import Keep, collect
from headwater.errors import HeadwaterError
from headwater.models import Scope
from tests.integration.seen import overlaps, seen, table
from tests.integration.staging_factory import Corpus, Document, deleted, publish, roll_back

SECONDS, SHIFTS = 4, 8  # on a quiet machine one shift is enough
NAMES = [f"name-{number}" for number in range(8)]
FEW = Keep(generations=3, seconds=0)
NONE = Keep(generations=0, seconds=0)
TABLES = ("revision", "span", "chunk", "document_version")


@pytest.fixture
def processes() -> Iterator[ProcessPoolExecutor]:
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.test_garbage_at_once"])
    with ProcessPoolExecutor(5, mp_context=context) as pool:
        yield pool


@dataclass(frozen=True, slots=True)
class Shift:
    dsn: str
    corpus: Corpus
    until: float  # seconds since the epoch, the same for all
    seed: int

    def work(self, act: Callable[[Store, "Shift", random.Random], Counter[str]]) -> Counter[str]:
        """Counts of what was done until the shift is over, and errors by name."""
        done: Counter[str] = Counter()
        chance = random.Random(self.seed)
        with Store.open(self.dsn, max_size=2) as store:
            while time.time() < self.until:
                try:
                    done += act(store, self, chance)
                except HeadwaterError as error:
                    done[f"error {type(error.__cause__ or error).__name__}"] += 1
        return done


def write(store: Store, shift: Shift, chance: random.Random) -> Counter[str]:
    """Replaces documents, deletes and adds some again, goes back a little."""
    name, what = chance.choice(NAMES), chance.random()
    if what < 0.1:
        row = table(store, "scope")[0]
        roll_back(store, shift.corpus, max(1, row["live_gen"] - chance.randint(1, 4)))
        return Counter({"rolled back": 1})
    if what < 0.2:
        publish(store, shift.corpus, deleted(f"coming-{name}"))
        return Counter({"deleted": 1})
    publish(store, shift.corpus, whole(name), whole(f"coming-{name}"))
    return Counter({"published": 1})


def read(store: Store, shift: Shift, _chance: random.Random) -> Counter[str]:
    """Whether every document is there, and whole."""
    texts = seen(store, shift.corpus)
    tags = {name: [body.split("|") for body in bodies] for name, bodies in texts.items()}
    mixed = sum(len({tag for tag, _ in of}) > 1 or sorted(n for _, n in of) != ["0", "1", "2"] for of in tags.values())
    return Counter({"reads": 1, "missing": len({*NAMES} - set(texts)), "mixed": mixed})


def collect_all(store: Store, shift: Shift, _chance: random.Random) -> Counter[str]:
    return Counter({"revisions": sum(progress.freed.revisions for progress in collect(store, shift.corpus.scope, FEW))})


def whole(name: str) -> Document:
    tag = uuid4().hex
    return Document(name, [f"{tag}|{number}" for number in range(3)])


def test_collecting_disturbs_neither_writers_nor_readers(
    processes: ProcessPoolExecutor, store: Store, database: str, corpus: Corpus
) -> None:
    publish(store, corpus, *[whole(name) for name in NAMES])
    acts = (write, write, write, read, collect_all)
    done = Counter[str]()
    for shift in range(SHIFTS):
        list(processes.map(abs, range(len(acts))))  # all of them have started
        until = time.time() + SECONDS
        working = [
            processes.submit(Shift(database, corpus, until, 10 * shift + number).work, acts[number])
            for number in range(len(acts))
        ]
        done += sum((each.result() for each in working), Counter[str]())
        if done["revisions"] > 30 and done["rolled back"] and done["deleted"] and done["reads"] > 10:
            break
    else:
        pytest.fail(f"in {SHIFTS} shifts it did not meet what it is about: {done}")
    assert (done["missing"], done["mixed"], overlaps(store)) == (0, 0, 0)
    # A rollback to what was collected meanwhile is refused, which is no fault.
    assert {what for what in done if what.startswith("error")} <= {"error InvalidInput"}
    for _ in collect(store, corpus.scope, FEW):
        pass
    assert len(table(store, "revision")) < len(table(store, "page"))


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


@pytest.mark.parametrize("transactions", [1, 2])
def test_a_killed_collection_is_finished_by_the_next(
    store: Store, database: str, corpus: Corpus, transactions: int
) -> None:
    for tag in range(9):
        publish(store, corpus, *[Document(f"s{number}", [f"{tag} {number}"]) for number in range(60)])
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
    left = len(table(store, "revision")) - 60
    assert left > 0, "it was killed too late to show anything"
    freed = Freed()
    for progress in collect(store, corpus.scope, NONE):
        freed += progress.freed
    assert (freed.revisions, freed.chunks, freed.documents) == (left, left, left)
    with store.connection() as connection:  # texts that nobody refers to are looked for an hour after they were written
        connection.execute("UPDATE headwater.document_version SET created_at = created_at - interval '2 hours'")
    for _ in collect(store, corpus.scope, NONE):
        pass
    assert {name: len(table(store, name)) for name in TABLES} == dict.fromkeys(TABLES, 60)
    assert seen(store, corpus) == {f"s{number}": [f"8 {number}"] for number in range(60)}
