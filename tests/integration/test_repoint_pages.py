"""Moves that take several pages: of the edges that name one source, and of all sources below a prefix."""

import pytest

from activities.contracts.repoint import MovedPage
from activities.store import Store
from activities.store.sources.pair import MoveRefused
from activities.store.sources.tombstones import closure, propagate
from headwater.errors import AccessError
from tests.integration.asked import grant, new_request, who
from tests.integration.moving import (
    ALICE,
    SERVICE,
    SERVICES,
    audits,
    hosts,
    many_edges,
    many_rows,
    many_sources,
    move,
    move_all,
    parents_of,
)
from tests.integration.seen import seen, table
from tests.integration.staging_factory import Corpus, Document
from tests.integration.test_repoint import everything, tombstone


def reached(store: Store, corpus: Corpus, root: str) -> set[str]:
    """What a propagation of `root` would hide besides it."""
    with store.connection() as connection, connection.transaction():
        return set(closure(connection, store.schema, corpus.build.scope_id, root)) - {root}


def ids_of(store: Store) -> set[str]:
    return {str(row["source_id"]) for row in table(store, "source")}


def test_4097_edges_take_two_pages_and_the_text_moves_with_the_first(store: Store, corpus: Corpus) -> None:
    derived = [f"derived/{number:04d}" for number in range(4_097)]
    hosts(store, corpus, Document("doc:a", ["one", "two"]))
    many_sources(store, corpus, derived)
    many_edges(store, corpus, derived, ["doc:a"])
    first = move(store, corpus, "doc:a", "doc:b")
    assert (first.moved_sources, first.moved_chunks, first.rewritten_edges) == (1, 2, 4_096)
    assert first.after is not None and first.after.startswith("derived/4095#")
    assert seen(store, corpus) == {"doc:b": ["one", "two"]} and not audits(store)
    second = move(store, corpus, "doc:a", "doc:b", after=first.after)
    assert second == MovedPage(rewritten_edges=1)
    edges = [(row["version_id"], row["parent_id"]) for row in table(store, "lineage")]
    assert len(set(edges)) == 4_097 and {parent for _, parent in edges} == {"doc:b"}
    (told,) = audits(store)
    assert (told["moved_chunks"], told["rewritten_edges"]) == (2, 4_097)
    assert [row["is_done"] for row in table(store, "forward")] == [True]


def test_pages_follow_the_bytes_of_the_ids_and_not_a_language(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, *(Document(each, lineage=["a", "a#0001"]) for each in ("ab", "a~", "B", "a-b", "Z")))
    places: list[str | None] = []
    after = None
    while after is not None or not places:
        page = move(store, corpus, "a", "b", page_size=1, after=after)
        after = page.after
        places.append(after)
    assert [each.split("#")[0] for each in places if each] == ["B", "B", "Z", "Z", "a-b", "a-b", "ab", "ab", "a~"]
    assert all(parents_of(store, each) == ["b", "b#0001"] for each in ("ab", "a~", "B", "a-b", "Z"))


