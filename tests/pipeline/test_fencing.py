"""One run at a time writes for a connector. A run whose lease was taken over finds every door shut."""

from collections.abc import Callable, Sequence

import pytest

from activities.contracts import Pass
from activities.embed_batch import COMMIT_CHUNKS
from activities.store import Store
from tests.pipeline.by_hand import OWNER, ByHand, refusal
from tests.pipeline.harness import Shelf, register, visible
from tests.pipeline.heard_embedder import HeardEmbedder

OTHER = "sync:by-somebody-else"


@pytest.fixture
def hand(store: Store, shelf: Shelf) -> ByHand:
    """The activities, and two documents to sync."""
    shelf.write("a.txt", "Alpha")
    shelf.write("b.txt", "Beta")
    register(store, shelf)
    return ByHand(store)


def expire(store: Store) -> None:
    """Lets the lease end as time would."""
    with store.connection() as connection:
        connection.execute("UPDATE headwater.checkpoint SET lease_until = now() - interval '1 second'")


def checkpoint(store: Store) -> tuple[int, str | None, int]:
    """Version, owner and fence."""
    with store.connection() as connection:
        row = connection.execute("SELECT version, owner, fence FROM headwater.checkpoint").fetchone()
    assert row is not None
    version, owner, fence = row
    return version, owner, fence


def test_a_second_workflow_is_told_who_holds_the_lease(hand: ByHand) -> None:
    hand.begin()
    kind, sentence = refusal(lambda: hand.begin(owner=OTHER))
    assert kind == "AlreadyRunning"
    assert OWNER in sentence


def take_over_after_expiry(hand: ByHand, store: Store) -> Pass:
    expire(store)
    return hand.begin(owner=OTHER).in_pass


def take_over_by_a_new_run_of_the_same_workflow(hand: ByHand, store: Store) -> Pass:
    return hand.begin(run="run-2").in_pass


TAKEOVERS = [take_over_after_expiry, take_over_by_a_new_run_of_the_same_workflow]


@pytest.mark.parametrize("take_over", TAKEOVERS)
def test_a_run_that_lost_its_lease_can_write_nothing(
    hand: ByHand, store: Store, take_over: Callable[[ByHand, Store], Pass]
) -> None:
    old = hand.begin().in_pass
    listed = hand.list_page(old)
    batches = hand.prepare(old, listed.page_id).batches
    new = take_over(hand, store)
    assert new.fence == old.fence + 1
    assert batches == 1
    for refused in (
        lambda: hand.list_page(old, 2),
        lambda: hand.prepare(old, listed.page_id),
        lambda: hand.embed(old, listed.page_id),
        lambda: hand.publish(old, listed.page_id),
        lambda: hand.advance(old, listed.page_id),
    ):
        assert refusal(refused)[0] == "StaleFence"
    assert visible(store) == {}
    assert checkpoint(store)[0] == 0


@pytest.mark.parametrize("take_over", TAKEOVERS)
def test_what_was_staged_is_not_published_by_the_run_that_lost_its_lease(
    hand: ByHand, store: Store, take_over: Callable[[ByHand, Store], Pass]
) -> None:
    old = hand.begin().in_pass
    listed = hand.stage(old)
    new = take_over(hand, store)
    assert refusal(lambda: hand.publish(old, listed.page_id))[0] == "StaleFence"
    assert visible(store) == {}
    assert hand.publish(new, hand.stage(new).page_id).upserted == 2


def test_a_published_page_does_not_move_the_checkpoint_of_another_run(hand: ByHand, store: Store) -> None:
    old = hand.begin().in_pass
    listed = hand.stage(old)
    hand.publish(old, listed.page_id)
    take_over_after_expiry(hand, store)
    assert refusal(lambda: hand.advance(old, listed.page_id))[0] == "StaleFence"


def test_the_end_of_a_run_that_lost_its_lease_leaves_it_with_its_new_holder(hand: ByHand, store: Store) -> None:
    old = hand.begin().in_pass
    take_over_after_expiry(hand, store)
    hand.end(old, error="The sync was cancelled.")
    assert checkpoint(store)[1] == OTHER


def test_a_batch_that_is_under_way_stops_at_its_next_commit(store: Store, shelf: Shelf) -> None:
    embedded: list[str] = []

    def take_over_once(texts: Sequence[str]) -> None:
        if not embedded:
            take_over_after_expiry(overtaken, store)
        embedded.extend(texts)

    for number in range(80):
        shelf.write(f"{number:02}.txt", f"Document {number}")
    register(store, shelf)
    overtaken = ByHand(store, resolve=lambda spec: HeardEmbedder(spec, take_over_once))
    old = overtaken.begin().in_pass
    listed = overtaken.list_page(old)
    overtaken.prepare(old, listed.page_id)
    assert refusal(lambda: overtaken.embed(old, listed.page_id))[0] == "StaleFence"
    assert len(embedded) == COMMIT_CHUNKS


def test_a_late_listing_takes_nothing_back_from_the_pass_that_follows(hand: ByHand, store: Store, shelf: Shelf) -> None:
    """It would mark documents as seen by the older pass only, and the newer pass would delete them as gone."""
    for name in ("c.txt", "d.txt"):
        shelf.write(name, name)
    hand.sync()
    old = hand.begin(run="run-2").in_pass
    newer: list[Pass] = []

    def overtake(*_: object) -> None:
        if not newer:
            newer.append(take_over_after_expiry(hand, store))
            hand.list_page(newer[0], 1, page_size=2)

    assert refusal(lambda: hand.list_page(old, 1, page_size=2, meanwhile=overtake))[0] == "StaleFence"
    for seq in (1, 2):
        listed = hand.stage(newer[0], seq, page_size=2)
        assert hand.publish(newer[0], listed.page_id).deleted == 0
    assert listed.is_last
    assert len(visible(store)) == 4


def test_pages_move_the_checkpoint_in_their_order(hand: ByHand, store: Store, shelf: Shelf) -> None:
    for number in range(4):
        shelf.write(f"{number}.txt", f"Document {number}")
    run = hand.begin().in_pass
    first, second = hand.stage(run, 1, page_size=2), hand.stage(run, 2, page_size=2)
    hand.publish(run, first.page_id)
    hand.publish(run, second.page_id)
    assert refusal(lambda: hand.advance(run, second.page_id))[0] == "CheckpointConflict"
    assert hand.advance(run, first.page_id).version == 1
    assert hand.advance(run, second.page_id).version == 2
    assert refusal(lambda: hand.advance(run, first.page_id))[0] == "CheckpointConflict"
    assert checkpoint(store)[0] == 2


def test_a_page_that_is_not_published_does_not_move_the_checkpoint(hand: ByHand) -> None:
    run = hand.begin().in_pass
    listed = hand.stage(run)
    assert refusal(lambda: hand.advance(run, listed.page_id))[0] == "CheckpointConflict"


def test_the_version_of_a_checkpoint_only_grows(hand: ByHand, store: Store, shelf: Shelf) -> None:
    versions = []
    for edition in range(3):
        shelf.write("a.txt", f"Alpha {edition}")
        hand.sync(run=f"run-{edition}")
        versions.append(checkpoint(store)[0])
    assert versions == [1, 2, 3]
