"""The live pointer: rolling back, forking, and deletions that act wherever it stands."""

import pytest

from activities.store import Store
from activities.store.pages.publish import publish_page
from headwater.connectors import GrantSet
from headwater.errors import ValidationError
from tests.integration.asked import delete_sources
from tests.integration.builds_by_hand import start_build
from tests.integration.seen import overlaps, seen, source_row, statuses, table
from tests.integration.staging_factory import (
    Corpus,
    Document,
    deleted,
    failed,
    granted,
    make_corpus,
    publish,
    roll_back,
    stage,
    unchanged,
)


@pytest.fixture
def three(store: Store, corpus: Corpus) -> Corpus:
    """Generation 1 has a and b, 2 replaces a, 3 adds c."""
    publish(store, corpus, Document("a", ["a1"], grants=GrantSet(principal_ids=("alice",))), Document("b", ["b1"]))
    publish(store, corpus, Document("a", ["a2"]))
    publish(store, corpus, Document("c", ["c3"]))
    return corpus


def scope_id(corpus: Corpus) -> int:
    return corpus.build.scope_id


def test_rolling_back_shows_what_was_seen_then(store: Store, three: Corpus) -> None:
    roll_back(store, three, 1)
    assert seen(store, three) == {"a": ["a1"], "b": ["b1"]}
    roll_back(store, three, 3)
    assert seen(store, three) == {"a": ["a2"], "b": ["b1"], "c": ["c3"]}


def test_sources_that_are_not_shown_as_they_are_now_are_stale_while_rolled_back(store: Store, three: Corpus) -> None:
    roll_back(store, three, 1)
    assert statuses(store, three) == {
        "a": ("indexed", "stale", "rolled back"),
        "b": ("indexed", "current", None),
        "c": ("indexed", "stale", "rolled back"),
    }
    assert {row["source_version"] is None for row in table(store, "ingestion") if row["freshness"] == "stale"} == {True}
    roll_back(store, three, 2)
    assert statuses(store, three)["a"] == ("indexed", "current", None)
    assert statuses(store, three)["c"] == ("indexed", "stale", "rolled back")


@pytest.mark.parametrize("generation", [-1, 0, 4])
def test_a_generation_that_is_not_there_is_refused(store: Store, three: Corpus, generation: int) -> None:
    with pytest.raises(ValidationError, match=f"Generation {generation} .* is not there \\(1 to 3 are\\)"):
        roll_back(store, three, generation)
    assert seen(store, three)["c"] == ["c3"]


def test_the_first_publication_after_a_rollback_goes_on_from_what_is_shown(store: Store, three: Corpus) -> None:
    roll_back(store, three, 1)
    assert publish(store, three, Document("d", ["d5"])).generation == 5
    assert seen(store, three) == {"a": ["a1"], "b": ["b1"], "d": ["d5"]}
    assert [(row["gen"], row["kind"]) for row in sorted(table(store, "pointer_log"), key=lambda row: row["id"])] == [
        (1, "publish"), (2, "publish"), (3, "publish"), (1, "rollback"), (4, "fork"), (5, "publish"),
    ]  # fmt: skip
    publish(store, three, Document("b", ["b6"]))
    assert seen(store, three) == {"a": ["a1"], "b": ["b6"], "d": ["d5"]}
    assert overlaps(store) == 0


def test_the_abandoned_generations_can_still_be_shown(store: Store, three: Corpus) -> None:
    roll_back(store, three, 1)
    publish(store, three, Document("d", ["d5"]))
    roll_back(store, three, 3)
    assert seen(store, three) == {"a": ["a2"], "b": ["b1"], "c": ["c3"]}
    roll_back(store, three, 5)
    assert seen(store, three) == {"a": ["a1"], "b": ["b1"], "d": ["d5"]}


def test_a_text_that_was_newer_before_the_rollback_can_be_published_again(store: Store, three: Corpus) -> None:
    roll_back(store, three, 1)
    assert publish(store, three, Document("a", ["a2 again"])).upserted == 1
    assert seen(store, three) == {"a": ["a2 again"], "b": ["b1"]}


