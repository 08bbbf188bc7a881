"""In which order `lexical="fts"` finds: what makes one passage better than another that has a word of the query too."""

import pytest

from tests.integration.retrieval.conftest import Ask
from tests.integration.retrieval.corpus_rows import CorpusRows

FILLER = "then came words which nobody ever asks for because they mean so little here"


def by_words(ask: Ask, corpus: CorpusRows, query: str) -> dict[str, float]:
    """What each source scores by its words, the best first."""
    corpus.count_terms()
    hits = ask(query, lexical="fts", top_k=32).hits
    ranked = sorted(
        (hit.scores.lexical_rank, hit.source_id, hit.scores.lexical) for hit in hits if hit.scores.lexical_rank
    )
    return {source_id: score for _, source_id, score in ranked if score is not None}


def without_any(corpus: CorpusRows, count: int) -> None:
    """So many passages more, so that a word of a few others is rare."""
    for number in range(count):
        corpus.add(f"other-{number:02}", "nothing of it")


def test_of_two_passages_with_the_word_the_shorter_one_is_first(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("a-long", f"{FILLER} walrus")
    corpus.add("b-short", "one walrus")
    without_any(corpus, 20)

    scores = by_words(ask, corpus, "walrus")

    assert list(scores) == ["b-short", "a-long"] and scores["b-short"] > scores["a-long"]


def test_a_tail_of_few_words_is_not_before_a_passage_with_more_of_the_query(corpus: CorpusRows, ask: Ask) -> None:
    """As it would be if scores were divided by the length itself."""
    corpus.add("a-tail", "walrus")
    corpus.add("b-whole", "walrus talking together oyster carpenter")
    without_any(corpus, 20)

    assert list(by_words(ask, corpus, "walrus oyster carpenter")) == ["b-whole", "a-tail"]


@pytest.mark.parametrize(("having", "first"), [(3, "a-common"), (4, "b-rare")], ids=["15 %", "20 %"])
def test_a_word_of_more_than_15_in_100_passages_is_worth_less_than_any_rarer_one(
    corpus: CorpusRows, ask: Ask, having: int, first: str
) -> None:
    corpus.add("a-common", "often often often")
    corpus.add("b-rare", f"{FILLER} seldom")
    for number in range(having - 1):
        corpus.add(f"c-{number}", f"{FILLER} often")
    without_any(corpus, 20 - 1 - having)

    assert next(iter(by_words(ask, corpus, "often seldom"))) == first


def test_a_word_of_many_passages_decides_between_equal_ones(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("a-without", "seldom filler")
    corpus.add("b-with", "seldom often")
    for number in range(10):
        corpus.add(f"c-{number}", "often")
    without_any(corpus, 10)

    scores = by_words(ask, corpus, "seldom often")

    assert list(scores)[:2] == ["b-with", "a-without"]
    assert scores["b-with"] == pytest.approx(scores["a-without"], rel=1e-4), "and no more than that"


def test_another_word_of_the_query_counts_more_than_one_of_them_again(corpus: CorpusRows, ask: Ask) -> None:
    """As it does not where covers are counted (`ts_rank_cd`): each occurrence is one. The same of words that many passages have."""
    corpus.add("a-again", "walrus walrus walrus walrus")
    corpus.add("b-each", "walrus oyster carpenter cabbage")
    corpus.add("c-again", "seldom often often")
    corpus.add("d-each", "seldom often usual")
    for number in range(10):
        corpus.add(f"e-{number}", "often usual")
    without_any(corpus, 20)

    assert list(by_words(ask, corpus, "walrus oyster carpenter")) == ["b-each", "a-again"]
    assert list(by_words(ask, corpus, "seldom often usual"))[:2] == ["d-each", "c-again"]


def test_how_near_each_other_the_words_stand_changes_nothing(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("a-far", f"walrus {FILLER} oyster")
    corpus.add("b-near", f"{FILLER} walrus oyster")
    without_any(corpus, 20)

    scores = by_words(ask, corpus, "walrus oyster")

    assert list(scores) == ["a-far", "b-near"] and scores["a-far"] == scores["b-near"]
