"""Connectors that hold files together and sync at the same time: nobody waits in a circle, and no file is lost between them."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, LiteralString

import psycopg
import pytest

from activities.contracts import BegunPass
from activities.store import Store, connector_removal
from headwater.connectors import GrantSet
from tests.integration.seen import table
from tests.integration.waiting import is_blocked, until
from tests.pipeline.by_hand import ByHand
from tests.pipeline.harness import states, visible
from tests.pipeline.ledger import Ledger

NAMES: Final = ("left", "right", "third")


class Shared:
    """Some connectors of one corpus, each with a ledger of its own, in which the same names are the same files."""

    def __init__(self, store: Store, *names: str) -> None:
        self.store = store
        self.ledgers = {name: Ledger() for name in names}
        self.numbers = dict(zip(names, Ledger().register(store, *names), strict=True))
        self.by_hand = {name: ByHand(store, connectors=ledger.connect) for name, ledger in self.ledgers.items()}
        self._runs = {name: 0 for name in names}

    def begin(self, name: str) -> BegunPass:
        self._runs[name] += 1
        return self.by_hand[name].begin(connector=name, owner=f"sync:{name}", run=f"run-{self._runs[name]}")

    def sync(self, name: str) -> None:
        self._runs[name] += 1
        self.by_hand[name].sync(connector=name, owner=f"sync:{name}", run=f"run-{self._runs[name]}")

    def stage(self, name: str) -> tuple[BegunPass, int]:
        """A pass up to its first page, which is listed, read and not published."""
        begun = self.begin(name)
        return begun, self.by_hand[name].stage(begun.in_pass).page_id

    def publish(self, name: str, begun: BegunPass, page_id: int) -> None:
        self.by_hand[name].publish(begun.in_pass, page_id)
        self.by_hand[name].advance(begun.in_pass, page_id)
        self.by_hand[name].end(begun.in_pass)

    def members(self) -> dict[str, set[str]]:
        """Who holds each file."""
        files = {row["source_pk"]: row["source_id"] for row in table(self.store, "source")}
        holders: dict[str, set[str]] = {}
        for row in table(self.store, "membership"):
            holder = next(name for name, number in self.numbers.items() if number == row["connector_id"])
            holders.setdefault(files[row["source_pk"]], set()).add(holder)
        return holders

    def owners(self) -> dict[str, str | None]:
        names = {number: name for name, number in self.numbers.items()}
        return {row["source_id"]: names.get(row["owner"]) for row in table(self.store, "source")}

    def truth(self) -> dict[str, set[str]]:
        """Who should hold each file."""
        held: dict[str, set[str]] = {}
        for name, ledger in self.ledgers.items():
            for file in ledger.entries:
                held.setdefault(f"drive:{file}", set()).add(name)
        return held


@contextmanager
def locked(database: str, statement: LiteralString, *key: object) -> Iterator[None]:
    """Somebody holds the row of that key until the end of the block."""
    with psycopg.connect(database) as connection:
        connection.execute(statement, key)
        yield


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(len(NAMES)) as threads:
        yield threads


def finished(*futures: Future[None]) -> None:
    for each in futures:
        each.result(timeout=60)


def test_a_listing_and_a_handover_do_not_wait_for_each_other(
    store: Store, database: str, pool: ThreadPoolExecutor
) -> None:
    shared = Shared(store, "left", "right")
    for reader, ledger in shared.ledgers.items():  # they know different grants: who is left will be asked for them
        for name in ("a", "b", "c"):
            ledger.put(name, "The plan.", GrantSet(principal_ids=(reader,)))
    # It owns them, so that a handover leaves the rows of sources alone, for which a listing would wait.
    shared.sync("right")
    shared.sync("left")
    for name in ("a", "b", "c"):
        shared.ledgers["left"].remove(name)
    dropping, page_id = shared.stage("left")
    right = shared.ledgers["right"]
    right.log.append("a")  # unchanged: it is marked as seen after the changed one got its row
    right.put("c", "The new plan.", GrantSet(principal_ids=("right",)))
    listing = shared.begin("right")
    member = (
        "SELECT FROM headwater.membership m JOIN headwater.source USING (source_pk)"
        " WHERE source_id = %s AND connector_id = %s FOR UPDATE OF m"
    )
    # The publication holds what it says of a, and not yet what it says of c.
    with locked(database, member, "drive:b", shared.numbers["right"]):
        publishing = pool.submit(shared.publish, "left", dropping, page_id)
        until(lambda: is_blocked(database))
        listed = pool.submit(shared.by_hand["right"].list_page, listing.in_pass)
        until(lambda: listed.done() or waiting(database) > 1)
    finished(publishing)
    assert listed.result(timeout=60).items == 1
    assert shared.members() == {f"drive:{name}": {"right"} for name in ("a", "b", "c")}


def test_a_file_that_is_listed_while_its_last_holder_drops_it_is_not_lost(
    store: Store, database: str, pool: ThreadPoolExecutor
) -> None:
    shared = Shared(store, "left", "right")
    shared.ledgers["left"].put("plan", "The plan.")
    shared.sync("left")
    shared.sync("right")
    shared.ledgers["left"].remove("plan")
    dropping, page_id = shared.stage("left")
    shared.ledgers["right"].put("plan", "The plan.")
    listing = shared.begin("right")
    source = "SELECT FROM headwater.source WHERE source_id = %s FOR NO KEY UPDATE"
    with locked(database, source, "drive:plan"):  # its end is decided, and not written yet
        publishing = pool.submit(shared.publish, "left", dropping, page_id)
        until(lambda: is_blocked(database))
        listed = pool.submit(shared.by_hand["right"].list_page, listing.in_pass)
        until(lambda: listed.done() or waiting(database) > 1)
    finished(publishing)
    listed.result(timeout=60)
    by_hand = shared.by_hand["right"]
    by_hand.prepare(listing.in_pass, listed.result().page_id)
    shared.publish("right", listing, listed.result().page_id)
    shared.sync("right")  # its feed has nothing new
    assert visible(store) == {"drive:plan": "The plan."}
    assert (shared.members(), shared.owners()) == ({"drive:plan": {"right"}}, {"drive:plan": "right"})


def test_what_is_handed_to_a_connector_that_is_being_removed_is_left_behind(store: Store) -> None:
    shared = Shared(store, "left", "right")
    left, scope_id = shared.numbers["left"], table(store, "scope")[0]["scope_id"]
    shared.ledgers["left"].put("plan", "The plan.")
    shared.sync("left")
    fence = connector_removal.begin_removal(store, left, owner="removal", run="run-1", actor=None).fence
    connector_removal.keep_page(store, left, fence=fence, scope_id=scope_id, name="left", after=0)
    shared.ledgers["right"].put("plan", "The plan.")
    shared.sync("right")
    shared.ledgers["right"].remove("plan")
    shared.sync("right")
    removed = connector_removal.drop_connector(store, left, fence=fence, deleted=0, actor=None)
    assert (removed.kept, list(visible(store))) == (1, ["drive:plan"])
    (status,) = table(store, "ingestion")
    assert (status["freshness"], status["reason"]) == ("stale", "connector left was removed")


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.long)])
def test_what_is_handed_about_ends_where_it_lies(store: Store, pool: ThreadPoolExecutor, rounds: int) -> None:
    shared = Shared(store, *NAMES)
    files = [f"{number:02}" for number in range(16)]
    together = threading.Barrier(len(NAMES))

    def lead(name: str) -> None:
        ledger, chance = shared.ledgers[name], random.Random(name)
        try:
            for _ in range(rounds):
                for file in chance.sample(files, len(files) // 2):
                    if file in ledger.entries:
                        ledger.remove(file)
                    else:
                        ledger.put(file, f"The plan {file}.")
                ledger.log += chance.sample(sorted(ledger.entries), len(ledger.entries) // 2)
                together.wait(60)
                shared.sync(name)
        except BaseException:
            together.abort()
            raise

    finished(*[pool.submit(lead, name) for name in NAMES])
    for name in NAMES:  # what was deleted while another one listed it is read by the pass after that
        shared.sync(name)
    truth = shared.truth()
    assert shared.members() == truth
    assert visible(store) == {file: f"The plan {file.removeprefix('drive:')}." for file in truth}
    assert set(states(store)) == set(truth)
    assert all((owner in truth[file]) if file in truth else owner is None for file, owner in shared.owners().items())


def waiting(database: str) -> int:
    """How many wait for a lock there."""
    with psycopg.connect(database) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])
