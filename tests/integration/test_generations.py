"""Moving the live pointer by hand: to a retained generation, across builds, held there, and what is said of sources then."""

import pytest

from activities.store import Store
from activities.store.generations import listing, pin, set_generation
from activities.store.requests import InvalidInput
from headwater.connectors import GrantSet
from headwater.contracts import SetGenerationResult
from headwater.errors import LimitError
from headwater.models import Scope
from tests.integration.builds_by_hand import flip, start_build
from tests.integration.seen import overlaps, seen, source_row, statuses, table
from tests.integration.staging_factory import Corpus, Document, deleted, publish, unchanged


@pytest.fixture
def three(store: Store, corpus: Corpus) -> Corpus:
    """Generation 1 has a and b, 2 replaces a, 3 adds c."""
    publish(store, corpus, Document("a", ["a1"], grants=GrantSet(principal_ids=("alice",))), Document("b", ["b1"]))
    publish(store, corpus, Document("a", ["a2"]))
    publish(store, corpus, Document("c", ["c3"]))
    return corpus


def go_to(store: Store, corpus: Corpus, generation: int) -> SetGenerationResult:
    return set_generation(store, corpus.scope, generation)


def version_of(store: Store, source_id: str) -> str | None:
    """The version under which a sync would take the source for unchanged."""
    source_pk = source_row(store, source_id)["source_pk"]
    version: str | None = next(r["source_version"] for r in table(store, "ingestion") if r["source_pk"] == source_pk)
    return version


def kinds(store: Store) -> list[tuple[int, str]]:
    return [(row["gen"], row["kind"]) for row in sorted(table(store, "pointer_log"), key=lambda row: int(row["id"]))]


def test_the_answer_says_what_readers_see_and_how_much_of_it_is_stale(store: Store, three: Corpus) -> None:
    build = three.build.build_id
    assert go_to(store, three, 1) == SetGenerationResult(generation=1, build=build, pinned=False, stale=2)
    assert go_to(store, three, 3) == SetGenerationResult(generation=3, build=build, pinned=False, stale=0)


def test_setting_what_is_set_changes_nothing(store: Store, three: Corpus) -> None:
    first = go_to(store, three, 2)
    before = [table(store, name) for name in ("scope", "pointer_log", "ingestion", "audit")]
    assert go_to(store, three, 2) == first
    assert [table(store, name) for name in ("scope", "pointer_log", "ingestion", "audit")] == before


def test_who_moved_the_pointer_is_written_down(store: Store, three: Corpus) -> None:
    set_generation(store, three.scope, 1, actor="ops")
    pin(store, three.scope, pinned=True, actor="ops")
    said = [(row["actor"], row["action"], row["detail"]["generation"]) for row in table(store, "audit") if row["actor"]]
    assert sorted(said) == [("ops", "pin", 1), ("ops", "set_generation", 1)]


def test_a_generation_without_a_row_of_its_own_shows_what_came_before(store: Store, three: Corpus) -> None:
    with store.connection() as connection:  # as a propagated deletion of an older release took one
        connection.execute("UPDATE headwater.scope SET head_gen = head_gen + 1")
    publish(store, three, Document("d", ["d5"]))
    assert go_to(store, three, 4).generation == 4
    assert seen(store, three) == {"a": ["a2"], "b": ["b1"], "c": ["c3"]}


@pytest.mark.parametrize("generation", [0, 4])
def test_a_generation_that_is_not_there_is_refused_with_those_that_are(
    store: Store, three: Corpus, generation: int
) -> None:
    with pytest.raises(
        InvalidInput, match=rf"Generation {generation} of acme/library/handbook is not there \(1 to 3 are"
    ):
        go_to(store, three, generation)
    assert kinds(store)[-1] == (3, "publish")


