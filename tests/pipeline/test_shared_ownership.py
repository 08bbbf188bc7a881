"""Drive connectors of a corpus count as one owner: they may hold a file together, and it goes when the last one drops it."""

import pytest

from activities.store import Store
from headwater.connectors import DocumentDenied, GrantSet
from tests.integration.seen import table
from tests.pipeline.by_hand import ByHand
from tests.pipeline.harness import states, visible
from tests.pipeline.ledger import Ledger

BOB = GrantSet(principal_ids=("bob",))


class Pair:
    """Two connectors of one corpus, each to a ledger of its own, in which the same ids are the same files."""

    def __init__(self, store: Store, *, kind: str = "drive") -> None:
        self.store = store
        self.ledgers = {"left": Ledger(), "right": Ledger()}
        left, right = self.ledgers["left"].register(store, "left", "right", kind=kind)
        self.numbers = {"left": left, "right": right}
        self._workers = {name: ByHand(store, connectors=ledger.connect) for name, ledger in self.ledgers.items()}

    def put(self, *names: str, text: str = "The plan.") -> None:
        for name in names:
            self.ledgers[name].put("plan", text)

    def sync(self, name: str, **fields: object) -> int:
        """How many sources the pass deleted."""
        published = self._workers[name].sync(connector=name, owner=f"sync:{name}", **fields)
        return sum(page.deleted for page in published)

    def owner(self) -> str | None:
        (source,) = table(self.store, "source")
        return next((name for name, number in self.numbers.items() if number == source["owner"]), None)

    def members(self) -> list[str]:
        held = {row["connector_id"] for row in table(self.store, "membership")}
        return [name for name, number in self.numbers.items() if number in held]


@pytest.fixture
def pair(store: Store) -> Pair:
    return Pair(store)


def test_a_file_that_two_hold_is_read_once_and_goes_with_the_last(pair: Pair) -> None:
    pair.put("left", "right")
    pair.sync("left")
    pair.sync("right")
    assert pair.members() == ["left", "right"] and pair.owner() == "left"
    assert pair.ledgers["right"].fetched == [], "it was read at this version"
    pair.ledgers["left"].remove("plan")
    assert pair.sync("left", run="run-2") == 0
    assert list(visible(pair.store)) == ["drive:plan"] and (pair.members(), pair.owner()) == (["right"], "right")
    pair.ledgers["right"].remove("plan")
    assert pair.sync("right", run="run-2") == 1
    assert visible(pair.store) == {} and table(pair.store, "membership") == []


def test_the_one_that_came_second_may_drop_it_first(pair: Pair) -> None:
    pair.put("left", "right")
    pair.sync("left")
    pair.sync("right")
    pair.ledgers["right"].remove("plan")
    assert pair.sync("right", run="run-2") == 0
    assert (pair.members(), pair.owner(), len(visible(pair.store))) == (["left"], "left", 1)


def test_a_sweep_leaves_what_another_one_holds(pair: Pair) -> None:
    pair.put("left", "right")
    pair.sync("left")
    pair.sync("right")
    del pair.ledgers["left"].entries["plan"]
    assert pair.sync("left", run="run-2", full=True) == 0
    assert (pair.members(), len(visible(pair.store))) == (["right"], 1)


def test_a_newer_text_is_published_by_whoever_sees_it_first(pair: Pair) -> None:
    pair.put("left", "right")
    pair.sync("left")
    pair.sync("right")
    pair.put("left", "right", text="The new plan.")
    pair.sync("right", run="run-2")
    assert visible(pair.store) == {"drive:plan": "The new plan."}
    pair.sync("left", run="run-2")
    assert pair.ledgers["left"].fetched == ["plan"], "its first text alone"


def test_connectors_of_another_kind_share_nothing(store: Store) -> None:
    pair = Pair(store, kind="wiki")
    pair.put("left", "right")
    pair.sync("left")
    pair.sync("right")
    assert pair.members() == ["left"]
    pair.ledgers["right"].remove("plan")
    pair.sync("right", run="run-2")
    assert len(visible(store)) == 1


def test_what_one_cannot_find_out_does_not_hide_what_another_one_knows(pair: Pair) -> None:
    pair.put("left", "right")
    pair.sync("left")
    pair.ledgers["right"].share("plan", GrantSet(withheld="grants_unreadable"))
    pair.sync("right")
    assert states(pair.store)["drive:plan"] == ("indexed", None)
    pair.ledgers["left"].remove("plan")
    pair.sync("left", run="run-2")
    pair.sync("right", run="run-2")
    assert states(pair.store)["drive:plan"] == ("indexed", "grants_unreadable"), "now nobody knows who may read it"
    assert [row["grants"] for row in table(pair.store, "source")] == [[]]


@pytest.mark.parametrize("is_same", [True, False])
def test_who_is_left_with_a_file_is_asked_for_its_grants_only_if_it_knew_others(pair: Pair, is_same: bool) -> None:
    pair.put("left", "right")
    pair.sync("left")
    pair.sync("right")
    if not is_same:  # the other one has not seen it yet
        pair.ledgers["left"].share("plan", BOB)
        pair.sync("left", run="run-2")
        pair.ledgers["right"].share("plan", BOB, silently=True)
    pair.ledgers["left"].remove("plan")
    pair.sync("left", run="run-3")
    pair.ledgers["right"].begun.clear()
    pair.sync("right", run="run-2")
    assert pair.ledgers["right"].begun == (["feed 1"] if is_same else [None]), "a listing of everything, or its feed"
    readers = {row["grantee_id"]: row["name"] for row in table(pair.store, "grantee")}
    assert [readers[each] for row in table(pair.store, "source") for each in row["grants"]] == [
        "ann" if is_same else "bob"
    ]


def test_who_drops_what_it_does_not_hold_takes_nothing_away(pair: Pair) -> None:
    pair.put("left", "right")
    pair.sync("right")
    with pair.store.connection() as connection:  # as when a host deleted it
        connection.execute("DELETE FROM headwater.membership")
    pair.sync("left")
    pair.ledgers["right"].remove("plan")
    pair.sync("right", run="run-2")
    assert (pair.members(), len(visible(pair.store))) == (["left"], 1)


def test_what_one_is_refused_is_shown_as_long_as_another_one_has_it(pair: Pair) -> None:
    pair.put("left", "right")
    pair.sync("left")
    pair.ledgers["right"].refuse("plan", DocumentDenied("It may not be downloaded."))
    pair.sync("right")
    assert states(pair.store)["drive:plan"] == ("indexed", None)
    assert [row["grants"] for row in table(pair.store, "source")] != [[]]
