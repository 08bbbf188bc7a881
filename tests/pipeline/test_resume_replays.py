"""Temporal may run an activity twice. Twice is as good as once, for every activity there is."""

from collections.abc import Callable
from typing import LiteralString, TypeVar

import pytest
from psycopg import sql

from activities.contracts import EmbeddedBatch
from activities.store import Store
from tests.pipeline.by_hand import ByHand, InlineParser, refusal
from tests.pipeline.harness import Shelf, register, visible
from tests.pipeline.heard_embedder import HeardEmbedder

Result = TypeVar("Result")


@pytest.fixture
def hand(store: Store, shelf: Shelf) -> ByHand:
    for number in range(3):
        shelf.write(f"{number}.txt", f"Document {number}")
    register(store, shelf)
    return ByHand(store)


def contents(store: Store) -> dict[str, list[str]]:
    """All rows of all tables, without the moments at which they were written."""
    with store.connection() as connection:
        tables = [row[0] for row in connection.execute(_TABLES, {"schema": store.schema})]
        rows = {name: sql.SQL(_ROWS).format(sql.Identifier(store.schema, name)) for name in tables}
        return {name: [row[0] for row in connection.execute(query)] for name, query in rows.items()}


_TABLES: LiteralString = """
    SELECT table_name FROM information_schema.tables WHERE table_schema = %(schema)s AND table_type = 'BASE TABLE'"""
_ROWS: LiteralString = """
    SELECT (to_jsonb(t) - '{{at,updated_at,created_at,staged_at,lease_until,last_sync_at}}'::text[])::text
      FROM {} t ORDER BY 1"""


def twice(store: Store, call: Callable[[], Result]) -> Result:
    """What the call gives, after seeing that a second one gives the same and changes nothing."""
    first = call()
    before = contents(store)
    assert call() == first
    assert contents(store) == before
    return first


def test_every_activity_may_run_twice(hand: ByHand, store: Store, shelf: Shelf) -> None:
    begun = twice(store, hand.begin)
    run = begun.in_pass
    listed = twice(store, lambda: hand.list_page(run))
    assert twice(store, lambda: hand.prepare(run, listed.page_id)).batches == 1
    assert twice(store, lambda: hand.embed(run, listed.page_id)).embedded == 3
    assert twice(store, lambda: hand.publish(run, listed.page_id)).upserted == 3
    assert twice(store, lambda: hand.advance(run, listed.page_id)).version == 1
    twice(store, lambda: hand.end(run))
    assert len(visible(store)) == 3


def test_a_pass_that_goes_on_where_it_was_paused_may_begin_twice(hand: ByHand, store: Store) -> None:
    run = hand.begin().in_pass
    listed = hand.stage(run, 1, page_size=2)
    hand.publish(run, listed.page_id)
    hand.advance(run, listed.page_id)
    twice(store, lambda: hand.end(run, paused=True))
    begun = twice(store, lambda: hand.begin(run="run-2"))
    assert (begun.in_pass.pass_no, begun.next_seq) == (run.pass_no, 2)


def test_a_page_of_deletions_and_failures_may_be_published_twice(hand: ByHand, store: Store, shelf: Shelf) -> None:
    hand.sync()
    (shelf.root / "0.txt").unlink()
    shelf.write("1.txt", "# cannot be read")
    run = hand.begin(run="run-2").in_pass
    listed = hand.stage(run)
    published = twice(store, lambda: hand.publish(run, listed.page_id))
    assert (published.deleted, published.failed) == (1, 1)


def test_two_attempts_that_read_the_same_page_stage_it_once(hand: ByHand, store: Store) -> None:
    """As when a worker is taken for dead and is not: the next attempt overtakes it while it reads."""
    run = hand.begin().in_pass
    listed = hand.list_page(run)
    overtaken: list[int] = []

    def overtake(_: str) -> None:
        if not overtaken:
            overtaken.append(1)
            hand.prepare(run, listed.page_id)

    slow = ByHand(store, parser=InlineParser(overtake))
    assert slow.prepare(run, listed.page_id).batches == 1
    hand.embed(run, listed.page_id)
    assert hand.publish(run, listed.page_id).upserted == 3
    assert len(visible(store)) == 3
    with store.connection() as connection:
        assert connection.execute("SELECT count(*) FROM headwater.revision").fetchone() == (3,)


def test_two_attempts_that_embed_the_same_batch_count_it_once(hand: ByHand, store: Store) -> None:
    run = hand.begin().in_pass
    listed = hand.list_page(run)
    hand.prepare(run, listed.page_id)
    slow = ByHand(store, resolve=lambda spec: HeardEmbedder(spec, lambda _: hand.embed(run, listed.page_id)))
    kind, _ = refusal(lambda: slow.embed(run, listed.page_id))
    assert kind == "TransientError"
    assert slow.embed(run, listed.page_id) == EmbeddedBatch(embedded=3, reused=0)
    assert hand.publish(run, listed.page_id).upserted == 3