def test_a_collected_generation_is_refused(store: Store, three: Corpus) -> None:
    with store.connection() as connection:
        connection.execute("UPDATE headwater.scope SET min_gen = 2")
    with pytest.raises(InvalidInput, match=r"\(2 to 3 are\)"):
        go_to(store, three, 1)


def test_a_corpus_without_documents_says_so(store: Store, corpus: Corpus) -> None:
    with pytest.raises(InvalidInput, match="nothing was published yet"):
        go_to(store, corpus, 1)
    nowhere = Scope.parse("acme/library/nowhere")
    for ask in (
        lambda: set_generation(store, nowhere, 1),
        lambda: pin(store, nowhere, pinned=True),
        lambda: listing(store, nowhere),
    ):
        with pytest.raises(InvalidInput, match="Corpus acme/library/nowhere holds nothing yet"):
            ask()


def test_what_was_said_of_a_document_comes_back_with_it(store: Store, three: Corpus) -> None:
    publish(store, three, Document("a", ["a4"], state="partial", reason="page 3 has no text"))
    go_to(store, three, 1)
    assert statuses(store, three)["a"] == ("partial", "stale", "rolled back; page 3 has no text")
    go_to(store, three, 4)
    assert statuses(store, three)["a"] == ("partial", "current", "page 3 has no text")


def test_a_source_left_behind_by_a_fork_stays_stale_until_it_is_read(store: Store, three: Corpus) -> None:
    go_to(store, three, 1)
    publish(store, three, Document("d", ["d5"]))
    assert statuses(store, three)["a"][1] == "stale"
    go_to(store, three, 1)
    go_to(store, three, 5)
    assert statuses(store, three)["a"] == ("indexed", "stale", "rolled back")
    go_to(store, three, 3)
    assert statuses(store, three)["a"] == ("indexed", "current", None)


def test_what_was_found_unchanged_while_rolled_back_is_read_again_after(store: Store, three: Corpus) -> None:
    go_to(store, three, 1)
    publish(store, three, unchanged("a"))  # the origin went back to the old text too
    assert statuses(store, three)["a"][1] == "current"
    assert version_of(store, "a") == "v9"
    go_to(store, three, 3)
    assert version_of(store, "a") is None


@pytest.mark.parametrize("first", ["roll back, pin, publish", "pin, publish, roll back", "pin, roll back, publish"])
def test_a_pinned_corpus_shows_the_same_in_whatever_order(store: Store, three: Corpus, first: str) -> None:
    for step in first.split(", "):
        if step == "pin":
            pin(store, three.scope, pinned=True)
        elif step == "publish":
            publish(store, three, Document("a", ["a4"]), Document("d", ["d4"]))
        else:
            go_to(store, three, 1)
    assert seen(store, three) == {"a": ["a1"], "b": ["b1"]}
    assert "fork" not in {kind for _, kind in kinds(store)}
    result = pin(store, three.scope, pinned=False)
    assert (result.generation, result.pinned, result.stale) == (4, False, 0)
    assert seen(store, three) == {"a": ["a4"], "b": ["b1"], "c": ["c3"], "d": ["d4"]}
    assert {freshness for _, freshness, _ in statuses(store, three).values()} == {"current"}
    assert overlaps(store) == 0


def test_pinning_twice_and_unpinning_twice_is_harmless(store: Store, three: Corpus) -> None:
    for pinned in (True, True, False, False):
        assert pin(store, three.scope, pinned=pinned).generation == 3
    assert kinds(store)[3:] == [(3, "pin"), (3, "unpin")]


def test_pinning_where_a_rollback_stands_reads_again_what_was_found_unchanged_there(
    store: Store, three: Corpus
) -> None:
    go_to(store, three, 1)
    publish(store, three, unchanged("a"))
    pin(store, three.scope, pinned=True)  # from here on the head counts, which has another text
    assert version_of(store, "a") is None


