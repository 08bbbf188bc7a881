"""Many writers and readers of one corpus at once. The same run without the lock, or without a fence, is seen to fail."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from activities.store import Store
from tests.integration.seen import overlaps, table
from tests.integration.staging_factory import Corpus
from tests.integration.stress_builds import rebuild
from tests.integration.stress_fates import ENDS_OF_HOSTS, LEDGER
from tests.integration.stress_shift import Shift, Without, first_page, read, write

ROUND_S, CONTROL_S, STARTING_S = 6, 2, 2
ROUNDS_MAX = 60  # on a busy machine a round meets little: there are as many as it takes
FAULTS = ("mixed", "short", "missing", "batch mixed", "forbidden", "given out")
BUSY = ("replaced", "batches", "deleted", "added again", "rolled back", "granted", "pinned", "unpinned", "flipped")

Counts = tuple[Counter[str], Counter[str]]


@pytest.fixture
def processes() -> Iterator[ProcessPoolExecutor]:
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.stress_builds"])
    with ProcessPoolExecutor(8, mp_context=context) as pool:
        yield pool


def run(
    processes: ProcessPoolExecutor,
    store: Store,
    dsn: str,
    corpus: Corpus,
    *,
    is_enough: Callable[[Counter[str], Counter[str]], bool],
    seconds: float,
    writers: int,
    builders: int = 0,
    without: Without = "nothing",
) -> Counts:
    """What was done and found, in as many rounds as are needed."""
    with store.connection() as connection:
        connection.execute(LEDGER)
    first_page(store, corpus)
    done, found = Counter[str](), Counter[str]()
    number = 0
    for number in range(ROUNDS_MAX):
        until = time.time() + seconds + (0 if number else STARTING_S)
        shifts = [Shift(dsn, corpus, until, number * 8 + seed, without) for seed in range(8)]
        writing = [processes.submit(write, shift) for shift in shifts[:writers]]
        writing += [processes.submit(rebuild, shift) for shift in shifts[writers : writers + builders]]
        reading = [processes.submit(read, shift) for shift in shifts[6:]]
        done = sum((each.result() for each in writing), done)
        found = sum((each.result() for each in reading), found)
        if is_enough(done, found):
            break
    print(f"without {without}, {number + 1} rounds: {dict(done)} {dict(found)}")
    return done, found


def met_a_little(done: Counter[str], found: Counter[str]) -> bool:
    ends = sum(1 for end in ENDS_OF_HOSTS if done[end])
    return all(done[what] for what in BUSY) and ends > 3 and found["reads"] > 20 and found["library hits"] > 0


def met_all(done: Counter[str], found: Counter[str]) -> bool:
    rare = (*ENDS_OF_HOSTS, "refused", "staged for a former build")
    return met_a_little(done, found) and all(done[what] for what in rare) and done["replaced"] > 500


@pytest.mark.parametrize("is_enough", [met_a_little, pytest.param(met_all, marks=pytest.mark.soak)])
def test_readers_see_whole_documents_and_nothing_forbidden_while_many_write(
    processes: ProcessPoolExecutor,
    store: Store,
    database: str,
    corpus: Corpus,
    is_enough: Callable[[Counter[str], Counter[str]], bool],
) -> None:
    done, found = run(
        processes, store, database, corpus, is_enough=is_enough, seconds=ROUND_S, writers=5, builders=1
    )  # fmt: skip
    assert {fault: found[fault] for fault in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert overlaps(store) == 0
    assert not [what for what in done if what.startswith("error")]
    assert done["published in part"] == 0
    assert is_enough(done, found), "the run must meet what it is about"
    assert is_enough is met_a_little or any(row["kind"] == "fork" for row in table(store, "pointer_log"))


def test_without_the_lock_readers_see_mixtures(
    processes: ProcessPoolExecutor, store: Store, database: str, corpus: Corpus
) -> None:
    with store.connection() as connection:  # the second line of defence: with it, a mixture is an error
        connection.execute("DROP INDEX headwater.span_one_open")
        connection.execute("ALTER TABLE headwater.span DROP CONSTRAINT span_check")
        connection.execute(
            "ALTER TABLE headwater.document_version DROP CONSTRAINT document_version_source_pk_revision_key"
        )
    _, found = run(
        processes, store, database, corpus, is_enough=lambda _, found: found["mixed"] > 0, seconds=CONTROL_S, writers=4,
        without="lock",
    )  # fmt: skip
    assert found["mixed"] > 0
    assert overlaps(store) > 0


def test_without_the_fence_readers_see_what_was_deleted(
    processes: ProcessPoolExecutor, store: Store, database: str, corpus: Corpus
) -> None:
    def is_enough(_: Counter[str], found: Counter[str]) -> bool:
        return found["forbidden"] > 0 and found["given out"] > 0

    done, found = run(
        processes, store, database, corpus, is_enough=is_enough, seconds=CONTROL_S, writers=4, without="fence"
    )  # fmt: skip
    assert is_enough(done, found)
