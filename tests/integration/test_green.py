"""A build beside the live one: what is carried over, what is not, and when readers are moved to it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from activities.store import Store
from activities.store.builds import builds, green, slabs
from activities.store.builds.builds import Begun, BuildConflict, Flipped
from activities.store.builds.green import Carried
from activities.store.generations import set_generation
from activities.store.pages.publish import PageConflict, PublishingHeld, publish_page
from activities.store.requests import InvalidInput
from activities.store.scopes import SpaceSpec
from headwater.models import Scope
from tests.integration.asked import delete_sources
from tests.integration.seen import overlaps, seen, table
from tests.integration.staging_factory import Corpus, Document, publish, stage
from tests.integration.waiting import is_blocked, until


def begin(store: Store, corpus: Corpus) -> Begun:
    """A build of the corpus's own space in a partition of its own, which is filled by copying."""
    begun = builds.begin_build(store, corpus.scope, space=None, large_chunks=0)
    slabs.ensure_slab(store, begun.slab)
    return begun


def fill(store: Store, build_id: int, *, round_no: int = 1, hold: bool = False) -> list[Carried]:
    """One round: all that the build lacks."""
    listed = green.list_missing(store, build_id, round_no=round_no, hold=hold)
    carried = []
    for seq in range(listed.first_seq, listed.last_seq + 1):
        page = green.green_page(store, build_id, seq)
        assert page is not None
        if page.state == "listed":
            green.copy_page(store, page)
        carried.append(green.publish_green(store, page.page_id, build_id))
    return carried


def bury(store: Store, corpus: Corpus, source_id: str, reason: str) -> None:
    with store.connection() as connection:
        connection.execute(
            "INSERT INTO headwater.tombstone (scope_id, id, reason, gen) VALUES (%s, %s, %s, 99)",
            (corpus.build.scope_id, source_id, reason),
        )


def spans(store: Store, build_id: int) -> set[int]:
    """The sources of which the build holds something."""
    return {row["source_pk"] for row in table(store, "span") if row["build_id"] == build_id}


def pks(store: Store, *source_ids: str) -> set[int]:
    return {row["source_pk"] for row in table(store, "source") if row["source_id"] in source_ids}


