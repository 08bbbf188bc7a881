"""Nobody else takes a connector's lease while a run waits because the connector's origin asked it to."""

import pytest

from activities.containment import LONGEST_WAIT
from activities.contracts import Pass
from activities.store import Store
from activities.store.pages.lease import LEASE_S
from headwater.connectors import Throttled
from headwater.errors import TransientError
from tests.pipeline.by_hand import ByHand, InlineParser, refusal
from tests.pipeline.ledger import Ledger

HOUR_S = LONGEST_WAIT.total_seconds()
OTHER = "sync:by-somebody-else"


@pytest.fixture
def ledger(store: Store) -> Ledger:
    ledger = Ledger()
    ledger.register(store)
    for name in ("a", "b"):
        ledger.put(name, f"Text of {name}")
    return ledger


def throttle(store: Store, ledger: Ledger, run: Pass, seconds: float) -> None:
    """The origin refuses the pass's listing, and says for how long."""
    ledger.failing.append(Throttled("Fewer calls.", retry_after_s=seconds))
    assert refusal(lambda: ByHand(store, connectors=ledger.connect).list_page(run))[0] == "Throttled"


def pass_time(store: Store, seconds: float) -> None:
    """The lease is that much nearer to its end."""
    with store.connection() as connection:
        connection.execute(
            "UPDATE headwater.checkpoint SET lease_until = lease_until - %s * interval '1 second'", [seconds]
        )


def is_taken(hand: ByHand) -> bool:
    return refusal(lambda: hand.begin(owner=OTHER))[0] == "AlreadyRunning"


@pytest.mark.parametrize(("asked_s", "waited_s"), [(1_800.0, 1_800.0), (86_400.0, HOUR_S)])
def test_the_lease_outlasts_the_wait_that_a_listing_was_told_and_no_more(
    store: Store, ledger: Ledger, asked_s: float, waited_s: float
) -> None:
    hand = ByHand(store, connectors=ledger.connect)
    throttle(store, ledger, hand.begin().in_pass, asked_s)
    pass_time(store, waited_s + LEASE_S - 60)
    assert is_taken(hand)
    pass_time(store, 120)
    assert hand.begin(owner=OTHER).in_pass.fence == 2


def test_so_it_is_with_the_wait_that_a_document_was_told(store: Store, ledger: Ledger) -> None:
    def throttled(_: str) -> None:
        raise Throttled("Fewer calls.", retry_after_s=HOUR_S)

    hand = ByHand(store, connectors=ledger.connect, parser=InlineParser(throttled))
    run = hand.begin().in_pass
    page_id = hand.list_page(run).page_id
    assert refusal(lambda: hand.prepare(run, page_id))[0] == "Throttled"
    pass_time(store, HOUR_S + LEASE_S - 60)
    assert is_taken(hand)


def test_a_page_that_is_published_meanwhile_does_not_cut_the_wait_short(store: Store, ledger: Ledger) -> None:
    hand = ByHand(store, connectors=ledger.connect)
    run = hand.begin().in_pass
    page = hand.stage(run, page_size=1)
    ledger.failing.append(Throttled("Fewer calls.", retry_after_s=HOUR_S))
    assert refusal(lambda: hand.list_page(run, 2))[0] == "Throttled"
    hand.publish(run, page.page_id)
    hand.advance(run, page.page_id)
    pass_time(store, HOUR_S)
    assert is_taken(hand)


def test_an_outage_that_says_nothing_of_its_length_renews_the_lease_with_each_attempt(
    store: Store, ledger: Ledger
) -> None:
    hand = ByHand(store, connectors=ledger.connect)
    run = hand.begin().in_pass
    for _ in range(3):
        pass_time(store, LEASE_S - 60)
        ledger.failing.append(TransientError("It is away."))
        assert refusal(lambda: hand.list_page(run))[0] == "TransientError"
    pass_time(store, LEASE_S - 60)
    assert is_taken(hand)


def test_a_run_that_lost_its_lease_is_not_kept_waiting(store: Store, ledger: Ledger) -> None:
    hand = ByHand(store, connectors=ledger.connect)
    run = hand.begin().in_pass

    def overtake(*_: object) -> None:
        pass_time(store, 2 * LEASE_S)
        hand.begin(owner=OTHER)

    def throttled(text: str) -> None:
        if text.endswith("a"):
            overtake()
        raise Throttled("Fewer calls.", retry_after_s=HOUR_S)

    page_id = hand.list_page(run).page_id
    slow = ByHand(store, connectors=ledger.connect, parser=InlineParser(throttled))
    assert refusal(lambda: slow.prepare(run, page_id))[0] == "StaleFence"
