"""What an operator is told of a sync: what it withholds and why, whose readers changed, and what it waits for."""

from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from temporalio.testing import ActivityEnvironment

from activities.contracts import ListedPage, ListPage, Pass
from activities.list_page import PageLister
from activities.read_document import readers
from activities.store import Store
from activities.store.connectors import placed_connectors
from activities.store.progress import pass_progress
from activities.store.status import corpora
from headwater.connectors import DocumentDenied, GrantSet, Throttled
from headwater.errors import TransientError
from tests.pipeline.by_hand import MAX_BYTES, ByHand, refusal
from tests.pipeline.ledger import ANN, Ledger

NOBODY_KNOWS = GrantSet(withheld="grants_unreadable")
AWAY = "The ledger cannot be reached."


@pytest.fixture
def ledger(store: Store) -> Ledger:
    ledger = Ledger()
    ledger.register(store)
    return ledger


@pytest.fixture
def hand(store: Store, ledger: Ledger) -> ByHand:
    return ByHand(store, connectors=ledger.connect)


def withheld(hand: ByHand, run: str) -> dict[str, int]:
    """What a whole pass tells of at its end."""
    begun = hand.begin(run=run)
    listed = hand.stage(begun.in_pass)
    hand.publish(begun.in_pass, listed.page_id)
    hand.advance(begun.in_pass, listed.page_id)
    return hand.end(begun.in_pass).withheld


def list_again(store: Store, ledger: Ledger, run: Pass) -> ListedPage:
    """A second attempt."""
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=2)
    lister = PageLister(store, parsers=readers(MAX_BYTES), connectors=ledger.connect)
    return environment.run(lister.list_page, ListPage(in_pass=run, seq=1, page_size=100))


def counted(store: Store) -> tuple[int, int]:
    """How many documents the connector has, and how many of them are shown to nobody, in a list of connectors."""
    (placed,) = placed_connectors(store)
    return placed.sources, placed.withheld


def errors(store: Store) -> set[str | None]:
    """What is shown of the connector by either command, and to who follows the sync."""
    (placed,), (corpus,) = placed_connectors(store), corpora(store)
    assert [placed.error] == [connector["error"] for connector in corpus["connectors"]]
    waits_for = pass_progress(store, placed.row.connector_id).waits_for
    return {placed.error, None if waits_for is None else f"waiting: {waits_for}"}


def test_what_is_withheld_is_told_with_its_reason_by_every_sync(store: Store, hand: ByHand, ledger: Ledger) -> None:
    ledger.put("a", "What anybody knows.")
    ledger.put("b", "The plan of b.", NOBODY_KNOWS)
    ledger.put("c", "The plan of c.", GrantSet(withheld="too_many_grantees"))
    ledger.put("d", "The plan of d.")
    ledger.refuse("d", DocumentDenied("Nobody may download d."))
    told = {"grants_unreadable": 1, "too_many_grantees": 1, "refused": 1}
    assert withheld(hand, "run-1") == told
    assert withheld(hand, "run-2") == told, "also where nothing of it changed"
    ledger.share("a", NOBODY_KNOWS)
    ledger.share("c", ANN)
    assert counted(store) == (4, 3)
    assert withheld(hand, "run-3") == {"grants_unreadable": 2, "refused": 1}


def test_documents_that_others_may_read_than_before_are_counted(hand: ByHand, ledger: Ledger) -> None:
    for name in ("a", "b", "c"):
        ledger.put(name, f"The plan of {name}.")
    (first,) = hand.sync(run="run-1")
    assert (first.upserted, first.regranted) == (3, 0), "a new document had no readers"
    ledger.share("a", GrantSet())
    ledger.share("b", NOBODY_KNOWS)
    ledger.share("c", ANN)
    (second,) = hand.sync(run="run-2")
    assert (second.regranted, second.withheld) == (2, 1)


def test_what_a_sync_waits_for_stands_as_its_error_until_it_goes_on(store: Store, ledger: Ledger, hand: ByHand) -> None:
    run = hand.begin().in_pass
    with capture_logs() as logs:
        for error in (TransientError(AWAY), TransientError(AWAY), Throttled("Fewer calls.", retry_after_s=60.0)):
            ledger.failing.append(error)
            assert refusal(lambda: hand.list_page(run))[1] == str(error)
            assert errors(store) == {f"waiting: {error}"}
        list_again(store, ledger, run)
    assert errors(store) == {None}
    assert [(each["event"], each["connector"], each.get("reason")) for each in logs] == [
        ("sync.waits", "shelf", AWAY),
        ("sync.goes_on", "shelf", None),
    ]


def test_who_gives_up_waits_no_more_and_who_begins_does_not_wait_yet(
    store: Store, ledger: Ledger, hand: ByHand
) -> None:
    ledger.failing.append(TransientError(AWAY))
    run = hand.begin().in_pass
    refusal(lambda: hand.list_page(run))
    hand.end(run, error="The sync was cancelled.")
    assert errors(store) == {"The sync was cancelled.", None}
    ledger.failing.append(TransientError(AWAY))
    run = hand.begin(run="run-2").in_pass
    refusal(lambda: hand.list_page(run))
    assert errors(store) == {f"waiting: {AWAY}"}
    hand.begin(run="run-3")
    assert errors(store) == {"The sync was cancelled.", None}


def test_a_run_whose_lease_is_over_waits_for_nothing(store: Store, ledger: Ledger, hand: ByHand) -> None:
    ledger.failing.append(TransientError(AWAY))
    run = hand.begin().in_pass
    refusal(lambda: hand.list_page(run))
    with store.connection() as connection:
        connection.execute("UPDATE headwater.checkpoint SET lease_until = now()")
    assert errors(store) == {None}
