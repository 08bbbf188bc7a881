"""Builds whose words were made by another rule than this release's: the one before goes on as it is, one to come is left alone."""

from dataclasses import replace

import pytest

from activities.store import Store
from activities.store.builds import builds, green
from activities.store.lexicon.averages import lexicon_for
from activities.store.lexicon.passage import Lexicon, passage_terms, tiers, weights, words_of
from activities.store.scopes import LiveBuild, SpaceSpec
from headwater.embedders.hashing import HashEmbedder
from headwater.errors import ValidationError
from headwater.lexical import TIERS, lexicon_of, saturated, term_id, tier_key, tier_of
from headwater.lexical.lexicon import UNTIERED
from tests.integration.counts import fold_all
from tests.integration.seen import of_schema, table
from tests.integration.staging_factory import CHUNKER, Corpus, Document, publish

TO_COME = "words-9:english"
SPACE = SpaceSpec("hash:8", HashEmbedder(8).identity, 8, HashEmbedder(8).max_tokens, CHUNKER)


def test_a_passage_is_listed_by_the_highest_tier_that_each_of_its_terms_reaches() -> None:
    halves = weights(passage_terms("cat cat cat cat cat dog dog bird " + "ant " * 90, "english"), 100.0)
    reached = {"cat": 5, "dog": 2, "ant": 90}

    expected = {
        tier_key(term_id(term), tier_of(saturated(occurrences, length=98, average=100.0)))
        for term, occurrences in reached.items()
    }
    assert tiers(halves) == sorted(expected)
    assert [tier_of(half) for half in (0.0, TIERS[0] - 1e-9, TIERS[0], TIERS[-1], 2.2)] == [
        0,
        0,
        1,
        len(TIERS),
        len(TIERS),
    ]


def test_a_build_of_the_rule_before_is_written_on_without_tiers(corpus: Corpus, store: Store) -> None:
    old = lexicon_for(store, replace(corpus.build, lexicon=f"{UNTIERED}:german", avgdl=100.0), ["text"])
    new = lexicon_for(store, replace(corpus.build, lexicon=lexicon_of("german"), avgdl=100.0), ["text"])

    assert (old, new) == (Lexicon("german", 100.0, has_tiers=False), Lexicon("german", 100.0, has_tiers=True))
    assert old is not None and new is not None
    assert words_of("cat cat cat", old)[2] is None
    assert words_of("cat cat cat", new)[2] == [tier_key(term_id("cat"), TIERS.index(1.95) + 1)]
    assert words_of("cat cat cat", old)[:2] == words_of("cat cat cat", new)[:2]


def test_how_long_passages_are_is_decided_by_the_first_that_have_words(corpus: Corpus, store: Store) -> None:
    """A drawing or an emoji comes first in some corpora, and would make every passage a long one for good."""
    build = _measured(store, corpus, None)

    assert lexicon_for(store, build, ["*** === ***", "\U0001f642" * 30]) is not None
    assert _average(store, build.build_id) is None
    measured = lexicon_for(store, build, ["*** === ***" * 90, "The cat sat on the mat. " * 40])
    assert measured is not None and 100 < measured.average < 300
    assert _average(store, build.build_id) == measured.average


def test_a_reindex_measures_anew_what_passages_without_words_had_decided(corpus: Corpus, store: Store) -> None:
    _measured(store, corpus, 1.0)
    begun = builds.begin_build(store, corpus.scope, space=SPACE, large_chunks=1_000_000)

    assert not begun.is_live and _average(store, begun.build_id) is None
    _measured(store, corpus, 100.0)
    assert builds.begin_build(store, corpus.scope, space=SPACE, large_chunks=1_000_000).is_live


def _measured(store: Store, corpus: Corpus, average: float | None) -> LiveBuild:
    with store.connection() as connection:
        connection.execute(
            of_schema(store, "UPDATE {schema}.build SET avgdl = %(average)s WHERE build_id = %(build_id)s"),
            {"average": average, "build_id": corpus.build.build_id},
        )
    return replace(corpus.build, avgdl=average)


def _average(store: Store, build_id: int) -> float | None:
    [found] = [row["avgdl"] for row in table(store, "build") if row["build_id"] == build_id]
    return None if found is None else float(found)


def test_no_passage_is_written_by_a_rule_that_is_not_known(corpus: Corpus, store: Store) -> None:
    with pytest.raises(ValidationError, match=r"the rule 'words-9:english', and this release has 'words-2'"):
        lexicon_for(store, replace(corpus.build, lexicon=TO_COME), ["text"])
    page = green.GreenPage(1, "listed", corpus.build.build_id, corpus.build.scope_id, 0, TO_COME, True)
    with pytest.raises(ValidationError, match="words-9"):
        green.copy_page(store, page)


def test_nothing_is_counted_by_a_rule_that_is_not_known(corpus: Corpus, store: Store) -> None:
    publish(store, corpus, Document("a", ["cat"]))
    with store.connection() as connection:
        connection.execute(of_schema(store, "UPDATE {schema}.build SET lexicon = 'words-9:english'"))

    assert fold_all(store, corpus.build.build_id) == 0
    assert table(store, "term_df") == []