@pytest.mark.parametrize("pinned", [True, False])
def test_a_deletion_acts_at_once_wherever_the_pointer_stands(store: Store, three: Corpus, pinned: bool) -> None:
    go_to(store, three, 1)
    pin(store, three.scope, pinned=pinned)
    assert publish(store, three, deleted("b")).deleted == 1
    assert seen(store, three) == {"a": ["a1"]}
    pin(store, three.scope, pinned=False)
    go_to(store, three, 4)
    assert seen(store, three) == {"a": ["a2"], "c": ["c3"]}


def test_going_back_over_a_flip_shows_the_former_build(store: Store, three: Corpus) -> None:
    blue = three.build.build_id
    green = flip(store, three, start_build(store, three))
    publish(store, green, Document("c", ["c5"]), Document("d", ["d5"]))
    result = go_to(store, three, 2)
    assert (result.build, result.stale) == (blue, 2)
    assert seen(store, three) == {"a": ["a2"], "b": ["b1"]}
    assert {row["build_id"]: row["state"] for row in table(store, "build")} == {
        blue: "live",
        green.build.build_id: "retired",
    }
    assert go_to(store, three, 5).build == green.build.build_id
    assert seen(store, three) == {"a": ["a2"], "b": ["b1"], "c": ["c5"], "d": ["d5"]}
    assert {freshness for _, freshness, _ in statuses(store, three).values()} == {"current"}


def test_a_flip_back_marks_what_only_the_other_build_has(store: Store, three: Corpus) -> None:
    green = flip(store, three, start_build(store, three))
    publish(store, green, Document("a", ["a5"]))
    go_to(store, three, 3)
    assert statuses(store, three)["a"] == ("indexed", "stale", "rolled back")
    assert version_of(store, "a") is None
    assert publish(store, three, Document("a", ["a6"])).generation == 6  # blue stands at its own head: no fork
    assert seen(store, three)["a"] == ["a6"]


def test_a_generation_whose_build_is_being_dropped_is_gone(store: Store, three: Corpus) -> None:
    flip(store, three, start_build(store, three))
    with store.connection() as connection:
        connection.execute("UPDATE headwater.build SET state = 'dropping' WHERE state = 'retired'")
    with pytest.raises(InvalidInput, match=r"\(4 to 4 are\)"):
        go_to(store, three, 3)
    assert [row["generation"] for row in listing(store, three.scope)["generations"]] == [4]


def test_the_listing_names_what_could_be_shown(store: Store, three: Corpus) -> None:
    publish(store, three, deleted("b"))
    go_to(store, three, 2)
    shown = listing(store, three.scope)
    assert [(row["generation"], row["kind"], row["sources"]) for row in shown["generations"]] == [
        (4, "delete", 1), (3, "publish", 1), (2, "publish", 1), (1, "publish", 2),
    ]  # fmt: skip
    assert {row["language"] for row in shown["generations"]} == {"english"}
    shown["generations"] = []
    assert shown == {
        "corpus": "acme/library/handbook",
        "live_generation": 2,
        "live_build": three.build.build_id,
        "pinned": False,
        "head_generation": 4,
        "oldest_generation": 1,
        "generations": [],
    }
    assert [row["generation"] for row in listing(store, three.scope, limit=2)["generations"]] == [4, 3]
    with pytest.raises(LimitError, match="not 0"):
        listing(store, three.scope, limit=0)


def test_the_oldest_generation_of_a_listing_stands_for_what_made_it(store: Store, three: Corpus) -> None:
    with store.connection() as connection:  # generations 4 to 6 are taken by what has no row
        connection.execute("UPDATE headwater.scope SET head_gen = 6")
    publish(store, three, Document("d", ["d7"]))
    with store.connection() as connection:
        connection.execute("UPDATE headwater.scope SET min_gen = 5")
    shown = listing(store, three.scope)
    assert shown["oldest_generation"] == 5
    assert [(row["generation"], row["sources"]) for row in shown["generations"]] == [(7, 1), (5, 1)]
    assert go_to(store, three, 5).generation == 5
