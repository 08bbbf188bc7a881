"""Readers who are held where they are, while publishing goes on without forking and deletions act at once."""

import pytest

from activities.store import Store
from activities.store.generations import pin
from activities.store.pages.listing import known_sources
from activities.store.pages.publish import publish_page
from tests.integration.asked import delete_sources
from tests.integration.seen import outcomes, overlaps, seen, table
from tests.integration.staging_factory import Corpus, Document, deleted, publish, roll_back, stage, unchanged


@pytest.fixture
def three(store: Store, corpus: Corpus) -> Corpus:
    """Generation 1 has a and b, 2 replaces a, 3 adds c."""
    publish(store, corpus, Document("a", ["a1"]), Document("b", ["b1"]))
    publish(store, corpus, Document("a", ["a2"]))
    publish(store, corpus, Document("c", ["c3"]))
    return corpus


def test_publishing_while_readers_are_pinned_goes_on_without_them(store: Store, three: Corpus) -> None:
    pin(store, three.scope, pinned=True)
    assert publish(store, three, Document("a", ["a4"]), Document("d", ["d4"])).generation == 4
    assert publish(store, three, Document("a", ["a5"])).generation == 5
    assert seen(store, three) == {"a": ["a2"], "b": ["b1"], "c": ["c3"]}
    pin(store, three.scope, pinned=False)
    assert seen(store, three) == {"a": ["a5"], "b": ["b1"], "c": ["c3"], "d": ["d4"]}
    assert "fork" not in {row["kind"] for row in table(store, "pointer_log")}
    assert overlaps(store) == 0


def test_readers_pinned_in_the_past_stay_there_and_nothing_forks(store: Store, three: Corpus) -> None:
    pin(store, three.scope, pinned=True)
    roll_back(store, three, 1)
    publish(store, three, Document("a", ["a4"]))
    assert seen(store, three) == {"a": ["a1"], "b": ["b1"]}
    assert "fork" not in {row["kind"] for row in table(store, "pointer_log")}
    pin(store, three.scope, pinned=False)
    assert seen(store, three) == {"a": ["a4"], "b": ["b1"], "c": ["c3"]}


def test_what_the_build_shows_is_compared_while_readers_are_pinned(store: Store, three: Corpus) -> None:
    pin(store, three.scope, pinned=True)
    roll_back(store, three, 1)
    page = stage(store, three, unchanged("c"), Document("a", ["older"], seq=1))
    publish_page(store, page, fence=three.fence)
    assert outcomes(store, page) == ["unchanged", "stale"]
    assert publish(store, three, Document("a", ["a4"], seq=9)).upserted == 1
    ours = [row for row in table(store, "document_version") if row["revision"] == 3]
    assert [row["text"] for row in ours] == ["a4"]


def test_a_listing_compares_with_the_builds_head_while_readers_are_pinned(store: Store, three: Corpus) -> None:
    def shown(source_id: str) -> bool:
        key = {"connector_id": three.connector.connector_id, "scope_id": three.build.scope_id}
        return known_sources(store, **key, source_ids=[source_id])[source_id].content_hash is not None

    roll_back(store, three, 1)
    assert (shown("b"), shown("c")) == (True, False)
    pin(store, three.scope, pinned=True)
    assert (shown("b"), shown("c")) == (True, True)
    publish(store, three, Document("d", ["d"]))
    assert shown("d")


@pytest.mark.parametrize("place", [3, 1])
def test_a_deletion_acts_at_once_on_readers_who_are_pinned(store: Store, three: Corpus, place: int) -> None:
    roll_back(store, three, place)
    pin(store, three.scope, pinned=True)
    delete_sources(store, three.build.scope_id, ["b"])
    assert publish(store, three, deleted("a")).deleted == 1
    assert seen(store, three) == ({"c": ["c3"]} if place == 3 else {})
    assert [row["live_gen"] for row in table(store, "scope")] == [place]
    publish(store, three, Document("b", ["again"]))
    assert "b" not in seen(store, three)
    pin(store, three.scope, pinned=False)
    assert seen(store, three) == {"b": ["again"], "c": ["c3"]}
