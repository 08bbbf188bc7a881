"""Partitions of chunk: made while everybody goes on, indexed at the end, whatever breaks in between."""

import pytest

from activities.store import Store, StoreUnavailable
from activities.store.builds import slabs
from tests.integration.staging_factory import Corpus, Document, publish
from tests.integration.test_green import begin, fill


def test_an_index_that_was_left_half_done_is_made_again(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one", "two"]))
    build = begin(store, corpus)
    fill(store, build.build_id)
    slabs.index_slab(store, build.slab, dimensions=8)
    with store.connection() as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass",
            (f"headwater.{slabs.index_name(build.slab)}",),
        )
    assert not slabs.is_indexed(store, build.slab)
    slabs.index_slab(store, build.slab, dimensions=8)
    slabs.index_slab(store, build.slab, dimensions=8)
    assert slabs.is_indexed(store, build.slab)


def test_an_index_that_takes_too_long_for_a_worker_that_stops_is_broken_off(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one", "two"]))
    build = begin(store, corpus)
    fill(store, build.build_id)
    with store.connection() as writer, writer.transaction(force_rollback=True):
        writer.execute("DELETE FROM headwater.chunk WHERE slab = %s", (build.slab,))  # which the index waits for
        with pytest.raises(StoreUnavailable):
            slabs.index_slab(store, build.slab, dimensions=8, is_stopped=lambda: True)
    assert not slabs.is_indexed(store, build.slab)
    slabs.index_slab(store, build.slab, dimensions=8)
    assert slabs.is_indexed(store, build.slab)


def test_one_attempt_at_a_time_indexes_a_partition(store: Store, corpus: Corpus) -> None:
    build = begin(store, corpus)
    with store.connection() as other:
        other.execute(
            "SELECT pg_advisory_lock(hashtextextended('headwater.slab ' || %s, %s))", (store.schema, build.slab)
        )
        with pytest.raises(StoreUnavailable, match="earlier attempt"):
            slabs.index_slab(store, build.slab, dimensions=8)
        other.execute(
            "SELECT pg_advisory_unlock(hashtextextended('headwater.slab ' || %s, %s))", (store.schema, build.slab)
        )


def test_a_partition_is_made_while_others_read_and_write(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one", "two"]))
    with store.connection() as other, other.transaction(force_rollback=True):
        other.execute("SELECT count(*) FROM headwater.chunk")
        other.execute("DELETE FROM headwater.chunk WHERE chunk_no = 2")
        build = begin(store, corpus)  # would wait for ever, if it needed what these two hold
    assert fill(store, build.build_id)