def test_a_page_that_publishes_nothing_does_not_end_the_rollback(store: Store, three: Corpus) -> None:
    roll_back(store, three, 1)
    result = publish(store, three, unchanged("b"), unchanged("c"), failed("x"))
    assert (result.generation, result.skipped) == (1, 1)  # c is not shown, so it is not unchanged
    assert seen(store, three) == {"a": ["a1"], "b": ["b1"]}


def test_a_rollback_resurrects_nothing_that_was_deleted(store: Store, three: Corpus) -> None:
    publish(store, three, deleted("a"))
    for generation in (1, 2, 3, 4):
        roll_back(store, three, generation)
        assert "a" not in seen(store, three)
    publish(store, three, Document("d", ["d"]))
    assert "a" not in seen(store, three)


def test_a_rollback_restores_no_grants(store: Store, three: Corpus) -> None:
    publish(store, three, granted("a", GrantSet(principal_ids=("bob",))))
    roll_back(store, three, 1)
    assert seen(store, three, "alice") == {}
    assert seen(store, three, "bob") == {"a": ["a1"]}


def test_a_deletion_acts_at_once_while_rolled_back_and_does_not_fork(store: Store, three: Corpus) -> None:
    roll_back(store, three, 1)
    assert delete_sources(store, scope_id(three), ["b", "c"]) == 4
    assert seen(store, three) == {"a": ["a1"]}
    assert {row["kind"] for row in table(store, "pointer_log")} == {"publish", "rollback", "delete"}
    publish(store, three, Document("d", ["d"]))
    assert seen(store, three) == {"a": ["a1"], "d": ["d"]}


def test_a_page_of_deletions_does_not_end_a_rollback_either(store: Store, three: Corpus) -> None:
    roll_back(store, three, 1)
    assert publish(store, three, deleted("b")).deleted == 1
    assert seen(store, three) == {"a": ["a1"]}
    roll_back(store, three, 4)
    assert seen(store, three) == {"a": ["a2"], "c": ["c3"]}


def test_deleting_moves_the_pointer_with_the_head(store: Store, three: Corpus) -> None:
    assert delete_sources(store, scope_id(three), ["a", "never heard of"]) == 4
    assert [(row["head_gen"], row["live_gen"]) for row in table(store, "scope")] == [(4, 4)]
    assert seen(store, three) == {"b": ["b1"], "c": ["c3"]}


def test_deleting_what_is_unknown_changes_nothing(store: Store, three: Corpus) -> None:
    before = table(store, "scope")
    assert delete_sources(store, scope_id(three), ["never heard of"]) == 3
    assert table(store, "scope") == before


def test_deleting_in_one_corpus_leaves_the_same_id_in_another(store: Store, corpus: Corpus) -> None:
    other = make_corpus(store, "umbrella/library/handbook")
    publish(store, corpus, Document("a", ["ours"]))
    publish(store, other, Document("a", ["theirs"]))
    delete_sources(store, scope_id(corpus), ["a"])
    assert (seen(store, corpus), seen(store, other)) == ({}, {"a": ["theirs"]})


def test_what_was_staged_before_a_rollback_is_published_after_it(store: Store, three: Corpus) -> None:
    page = stage(store, three, Document("a", ["a4"]))
    roll_back(store, three, 1)
    assert publish_page(store, page, fence=three.fence).upserted == 1
    assert seen(store, three) == {"a": ["a4"], "b": ["b1"]}


def test_a_deletion_takes_back_what_a_building_build_would_have_shown(store: Store, three: Corpus) -> None:
    green = start_build(store, three)
    with store.connection() as connection:  # the generation after the last, which such a build does not take
        connection.execute("UPDATE headwater.span SET gen_from = 4 WHERE build_id = %s", (green,))
    assert delete_sources(store, scope_id(three), ["a"]) == 4
    assert publish(store, three, deleted("b")).generation == 5
    spans = {
        row["source_pk"]: (row["gen_from"], row["gen_to"]) for row in table(store, "span") if row["build_id"] == green
    }
    numbers = {source_id: source_row(store, source_id)["source_pk"] for source_id in "abc"}
    assert spans == {numbers["b"]: (4, 5), numbers["c"]: (4, 2**63 - 1)}
