"""Moves beside those who read, and beside those who bring new texts meanwhile."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from activities.contracts.repoint import MovedPage
from activities.store import Store
from activities.store.pages.publish import publish_page
from activities.store.sources.tombstones import propagate
from headwater.contracts import Grants
from headwater.errors import AccessError
from headwater.retriever import Retriever
from tests.integration.asked import delete_sources, new_request, who
from tests.integration.moving import ALICES, SERVICE, SERVICES, hosts, many_rows, move, parents_of
from tests.integration.seen import of_schema, outcomes, seen, source_row, table
from tests.integration.staging_factory import Corpus, Document, push, stage
from tests.integration.test_repoint_pages import reached
from tests.integration.waiting import is_blocked, until

BOTH = Grants(principal_ids=("alice", "bob"), access_version=1)


def test_readers_see_all_of_a_move_or_nothing_of_it(store: Store, corpus: Corpus, database: str) -> None:
    for number in range(4):
        hosts(store, corpus, Document(f"a/{number}", ["one text", "two text", "three text"], grants=BOTH))
    many_rows(store, corpus, [f"b/{number}" for number in range(4)])
    whole = {side: Counter({f"{side}/{number}": 3 for number in range(4)}) for side in "ab"}
    read: dict[str, list[Counter[str]]] = {"alice": [], "bob": []}
    over = threading.Event()

    def reads(principal: str) -> None:
        with Retriever.connect(database, embedder="hash:8") as retriever:
            while not over.is_set():
                answer = retriever.retrieve("text", scope=corpus.scope, authorization=who(principal), top_k=32)
                read[principal].append(Counter(hit.source_id for hit in answer.hits))

    def all_have_seen_moves() -> bool:
        """After another there and back."""
        move(store, corpus, "a/", "b/", is_prefix=True)
        move(store, corpus, "b/", "a/", is_prefix=True)
        met = whole["b"] in read["alice"] and Counter() in read["bob"]
        return met and all(len(seen_by) > 12 for seen_by in read.values())

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(reads, principal) for principal in read]
        try:
            until(all_have_seen_moves)
        finally:
            over.set()
        for reader in readers:
            reader.result()
    assert all(answer in (whole["a"], whole["b"]) for answer in read["alice"])
    assert all(answer in (whole["a"], Counter()) for answer in read["bob"])


def test_a_text_that_was_read_before_its_source_moved_is_not_published(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["old"]))
    pages = {name: stage(store, corpus, Document(name, [f"new {name}"]), is_hosts=True) for name in "ab"}
    move(store, corpus, "a", "b")
    for page_id in pages.values():
        publish_page(store, page_id)
        assert outcomes(store, page_id) == ["moved"]
    assert seen(store, corpus) == {"b": ["old"]}
    (again,) = push(store, corpus, Document("a", ["new a"]))
    assert again.outcome == "published" and seen(store, corpus) == {"a": ["new a"], "b": ["old"]}


def test_readings_are_counted_on_under_both_ids(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, *(Document("a", [f"text {number}"]) for number in range(5)))
    hosts(store, corpus, Document("c", seq=8), Document("d"))
    delete_sources(store, corpus.build.scope_id, ["c"])
    move(store, corpus, "a", "b")
    move(store, corpus, "d", "c")
    assert source_row(store, "a")["read_seq"] == source_row(store, "b")["read_seq"] == 5
    assert source_row(store, "c")["read_seq"] == source_row(store, "d")["read_seq"] == 8
    # What was accepted for `a` as its fifth reading, and is read only now, keeps no later one out.
    late, later = Document("a", ["late"], seq=5), Document("a", ["later"], seq=6)
    assert [push(store, corpus, each)[0].outcome for each in (late, later)] == ["published", "published"]


def test_what_is_derived_names_the_new_id_wherever_it_was_when_its_source_moved(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", grants=ALICES), Document("published", lineage=["a"]))
    staged = stage(store, corpus, Document("staged", lineage=["a#0001"]), is_hosts=True)
    move(store, corpus, "a", "b")
    move(store, corpus, "b", "c")
    publish_page(store, staged)
    hosts(
        store, corpus, Document("late", lineage=["other", "a#0001"])
    )  # made from what was at `a`, and sent after that
    assert parents_of(store, "published") == ["c"] and parents_of(store, "staged") == ["c#0001"]
    assert set(parents_of(store, "late")) == {"other", "a#0001", "b#0001", "c#0001"}
    assert reached(store, corpus, "c") == {"published", "staged", "late"} and reached(store, corpus, "a") == {"late"}


def test_what_names_an_id_that_was_left_long_ago_inherits_what_became_of_the_last(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a0"))
    for number in range(9):
        move(store, corpus, f"a{number}", f"a{number + 1}")
    forget = new_request(store, corpus)
    propagate(
        store, corpus.scope, "a9", authorization=SERVICE, reason="forgotten", request_no=forget, actor=None,
        service_principals=SERVICES,
    )  # fmt: skip
    hosts(store, corpus, Document("late", lineage=["a0"]))
    assert parents_of(store, "late") == ["a0", *(f"a{number}" for number in range(1, 10))]
    assert {row["id"] for row in table(store, "tombstone")} == {"a9", "late"}


def test_moves_that_lead_back_are_followed_once(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a"))
    for pair in ("ab", "bc", "ca", "ad"):
        move(store, corpus, *pair)
    hosts(store, corpus, Document("late", lineage=["b#0001"]))
    assert set(parents_of(store, "late")) == {f"{each}#0001" for each in "abcd"}


def test_what_is_derived_from_a_new_text_under_an_old_id_names_that(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["old"]))
    move(store, corpus, "a", "b")
    hosts(store, corpus, Document("a", ["new"]), Document("summary", lineage=["a"]))
    assert parents_of(store, "summary") == ["a"] and reached(store, corpus, "b") == set()
    move(store, corpus, "b", "d")
    hosts(store, corpus, Document("other", lineage=["a", "d"]))
    assert parents_of(store, "other") == ["a", "d"]


def test_a_move_waits_for_a_text_that_is_being_staged(store: Store, corpus: Corpus, database: str) -> None:
    hosts(store, corpus, Document("a"))
    with closing(psycopg.connect(database)) as staging, ThreadPoolExecutor(1) as pool:
        share = of_schema(store, "SELECT FROM {schema}.source WHERE source_id = 'a' FOR KEY SHARE")
        staging.execute(share, {})  # as the foreign key of a new revision does
        moving = pool.submit(move, store, corpus, "a", "b")
        until(lambda: is_blocked(database))
        staging.rollback()
        assert moving.result().moved_sources == 1


def test_a_new_id_that_is_pushed_to_while_a_move_to_it_waits_is_moved_to(
    store: Store, corpus: Corpus, database: str
) -> None:
    hosts(store, corpus, Document("a", ["text"]))
    with closing(psycopg.connect(database)) as staging, ThreadPoolExecutor(1) as pool:
        staging.execute(of_schema(store, "SELECT FROM {schema}.source WHERE source_id = 'a' FOR KEY SHARE"), {})
        moving = pool.submit(move, store, corpus, "a", "b")
        until(lambda: is_blocked(database))  # the move has looked at both ends
        accepted = stage(store, corpus, Document("b", ["pushed"]), is_hosts=True)
        staging.rollback()
        assert moving.result() == MovedPage(moved_sources=1, moved_chunks=1)
    publish_page(store, accepted)
    assert outcomes(store, accepted) == ["moved"] and seen(store, corpus) == {"b": ["text"]}


def test_a_grant_that_is_taken_away_while_a_move_waits_no_longer_counts(
    store: Store, corpus: Corpus, database: str
) -> None:
    hosts(store, corpus, Document("a", grants=ALICES))
    many_rows(store, corpus, ["b"])
    with closing(psycopg.connect(database)) as revoking, ThreadPoolExecutor(1) as pool:
        revoking.execute(of_schema(store, "SELECT FROM {schema}.scope FOR NO KEY UPDATE"), {})
        moving = pool.submit(move, store, corpus, "a", "b", authorization=who("alice"))
        until(lambda: is_blocked(database))
        revoke = "UPDATE {schema}.source SET grants = ARRAY[]::int[] WHERE source_id = 'b'"
        revoking.execute(of_schema(store, revoke), {})
        revoking.commit()
        with pytest.raises(AccessError, match="no grant for b"):
            moving.result()
    assert set(seen(store, corpus)) == {"a"}