def test_a_cursor_that_somebody_else_has_overtaken_does_nothing(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a"), *(Document(each, lineage=["a"]) for each in ("x", "y", "z")))
    first = move(store, corpus, "a", "b", page_size=2)
    assert first.rewritten_edges == 2
    assert move(store, corpus, "a", "b") == MovedPage(rewritten_edges=1)  # asked for anew, it goes on as well
    before = everything(store)
    request_no = 1  # which is there: to open one would be a change
    assert move(store, corpus, "a", "b", after=first.after, request_no=request_no, step="again") == MovedPage()
    assert everything(store) == before


def test_a_cursor_of_a_move_that_never_began_does_nothing(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a"), Document("x", lineage=["a"]))
    assert move(store, corpus, "a", "b", after="x#1#1") == MovedPage()
    assert set(seen(store, corpus)) == {"a", "x"} and parents_of(store, "x") == ["a"]


def test_an_altered_cursor_moves_what_is_left_and_nothing_else(store: Store, corpus: Corpus) -> None:
    altered = ["", "~", "zzz#99999999999999999999#99999", "ä#x#-1", "x#1#1", "#", "y"]
    origins = [f"a{number}" for number in range(len(altered))]
    derived = ("x", "y", "z")
    many_sources(store, corpus, [*origins, "other", *derived])
    many_edges(store, corpus, derived, [*origins, "other"])
    for origin, after in zip(origins, altered, strict=True):
        move(store, corpus, origin, f"b{origin}", page_size=1)
        assert move(store, corpus, origin, f"b{origin}", after=after) == MovedPage(rewritten_edges=2)
    renamed = [f"b{origin}" for origin in origins]
    assert all(parents_of(store, each) == [*renamed, "other"] for each in derived)
    assert ids_of(store) == {*origins, *renamed, "other", *derived}


def test_an_edge_before_the_cursor_is_not_forgotten(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a"), *(Document(each, lineage=["a"]) for each in ("x", "y", "z")))
    first = move(store, corpus, "a", "b", page_size=2)
    move(store, corpus, "z", "m")  # the only one that is left is before the cursor now
    assert move(store, corpus, "a", "b", page_size=2, after=first.after) == MovedPage(rewritten_edges=1)
    assert parents_of(store, "m") == ["b"]


def test_between_pages_both_ids_reach_what_rests_on_either(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a"), *(Document(each, lineage=["a#0001"]) for each in ("x", "y", "z")))
    assert reached(store, corpus, "a") == {"x", "y", "z"}
    first = move(store, corpus, "a", "b", page_size=2)
    assert reached(store, corpus, "a") == reached(store, corpus, "b") == {"x", "y", "z"}
    move(store, corpus, "a", "b", after=first.after)
    assert reached(store, corpus, "a") == set() and reached(store, corpus, "b") == {"x", "y", "z"}


def test_a_propagation_between_pages_hides_all_and_the_move_can_still_end(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"]), *(Document(each, lineage=["a"]) for each in ("x", "y", "z")))
    first = move(store, corpus, "a", "b", page_size=1)
    propagate(
        store, corpus.scope, "b", authorization=SERVICE, reason="forgotten", request_no=new_request(store, corpus),
        actor=None, service_principals=SERVICES,
    )  # fmt: skip
    assert {row["id"] for row in table(store, "tombstone")} == {"b", "x", "y", "z"}
    assert move(store, corpus, "a", "b", after=first.after) == MovedPage(rewritten_edges=2)


def test_every_page_asks_for_both_grants_again(store: Store, corpus: Corpus) -> None:
    many_sources(store, corpus, ["a", "x", "y"])
    many_edges(store, corpus, ["x", "y"], ["a"])
    many_rows(store, corpus, ["b"])
    first = move(store, corpus, "a", "b", page_size=1, authorization=ALICE)
    grant(store, corpus, "a", 2, principal_ids=("bob",))
    with pytest.raises(AccessError, match="no grant for a "):
        move(store, corpus, "a", "b", after=first.after, authorization=ALICE)
    grant(store, corpus, "a", 3, principal_ids=("alice",))
    assert move(store, corpus, "a", "b", after=first.after, authorization=ALICE).rewritten_edges == 1


def test_an_id_whose_move_has_not_ended_takes_part_in_no_other(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a"), Document("c"), *(Document(each, lineage=["a"]) for each in ("x", "y")))
    move(store, corpus, "a", "b", page_size=1)
    for pair in (("b", "d"), ("b", "a"), ("c", "a"), ("a", "d")):
        with pytest.raises(MoveRefused, match=r"while the move of a to b has not ended: ask for that one again"):
            move(store, corpus, *pair)
    assert move(store, corpus, "a", "b").rewritten_edges == 1
    assert move(store, corpus, "b", "d").moved_sources == 1 and parents_of(store, "x") == ["d"]


def test_a_text_that_came_under_the_old_id_meanwhile_stays(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["old"]), *(Document(each, lineage=["a"]) for each in ("x", "y")))
    first = move(store, corpus, "a", "b", page_size=1)
    hosts(store, corpus, Document("a", ["new"]))
    assert move(store, corpus, "a", "b", after=first.after) == MovedPage(rewritten_edges=1)
    assert seen(store, corpus)["a"] == ["new"] and seen(store, corpus)["b"] == ["old"]


@pytest.mark.long
def test_a_prefix_of_10000_sources_takes_three_pages(store: Store, corpus: Corpus) -> None:
    names = [f"{number:05d}" for number in range(10_000)]
    many_sources(store, corpus, [f"old/{each}" for each in names] + ["old", "old0", "older/1", "new/"])
    many_rows(store, corpus, [f"new/{each}" for each in names])
    pages = move_all(store, corpus, "old/", "new/", is_prefix=True, authorization=ALICE)
    assert [(page.moved_sources, page.moved_chunks, page.after) for page in pages] == [
        (4_096, 4_096, "old/04095"),
        (4_096, 4_096, "old/08191"),
        (1_808, 1_808, None),
    ]
    shown = {row["source_pk"] for row in table(store, "span")}
    held = {row["source_id"] for row in table(store, "source") if row["source_pk"] in shown}
    assert held == {f"new/{each}" for each in names} | {"old", "old0", "older/1", "new/"}
    assert len(audits(store)) == 10_000 and len(ids_of(store)) == 20_004
    assert move_all(store, corpus, "old/", "new/", is_prefix=True) == [MovedPage()]


def test_a_page_of_a_prefix_with_a_collision_moves_nothing_and_those_before_stay_moved(
    store: Store, corpus: Corpus
) -> None:
    hosts(store, corpus, *(Document(f"a/{number}", [f"text {number}"]) for number in (1, 2, 3)))
    hosts(store, corpus, Document("b/3", ["theirs"]))
    first = move(store, corpus, "a/", "b/", is_prefix=True, page_size=2)
    assert (first.moved_sources, first.after) == (2, "a/2")
    before = everything(store)
    with pytest.raises(MoveRefused, match=r"^a/3 cannot be moved to b/3, which has a text of its own"):
        move(store, corpus, "a/", "b/", is_prefix=True, page_size=2, after=first.after)
    assert everything(store) == before
    assert seen(store, corpus) == {"a/3": ["text 3"], "b/1": ["text 1"], "b/2": ["text 2"], "b/3": ["theirs"]}


def test_a_prefix_may_pass_over_what_cannot_be_moved(store: Store, corpus: Corpus) -> None:
    many_sources(store, corpus, [f"a/{number}" for number in range(6)] + ["b/3"])
    many_rows(store, corpus, [f"b/{number}" for number in (0, 1, 2, 5)])
    tombstone(store, corpus, "a/1", "revoked")
    grant(store, corpus, "a/5", 2, principal_ids=("bob",))
    pages = move_all(store, corpus, "a/", "b/", is_prefix=True, page_size=2, passes_over=True, authorization=ALICE)
    assert [(page.moved_sources, page.failed) for page in pages] == [(1, 1), (1, 1), (0, 2)]
    failures = {each.from_id: (each.to_id, each.code) for page in pages for each in page.failures}
    assert failures == {
        "a/1": ("b/1", "ERR_HEADWATER_PERMANENT"),
        "a/3": ("b/3", "ERR_HEADWATER_PERMANENT"),
        "a/4": ("b/4", "ERR_HEADWATER_ACCESS"),
        "a/5": ("b/5", "ERR_HEADWATER_ACCESS"),
    }
    with pytest.raises(AccessError, match="no grant for a/5"):
        move(store, corpus, "a/", "b/", is_prefix=True, after="a/4", authorization=ALICE)
    several = move_all(store, corpus, "a/", "b/", is_prefix=True, page_size=2, passes_over=True)
    assert sum(page.moved_sources for page in several) == 2 and sum(page.failed for page in several) == 2


def test_of_many_that_are_passed_over_a_hundred_are_listed(store: Store, corpus: Corpus) -> None:
    many_sources(store, corpus, [f"{side}/{number:03d}" for side in "ab" for number in range(101)])
    page = move(store, corpus, "a/", "b/", is_prefix=True, passes_over=True)
    assert (len(page.failures), page.failed, page.moved_sources) == (100, 101, 0)
    assert len(audits(store, "repoint_failed")) == 101


def test_a_page_of_a_prefix_holds_sources_and_their_edges(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, *(Document(f"a/{number}") for number in (1, 2, 3, 4)))
    hosts(store, corpus, *(Document(each, lineage=["a/2", "a/3", "a/3#0001"]) for each in ("x", "y", "z")))
    pages = move_all(store, corpus, "a/", "b/", is_prefix=True, page_size=4)
    told = [(page.moved_sources, page.rewritten_edges, page.after) for page in pages]
    # One alone, as the next has three edges; that one; the next with four of its six edges; the others, and the last one.
    assert told == [(1, 0, "a/1"), (1, 3, "a/2"), (1, 4, "a/2"), (1, 2, None)]
    assert all(parents_of(store, each) == ["b/2", "b/3", "b/3#0001"] for each in ("x", "y", "z"))
    assert sorted((each["from"], each["rewritten_edges"]) for each in audits(store)) == [
        ("a/1", 0), ("a/2", 3), ("a/3", 6), ("a/4", 0),
    ]  # fmt: skip


def test_the_last_source_of_a_prefix_may_have_more_edges_than_a_page(store: Store, corpus: Corpus) -> None:
    many_sources(store, corpus, ["a/1", "x", "y", "z"])
    many_edges(store, corpus, ["x", "y", "z"], ["a/1"])
    pages = move_all(store, corpus, "a/", "b/", is_prefix=True, page_size=2)
    assert [(page.moved_sources, page.rewritten_edges, page.after) for page in pages] == [(1, 2, ""), (0, 1, None)]
    assert [row["is_done"] for row in table(store, "forward")] == [True]


def test_a_prefix_ends_on_its_way_what_was_left_half_done(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, *(Document(f"a/{number}") for number in (1, 2, 3)))
    hosts(store, corpus, *(Document(each, lineage=["a/2"]) for each in ("x", "y", "z")))
    move(store, corpus, "a/2", "b/2", page_size=1)
    pages = move_all(store, corpus, "a/", "b/", is_prefix=True, page_size=2)
    assert [(page.moved_sources, page.rewritten_edges) for page in pages] == [(1, 0), (0, 2), (1, 0)]
    assert ids_of(store) == {f"{side}/{number}" for side in "ab" for number in (1, 2, 3)} | set("xyz")


def test_an_id_that_would_grow_too_long_is_refused(store: Store, corpus: Corpus) -> None:
    many_sources(store, corpus, ["a/" + "x" * 250, "a/short"])
    with pytest.raises(MoveRefused, match="would get an id of 257 characters, and 256 are the most"):
        move(store, corpus, "a/", "longer/", is_prefix=True)


def test_a_prefix_that_nothing_begins_with_moves_nothing(store: Store, corpus: Corpus) -> None:
    many_rows(store, corpus, ["a/1", "ab"])
    assert move(store, corpus, "a/", "b/", is_prefix=True, authorization=who("alice")) == MovedPage()
    assert not table(store, "forward") and not audits(store)