def test_a_level_build_is_flipped_to_and_takes_the_next_generation(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one", "two"]), Document("b", []))
    last = publish(store, corpus, Document("c", ["three"]))
    before, build = seen(store, corpus), begin(store, corpus)
    assert [carried.sources for carried in fill(store, build.build_id)] == [3]
    assert seen(store, corpus) == before
    assert table(store, "scope")[0]["head_gen"] == last.generation
    flipped = builds.flip_build(store, build.build_id)
    assert flipped == Flipped(generation=last.generation + 1, former=corpus.build.build_id)
    assert seen(store, corpus) == before
    assert builds.built_size(store, build.build_id) == (3, 3)
    assert builds.flip_build(store, build.build_id) == flipped
    assert [row["kind"] for row in table(store, "pointer_log")] == ["publish", "publish", "flip"]
    publish(store, corpus_of(corpus, build), Document("a", ["four"]))
    assert seen(store, corpus)["a"] == ["four"]
    assert overlaps(store) == 0


def corpus_of(corpus: Corpus, build: Begun) -> Corpus:
    """The corpus as it is written to after the flip."""
    return replace(corpus, build=replace(corpus.build, build_id=build.build_id, slab=build.slab))


def test_a_repeat_of_any_step_changes_nothing(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"), Document("b"))
    build = begin(store, corpus)
    assert begin(store, corpus).build_id == build.build_id
    listed = green.list_missing(store, build.build_id, round_no=1, hold=False)
    assert green.list_missing(store, build.build_id, round_no=1, hold=False) == listed
    page = green.green_page(store, build.build_id, listed.first_seq)
    assert page is not None
    green.copy_page(store, page)
    green.copy_page(store, page)
    done = green.publish_green(store, page.page_id, build.build_id)
    assert green.publish_green(store, page.page_id, build.build_id) == done == Carried(2, 2, 0)
    assert fill(store, build.build_id) == []
    assert len([row for row in table(store, "revision") if row["build_id"] == build.build_id]) == 2


def test_nothing_is_flipped_while_either_side_shows_more(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"]), Document("b"))
    build = begin(store, corpus)
    fill(store, build.build_id)
    publish(store, corpus, Document("a", ["new"]), Document("c"))
    assert builds.flip_build(store, build.build_id) == Flipped(
        generation=None, missing=3
    )  # a and c lack, the old a is extra
    fill(store, build.build_id, round_no=2)
    before = table(store, "scope")[0]["head_gen"]
    publish(store, corpus, Document("d"))
    fill(store, build.build_id, round_no=3)
    set_generation(store, corpus.scope, before)
    assert builds.flip_build(store, build.build_id) == Flipped(generation=None, missing=1)  # d is extra
    fill(store, build.build_id, round_no=4)
    assert builds.flip_build(store, build.build_id).generation is not None
    assert seen(store, corpus) == {"a": ["new"], "b": ["some text"], "c": ["some text"]}


def test_what_happens_while_the_flip_waits_for_the_lock_is_looked_at(
    store: Store, corpus: Corpus, database: str
) -> None:
    publish(store, corpus, Document("a"), Document("b"))
    build = begin(store, corpus)
    fill(store, build.build_id)
    with ThreadPoolExecutor(1) as pool:
        with store.connection() as connection, connection.transaction():
            connection.execute("SELECT FROM headwater.scope FOR NO KEY UPDATE")
            flipping = pool.submit(builds.flip_build, store, build.build_id)
            until(lambda: is_blocked(database))
            # As a fork would: the live build shows less, at a generation of its own.
            connection.execute(
                "UPDATE headwater.span SET gen_to = 2 WHERE rev_id = (SELECT min(rev_id) FROM headwater.span)"
            )
            connection.execute("UPDATE headwater.scope SET head_gen = 2, live_gen = 2")
        assert flipping.result(30) == Flipped(generation=None, missing=1)


@pytest.mark.parametrize("reason", ["corrected", "forgotten"])
def test_a_page_of_a_build_waits_for_no_partition_but_its_own(store: Store, corpus: Corpus, reason: str) -> None:
    publish(store, corpus, Document("a"))
    build = begin(store, corpus)
    listed = green.list_missing(store, build.build_id, round_no=1, hold=False)
    page = green.green_page(store, build.build_id, listed.first_seq)
    assert page is not None
    green.copy_page(store, page)
    bury(store, corpus, "a", reason)
    with ThreadPoolExecutor(1) as pool, store.connection() as connection, connection.transaction():
        connection.execute("LOCK TABLE headwater.chunk_s0")
        carried = pool.submit(green.publish_green, store, page.page_id, build.build_id).result(20)
    assert carried.sources == (reason == "corrected")


def test_a_deletion_meets_both_builds_at_once(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"), Document("b"))
    build = begin(store, corpus)
    fill(store, build.build_id)
    delete_sources(store, corpus.build.scope_id, ["a"])
    assert builds.flip_build(store, build.build_id).generation is not None
    assert seen(store, corpus) == {"b": ["some text"]}


def test_what_was_deleted_between_staging_and_publishing_is_not_carried_over(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"), Document("b"))
    build = begin(store, corpus)
    listed = green.list_missing(store, build.build_id, round_no=1, hold=False)
    page = green.green_page(store, build.build_id, listed.first_seq)
    assert page is not None
    green.copy_page(store, page)
    delete_sources(store, corpus.build.scope_id, ["a"])
    publish(store, corpus, Document("a", ["again"]))
    assert green.publish_green(store, page.page_id, build.build_id).sources == 1
    fill(store, build.build_id, round_no=2)
    assert builds.flip_build(store, build.build_id).generation is not None
    assert seen(store, corpus) == {"a": ["again"], "b": ["some text"]}


@pytest.mark.parametrize("before", [True, False], ids=["before it was carried", "after it was carried"])
def test_forgotten_and_revoked_sources_are_left_behind_and_held_ones_are_not(
    store: Store, corpus: Corpus, before: bool
) -> None:
    names = {"f": "forgotten", "r": "revoked", "h": "legal_hold", "c": "corrected"}
    publish(store, corpus, *(Document(name) for name in [*names, "x"]))
    build = begin(store, corpus)
    if not before:
        fill(store, build.build_id)
    for name, reason in names.items():
        bury(store, corpus, name, reason)
    fill(store, build.build_id, round_no=2)
    assert builds.flip_build(store, build.build_id).generation is not None
    assert spans(store, build.build_id) == pks(store, "h", "c", "x")


def test_what_was_forgotten_since_it_was_copied_leaves_no_passage_behind(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one", "two"]), Document("b"))
    build = begin(store, corpus)
    listed = green.list_missing(store, build.build_id, round_no=1, hold=False)
    page = green.green_page(store, build.build_id, listed.first_seq)
    assert page is not None
    green.copy_page(store, page)
    bury(store, corpus, "a", "forgotten")
    assert green.publish_green(store, page.page_id, build.build_id) == Carried(sources=1, chunks=1, failed=0)
    assert [row["body"] for row in table(store, "chunk") if row["slab"] == build.slab] == ["some text"]
    assert builds.flip_build(store, build.build_id).generation is not None


def test_a_build_follows_what_readers_see_after_a_rollback(store: Store, corpus: Corpus) -> None:
    first = publish(store, corpus, Document("a", ["old"]))
    publish(store, corpus, Document("a", ["new"]), Document("b"))
    build = begin(store, corpus)
    fill(store, build.build_id)
    set_generation(store, corpus.scope, first.generation)
    assert builds.flip_build(store, build.build_id).generation is None
    fill(store, build.build_id, round_no=2)
    assert builds.flip_build(store, build.build_id).generation is not None
    assert seen(store, corpus) == {"a": ["old"]}
    publish(store, corpus_of(corpus, build), Document("c"))
    assert [row["kind"] for row in table(store, "pointer_log")][-2:] == [
        "flip",
        "publish",
    ]  # there is nothing to fork from


def test_a_rollback_over_the_flip_shows_the_former_build(store: Store, corpus: Corpus) -> None:
    published = publish(store, corpus, Document("a"))
    build = begin(store, corpus)
    fill(store, build.build_id)
    flipped = builds.flip_build(store, build.build_id)
    publish(store, corpus_of(corpus, build), Document("a", ["new"]))
    set_generation(store, corpus.scope, published.generation)
    assert (table(store, "scope")[0]["live_build"], seen(store, corpus)) == (
        corpus.build.build_id,
        {"a": ["some text"]},
    )
    assert builds.retire_build(store, corpus.build.build_id, after_s=0) == 0
    assert {row["build_id"]: row["state"] for row in table(store, "build")} == {
        corpus.build.build_id: "live",
        build.build_id: "retired",
    }
    assert flipped.generation is not None
    set_generation(store, corpus.scope, flipped.generation + 1)
    assert seen(store, corpus) == {"a": ["new"]}


def test_a_corpus_without_documents_is_flipped_too(store: Store, corpus: Corpus) -> None:
    build = begin(store, corpus)
    assert fill(store, build.build_id) == []
    assert builds.flip_build(store, build.build_id).generation == 1


def test_publishing_waits_while_it_is_held_and_goes_on_with_the_new_build(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"))
    build = begin(store, corpus)
    page_id = stage(store, corpus, Document("b"))
    fill(store, build.build_id, hold=True)
    with pytest.raises(PublishingHeld):
        publish_page(store, page_id, fence=corpus.fence)
    builds.flip_build(store, build.build_id)
    assert publish_page(store, page_id, fence=corpus.fence).is_stale_build


def test_a_page_that_is_not_embedded_is_not_carried_over(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one", "two"]))
    build = begin(store, corpus)
    listed = green.list_missing(store, build.build_id, round_no=1, hold=False)
    page = green.green_page(store, build.build_id, listed.first_seq)
    assert page is not None
    green.copy_page(store, page)
    with store.connection() as connection:
        connection.execute("DELETE FROM headwater.chunk WHERE slab = %s AND chunk_no = 2", (build.slab,))
    with pytest.raises(PageConflict, match="1 of its 2 chunks"):
        green.publish_green(store, page.page_id, build.build_id)


def test_a_build_that_was_given_up_is_not_gone_on_with(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"))
    build = begin(store, corpus)
    assert builds.give_up_build(store, build.build_id, actor="somebody")
    assert not builds.give_up_build(store, build.build_id)
    for step in (lambda: fill(store, build.build_id), lambda: builds.flip_build(store, build.build_id)):
        with pytest.raises(BuildConflict, match="given up"):
            step()
    other = begin(store, corpus)
    assert other.build_id != build.build_id
    assert [row["action"] for row in table(store, "audit") if row["actor"] == "somebody"] == ["reindex.abort"]


def test_asking_for_another_space_gives_up_the_build_in_the_first(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"))
    space = SpaceSpec("hash:16", "other", 16, 512, "chars/1 size=1000 overlap=100 tokens=any")
    first = builds.begin_build(store, corpus.scope, space=space, large_chunks=100)
    assert begin(store, corpus).is_live  # moving it to another partition can wait
    second = builds.begin_build(store, corpus.scope, space=replace(space, dimensions=32), large_chunks=100)
    assert {row["build_id"]: row["state"] for row in table(store, "build")} == {
        corpus.build.build_id: "live",
        first.build_id: "dropping",
        second.build_id: "building",
    }


def test_a_corpus_that_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(InvalidInput, match="acme/library/nothing has no index yet"):
        builds.begin_build(store, Scope.parse("acme/library/nothing"), space=None, large_chunks=1)
