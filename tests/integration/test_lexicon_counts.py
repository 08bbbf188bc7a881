"""In how many passages each term stands: level with what is shown, however often, by how many and whenever it is counted."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import psycopg
import pytest

from activities.store import Store
from activities.store.builds import builds, green, slabs
from activities.store.garbage.garbage import Keep, collect
from activities.store.lexicon import counting
from activities.store.lexicon.counting import fold
from headwater.lexical import term_id
from tests.integration.asked import delete_sources
from tests.integration.builds_by_hand import flip, start_build
from tests.integration.counts import fold_all, miscounted, unlevel
from tests.integration.seen import table
from tests.integration.staging_factory import Corpus, Document, publish, roll_back


def df(store: Store, corpus: Corpus, term: str) -> int:
    rows = [row["df"] for row in table(store, "term_df") if row["build_id"] == corpus.build.build_id]
    found = [row["df"] for row in table(store, "term_df") if row["term"] == term_id(term)]
    assert len(found) <= 1 <= max(len(rows), 1)
    return found[0] if found else 0


def n_counted(store: Store, build_id: int) -> int:
    return next(int(row["n_counted"]) for row in table(store, "build") if row["build_id"] == build_id)


def test_each_passage_counts_once_for_each_of_its_terms(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["cat cat dog", "cat"]), Document("b", ["dog"]), Document("c", []))
    assert (df(store, corpus, "cat"), n_counted(store, corpus.build.build_id)) == (0, 0)
    assert fold_all(store, corpus.build.build_id) == 3
    assert (df(store, corpus, "cat"), df(store, corpus, "dog")) == (2, 2)
    assert n_counted(store, corpus.build.build_id) == 3
    assert fold_all(store, corpus.build.build_id) == 0


def test_what_is_replaced_and_deleted_is_taken_out_again(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["cat", "dog"]), Document("b", ["dog"]))
    fold_all(store, corpus.build.build_id)
    publish(store, corpus, Document("a", ["bird"]))
    assert fold_all(store, corpus.build.build_id) == -1
    delete_sources(store, corpus.build.scope_id, ["b"])
    assert fold_all(store, corpus.build.build_id) == -1
    assert (df(store, corpus, "cat"), df(store, corpus, "dog"), df(store, corpus, "bird")) == (0, 0, 1)
    assert [row["df"] for row in table(store, "term_df") if row["term"] > 0] == [1]  # of what is gone no trace is left
    assert [row["df"] for row in table(store, "term_df") if row["term"] < 0] == [1]  # the tier of the same
    assert unlevel(store, corpus.build.build_id) == miscounted(store) == []


def test_what_was_published_and_replaced_between_two_counts_was_never_counted(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["cat"]))
    publish(store, corpus, Document("a", ["dog"]))
    assert fold_all(store, corpus.build.build_id) == 1
    assert (df(store, corpus, "cat"), df(store, corpus, "dog")) == (0, 1)


def test_the_counts_are_of_the_head_wherever_the_pointer_is(store: Store, corpus: Corpus) -> None:
    first = publish(store, corpus, Document("a", ["cat"]))
    publish(store, corpus, Document("a", ["dog"]))
    fold_all(store, corpus.build.build_id)
    roll_back(store, corpus, first.generation)
    assert fold_all(store, corpus.build.build_id) == 0
    publish(store, corpus, Document("b", ["bird"]))  # what was shown becomes the newest state
    fold_all(store, corpus.build.build_id)
    assert (df(store, corpus, "cat"), df(store, corpus, "dog"), df(store, corpus, "bird")) == (1, 0, 1)
    assert unlevel(store, corpus.build.build_id) == miscounted(store) == []


def test_counting_that_breaks_off_is_gone_on_with(
    store: Store, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "PAGE", 2)
    publish(store, corpus, *[Document(name, ["cat", "dog"]) for name in "abcdefg"])
    assert list(islice(fold(store, corpus.build.build_id), 2)) == [4, 4]
    assert miscounted(store) == []
    publish(store, corpus, Document("a", ["bird"]), Document("h", ["cat"]))
    fold_all(store, corpus.build.build_id)
    assert unlevel(store, corpus.build.build_id) == miscounted(store) == []
    assert n_counted(store, corpus.build.build_id) == 14


def test_a_giant_is_counted_by_itself(store: Store, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PAGE_CHUNKS", 3)
    publish(store, corpus, Document("a", ["cat"]), Document("b", ["cat"] * 5), Document("c", ["cat"] * 2))
    assert sorted(fold(store, corpus.build.build_id)) == [1, 2, 5]


def test_many_at_once_count_nothing_twice(store: Store, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PAGE", 3)
    for generation in range(4):
        publish(store, corpus, *[Document(f"{name}{generation % 2}", [f"cat {generation}"]) for name in "abcdefghij"])
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: fold_all(store, corpus.build.build_id), range(4)))
        assert miscounted(store) == []
    fold_all(store, corpus.build.build_id)
    assert unlevel(store, corpus.build.build_id) == miscounted(store) == []
    assert n_counted(store, corpus.build.build_id) == 20


def test_collecting_garbage_counts_first_and_leaves_no_trace(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["cat"]))
    fold_all(store, corpus.build.build_id)
    publish(store, corpus, Document("a", ["dog"]))
    for _ in collect(store, corpus.scope, Keep(generations=0, seconds=0)):
        pass
    assert len(table(store, "chunk")) == 1
    assert (df(store, corpus, "cat"), df(store, corpus, "dog")) == (0, 1)
    assert miscounted(store) == []


def test_passages_that_are_deleted_are_uncounted_whoever_deletes_them(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["cat"]), Document("b", ["cat"]))
    fold_all(store, corpus.build.build_id)
    publish(store, corpus, Document("a", ["dog"]))
    steps = collect(store, corpus.scope, Keep(generations=0, seconds=0), start="floor")  # as if nobody had counted
    for _ in steps:
        pass
    assert df(store, corpus, "cat") == 1 and miscounted(store) == []


def test_a_build_without_a_lexicon_is_not_counted(store: Store, corpus: Corpus) -> None:
    with store.connection() as connection:
        connection.execute("UPDATE headwater.build SET lexicon = NULL")
    publish(store, corpus, Document("a", ["cat"]))
    assert fold_all(store, corpus.build.build_id) == 0
    assert table(store, "counted") == table(store, "term_df") == []


def test_a_build_beside_the_live_one_is_counted_before_it_is_shown(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["cat"]), Document("b", ["cat"]))
    begun = builds.begin_build(store, corpus.scope, space=None, large_chunks=0)
    slabs.ensure_slab(store, begun.slab)
    listed = green.list_missing(store, begun.build_id, round_no=1, hold=False)
    for seq in range(listed.first_seq, listed.last_seq + 1):
        page = green.green_page(store, begun.build_id, seq)
        assert page is not None
        green.copy_page(store, page)
        green.publish_green(store, page.page_id, begun.build_id)
    assert fold_all(store, begun.build_id) == 2
    builds.flip_build(store, begun.build_id)
    assert fold_all(store, begun.build_id) == 0
    assert unlevel(store, begun.build_id) == miscounted(store) == []
    builds.retire_build(store, corpus.build.build_id, after_s=0)
    for _ in collect(store, corpus.scope, Keep(generations=0, seconds=0)):
        pass
    assert {row["build_id"] for row in table(store, "term_df")} == {begun.build_id}


def test_publishing_does_not_wait_for_counting(store: Store, corpus: Corpus, database: str) -> None:
    """Who counts holds no lock that publishing takes, up to the last statement."""
    publish(store, corpus, Document("a", ["cat"]))
    with psycopg.connect(database) as other:  # a page of counting that is under way
        sql = "SELECT pg_advisory_xact_lock(hashtextextended('headwater.lexicon headwater', %s))"
        other.execute(sql, (corpus.build.build_id,))
        other.execute("INSERT INTO headwater.counted SELECT build_id, rev_id, 0 FROM headwater.revision")
        publish(store, corpus, Document("a", ["dog"]), Document("b", ["bird"]))
        assert fold_all(store, corpus.build.build_id) == 0  # somebody is at it
        other.rollback()
    assert fold_all(store, corpus.build.build_id) == 2


def test_what_is_deleted_in_every_build_is_uncounted_in_the_one_that_is_shown_again(
    store: Store, corpus: Corpus
) -> None:
    first = publish(store, corpus, Document("a", ["cat"]), Document("b", ["dog"]))
    fold_all(store, corpus.build.build_id)
    flip(store, corpus, start_build(store, corpus))
    delete_sources(store, corpus.build.scope_id, ["a"])
    roll_back(store, corpus, first.generation)
    assert fold_all(store, corpus.build.build_id) == -1
    assert unlevel(store, corpus.build.build_id) == miscounted(store) == []


def test_what_is_shown_again_while_it_is_uncounted_is_counted_again(
    store: Store, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "PAGE", 1)
    first = publish(store, corpus, Document("a", ["cat"]), Document("b", ["cat"]))
    fold_all(store, corpus.build.build_id)
    publish(store, corpus, Document("a", ["dog"]), Document("b", ["dog"]))
    counts = fold(store, corpus.build.build_id)
    assert next(counts) == -1
    roll_back(store, corpus, first.generation)
    publish(store, corpus, Document("c", ["bird"]))  # what was shown becomes the newest state
    assert list(counts) == [-1, 1, 1, 1]
    fold_all(store, corpus.build.build_id)
    assert unlevel(store, corpus.build.build_id) == miscounted(store) == []
    assert df(store, corpus, "cat") == 2
