"""Reading the past: what a corpus showed at a generation, to who may read it today."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headwater import AccessDenied, EmbedderMismatch, RetrievalResult, Scope, ValidationError
from headwater.embedders.hashing import HashEmbedder
from tests.integration.retrieval.conftest import ALICE, Ask, Asker
from tests.integration.retrieval.corpus_rows import CorpusRows, Source
from tests.integration.retrieval.test_recheck import RECHECK, answer_while
from tests.integration.retrieval.wire import Wire


@pytest.fixture
def edited(corpus: CorpusRows) -> Source:
    """A source with another text in each of the generations 1 to 3, which the corpus shows."""
    corpus.log(1)
    for generation in (1, 2):
        corpus.add("edited", f"text {generation}", gen_from=generation, gen_to=generation + 1)
        corpus.log(generation + 1)
    return corpus.add("edited", "text 3", gen_from=3)


def texts(result: RetrievalResult) -> list[str]:
    return sorted(hit.text for hit in result.hits)


def at_each(ask: Ask, generations: range = range(1, 4), **arguments: Any) -> list[list[str]]:
    return [texts(ask("text", generation=generation, **arguments)) for generation in generations]


def test_each_generation_shows_its_own_text(corpus: CorpusRows, ask: Ask, edited: Source) -> None:
    assert at_each(ask) == [["text 1"], ["text 2"], ["text 3"]]
    assert [ask("text", generation=generation).generation for generation in (1, 3, None)] == [1, 3, 3]


def test_what_waits_behind_a_pin_or_a_rollback_can_be_looked_at_by_whoever_may_read_it(
    corpus: CorpusRows, ask: Ask, edited: Source
) -> None:
    corpus.add("another", "text of others", readers=["user:bob"], gen_from=3)
    corpus.execute("UPDATE {}.scope SET live_gen = 2, pinned = true WHERE scope_id = %s", corpus.scope_id)

    assert texts(ask("text")) == ["text 2"]
    assert at_each(ask) == [["text 1"], ["text 2"], ["text 3"]]


def test_an_exact_question_reads_the_past_too(corpus: CorpusRows, ask: Ask, edited: Source) -> None:
    assert at_each(ask, exact=True) == [["text 1"], ["text 2"], ["text 3"]]


@pytest.mark.parametrize("kind", ["rollback", "pin", "unpin"])
def test_where_the_pointer_stands_makes_no_difference(corpus: CorpusRows, ask: Ask, edited: Source, kind: str) -> None:
    other = corpus.begin_build()
    corpus.log(1, kind, build_id=other)  # such a row takes no generation, and so says nothing of one

    assert at_each(ask) == [["text 1"], ["text 2"], ["text 3"]]


def test_a_generation_without_a_line_in_the_log_is_read_in_the_build_before_it(
    corpus: CorpusRows, ask: Ask, edited: Source
) -> None:
    corpus.execute("UPDATE {}.scope SET head_gen = 9 WHERE scope_id = %s", corpus.scope_id)  # as propagation does

    assert at_each(ask, range(8, 10)) == [["text 3"], ["text 3"]]


# --- grants, deletions, tombstones and labels are those of today


def over(corpus: CorpusRows, source: Source) -> None:
    corpus.grant(source)
    corpus.grant_until(source, "user:alice", datetime.now(UTC) - timedelta(seconds=1))


TODAY: list[Callable[[CorpusRows, Source], None]] = [
    lambda corpus, source: corpus.grant(source),
    over,
    lambda corpus, source: corpus.delete(source, gen=4),
    lambda corpus, source: corpus.tombstone("edited", "revoked"),
    lambda corpus, source: corpus.tombstone("edited", "forgotten"),
    lambda corpus, source: corpus.tombstone("edited", "legal_hold"),
    lambda corpus, source: corpus.label(source, "restricted"),
]


@pytest.mark.parametrize(
    "change", TODAY, ids=["revoked", "expired", "deleted", "tombstoned", "forgotten", "held", "restricted"]
)
def test_what_may_not_be_read_today_was_never_there(
    corpus: CorpusRows, ask: Ask, edited: Source, change: Callable[[CorpusRows, Source], None]
) -> None:
    assert at_each(ask) == [["text 1"], ["text 2"], ["text 3"]]

    change(corpus, edited)
    corpus.log(4)

    for exact in (False, True):
        assert at_each(ask, range(1, 5), exact=exact) == [[]] * 4
    corpus.point(1)  # a rollback resurrects nothing
    assert texts(ask("text")) == []


def test_what_rests_on_a_tombstone_was_never_there_either(corpus: CorpusRows, ask: Ask) -> None:
    corpus.log(1)
    corpus.add("summary", "text of the parent", parents=["parent"], gen_to=2)
    corpus.log(2)
    corpus.add("summary", "text of its own", gen_from=2)
    corpus.tombstone("parent", "corrected")

    assert at_each(ask, range(1, 3)) == [[], ["text of its own"]]


def test_a_label_that_was_raised_hides_the_old_text_and_one_that_was_lowered_does_not_show_it(
    corpus: CorpusRows, ask: Ask
) -> None:
    corpus.log(1)
    corpus.add("one", "restricted text", sensitivity="restricted", gen_to=2)
    corpus.log(2)
    source = corpus.add("one", "public text", sensitivity="public", gen_from=2)
    corpus.label(source, "public")
    assert at_each(ask, range(1, 3)) == [[], ["public text"]]

    corpus.label(source, "restricted")
    assert at_each(ask, range(1, 3)) == [[], []]


def test_a_source_that_was_added_again_shows_what_began_after_its_deletion_alone(corpus: CorpusRows, ask: Ask) -> None:
    corpus.log(1)
    source = corpus.add("one", "text before", gen_to=2)
    corpus.log(2, "delete")
    corpus.delete(source, gen=2)
    corpus.log(3)
    corpus.add("one", "text after", gen_from=3)

    assert at_each(ask) == [[], [], ["text after"]]


def test_a_reader_who_was_let_in_since_reads_the_past(corpus: CorpusRows, ask: Ask, edited: Source) -> None:
    bob = ALICE.model_copy(update={"principal_id": "bob"})
    assert at_each(ask, authorization=bob) == [[], [], []]

    corpus.grant(edited, "user:bob")

    assert at_each(ask, authorization=bob) == [["text 1"], ["text 2"], ["text 3"]]


def test_the_host_hears_of_what_that_generation_showed(corpus: CorpusRows, ask: Ask) -> None:
    corpus.log(1)
    corpus.add("old", "text", readers=["user:bob"], gen_to=2)
    corpus.log(2)
    corpus.add("new", "text", readers=["user:bob"], gen_from=2)
    heard: list[list[str]] = []
    for generation in (1, 2):
        events: list[AccessDenied] = []
        ask("text", generation=generation, on_access_denied=events.append)
        heard.append([event.source_id for event in events])

    assert heard == [["old"], ["new"]]


def test_a_source_revoked_after_the_search_is_withheld_in_the_past_too(
    corpus: CorpusRows, asker: Asker, wire: Wire, edited: Source
) -> None:
    result, events = answer_while(asker, wire, (RECHECK, lambda: corpus.grant(edited)), generation=1)

    assert (result.hits, [event.source_id for event in events]) == ((), ["edited"])


# --- which build


@pytest.mark.parametrize("large", [(False, False), (False, True), (True, False), (True, True)])
def test_a_generation_is_read_in_the_build_that_showed_it(
    corpus: CorpusRows, ask: Ask, large: tuple[bool, bool]
) -> None:
    for generation, is_large in enumerate(large, start=1):
        corpus.begin_build(is_large=is_large)
        corpus.add("one", f"text {generation}", gen_from=generation)
        corpus.show_build()
        corpus.log(generation, "flip")

    assert at_each(ask, range(1, 3)) == [["text 1"], ["text 2"]]
    assert texts(ask("text")) == ["text 2"]


def test_a_build_of_another_embedder_is_read_with_that_one(corpus: CorpusRows, ask: Ask) -> None:
    corpus.log(1)
    corpus.add("one", "text 1")
    other = HashEmbedder(32)
    corpus.begin_build(embedder=other)
    corpus.embedder = other
    corpus.add("one", "text 2", gen_from=2)
    corpus.show_build()
    corpus.log(2, "flip")

    assert texts(ask("text", generation=1)) == ["text 1"]
    assert texts(ask("text", generation=2, embedder=other)) == ["text 2"]
    with pytest.raises(
        EmbedderMismatch, match=r"^Generation 1 of corpus .* dims=64 .*: open the retriever with that one"
    ):
        ask("text", generation=1, embedder=other)
    with pytest.raises(EmbedderMismatch, match="headwater reindex --corpus"):
        ask("text")


# --- what cannot be read


def test_a_generation_that_was_collected_is_an_error_that_names_those_there_are(
    corpus: CorpusRows, ask: Ask, edited: Source
) -> None:
    corpus.execute("UPDATE {}.scope SET min_gen = 2 WHERE scope_id = %s", corpus.scope_id)

    with pytest.raises(ValidationError) as caught:
        ask("text", generation=1)
    assert str(caught.value) == (
        f"Generation 1 of corpus {corpus.scope} was collected: choose one from 2 to 3, or leave it out to read what the "
        "corpus shows."
    )
    assert at_each(ask, range(2, 4)) == [["text 2"], ["text 3"]]


@pytest.mark.parametrize("state", ["dropping", "building"])
def test_a_generation_whose_build_goes_is_collected(corpus: CorpusRows, ask: Ask, edited: Source, state: str) -> None:
    blue = corpus.build_id
    corpus.begin_build()
    corpus.add("edited", "text 4", gen_from=4)
    corpus.show_build()
    corpus.log(4, "flip")
    corpus.execute("UPDATE {}.build SET state = %s WHERE build_id = %s", state, blue)

    with pytest.raises(ValidationError, match=r"^Generation 2 of .* was collected: choose one from 4 to 4,"):
        ask("text", generation=2)
    assert at_each(ask, range(4, 5)) == [["text 4"]]


@pytest.mark.parametrize("generation", [0, 4, 2**63 - 1])
def test_a_generation_that_never_was_is_an_error_that_names_those_there_are(
    corpus: CorpusRows, ask: Ask, edited: Source, generation: int
) -> None:
    with pytest.raises(
        ValidationError, match=rf"^Generation {generation} of .* does not exist: choose one from 1 to 3,"
    ):
        ask("text", generation=generation)


def test_a_corpus_in_which_nothing_was_published_has_no_generation(corpus: CorpusRows, ask: Ask) -> None:
    corpus.execute("UPDATE {}.scope SET head_gen = 0, live_gen = 0 WHERE scope_id = %s", corpus.scope_id)

    with pytest.raises(ValidationError, match="has no generation 0: nothing was published in it yet"):
        ask("text", generation=0)


def test_a_corpus_that_does_not_exist_is_empty_at_every_generation(corpus: CorpusRows, ask: Ask) -> None:
    nowhere = Scope(tenant_id="t1", resource_id="docs", corpus_id="nowhere")

    result = ask("text", scope=nowhere, generation=3)

    assert (result.hits, result.generation) == ((), None)


@pytest.mark.parametrize("generation", [-1, True, 1.0, "1", 2**63])
def test_a_generation_is_a_whole_number(ask: Ask, generation: Any) -> None:
    with pytest.raises(ValidationError, match="generation must be a whole number"):
        ask("text", generation=generation)
