"""Questions of common words alone: passages that have much of one are looked up, and the answer knows what all others have at most."""

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

import pytest

from headwater import Scope
from headwater.lexical import TIERS, term_id, tier_key, tier_key_sql, tiers_as_rows
from headwater.lexical.lexicon import UNTIERED
from tests.integration.retrieval.large_rows import large_corpus, part
from tests.integration.retrieval.large_words import Words, looked_up
from tests.integration.retrieval.many_rows import EACH, fill

SOURCES = 600
LOOKS = ("first_look", "wider_look", "last_look")
COMMON = [f"z{letter}x" for letter in "bcdfghjk"]  # each in a third to a tenth of all passages


def text_of(source: int, passage: int) -> str:
    """Some of the common words, most of them once, and between them words that nobody asks for."""
    draw = random.Random(source * EACH + passage)
    said = [word for number, word in enumerate(COMMON) if draw.random() < 3 / (9 + 3 * number)]
    said += [word for word in said for _ in range(draw.choice((0, 0, 0, 1, 2, 4, 8)))]
    return " ".join([*said, *(f"w{draw.randrange(500)}" for _ in range(draw.randrange(2, 60)))])


@contextmanager
def untiered(reading: str, scope: Scope, text_of: Callable[[int, int], str]) -> Iterator[Words]:
    """A build of the rule before tiers, with such texts."""
    with large_corpus(reading, scope.corpus_id) as large:
        large.rows.lexicon = f"{UNTIERED}:english"
        large.rows.begin_build(is_large=True)
        fill(large.rows, [["user:all"]] * 100, text_of=text_of)
        large.rows.analyze()
        large.rows.make_graph()
        large.rows.show_build()
        yield Words(large)


@pytest.fixture(scope="module")
def words(reading: str) -> Iterator[Words]:
    with large_corpus(reading, "tiers") as large:
        fill(large.rows, [["user:all"]] * SOURCES, text_of=text_of)
        large.rows.analyze()
        large.rows.make_graph()
        large.rows.show_build()
        yield Words(large)


def found(
    words: Words, query: str, *, postings: int, candidates: int = 10
) -> tuple[list[tuple[float, str, int]], bool]:
    answer = words.found(query, postings=postings, candidates=candidates)
    ranked = sorted((each.lexical_rank, each) for each in answer.candidates if each.lexical_rank)
    scored = [(round(each.lexical_score or 0, 4), each.source_id, each.chunk_no) for _, each in ranked]
    return scored, bool(answer.lexical_is_exact)


def questions() -> list[str]:
    draw = random.Random(7)
    return [" ".join(draw.choices(COMMON, k=draw.choice((1, 2, 2, 2, 3, 4)))) for _ in range(60)]


@pytest.mark.parametrize("postings", [60, 200, 600])
def test_an_answer_that_is_said_to_be_exact_is_what_weighing_all_gives(words: Words, postings: int) -> None:
    exact = 0
    for query in questions():
        all_of_it, _ = found(words, query, postings=1_000_000)
        some, is_exact = found(words, query, postings=postings)
        exact += is_exact
        assert not is_exact or some == all_of_it, query
        assert len(some) == len(all_of_it)
    assert 0 < exact < len(questions())


def test_two_common_words_are_answered_exactly_from_a_small_part_of_what_has_them(words: Words) -> None:
    query = f"{COMMON[0]} {COMMON[1]}"
    all_of_it, _ = found(words, query, postings=1_000_000, candidates=3)
    some, is_exact = found(words, query, postings=250, candidates=3)
    plan = words.plan(query, postings=250)

    assert is_exact and some == all_of_it
    assert looked_up(plan, "first_look") and not looked_up(plan, "last_look")
    assert weighed(words, query, postings=250) < 0.3 * weighed(words, query, postings=1_000_000)


def weighed(words: Words, query: str, *, postings: int) -> int:
    """How many passages all looks read."""
    plan = words.plan(query, postings=postings)
    found = [
        re.findall(r"Bitmap Heap Scan on chunk_s\d+ .*?\(actual rows=([\d.]+)", part(plan, look)) for look in LOOKS
    ]
    assert found[0], plan
    return sum(int(float(rows)) for look in found for rows in look)


def test_the_statement_counts_keys_as_passages_are_written(words: Words) -> None:
    asked = [(number, tier) for number in (0, 1, 999_999_999) for tier in range(len(TIERS) + 1)]
    values = ", ".join(f"({number}, {tier})" for number, tier in asked)
    rows = words.large.connection.execute(
        f"SELECT {tier_key_sql('number', 'tier')} FROM (VALUES {values}) AS v (number, tier)".encode()
    ).fetchall()

    assert [key for (key,) in rows] == [tier_key(number, tier) for number, tier in asked]
    assert all(-(2**31) <= key < 0 for (key,) in rows) and len(set(rows)) == len(asked)
    begins = words.large.connection.execute(
        f"SELECT low::float8 FROM (VALUES {tiers_as_rows()}) AS v (tier, low, high) ORDER BY tier".encode()
    ).fetchall()
    assert [low for (low,) in begins] == [0.0, *TIERS]


def test_a_build_that_was_made_before_there_were_tiers_is_asked_by_whole_lists(scope: Scope, reading: str) -> None:
    with untiered(reading, scope, text_of) as old:
        query = f"{COMMON[0]} {COMMON[1]}"

        assert "tiers" not in part(old.plan(query, postings=30), "first_look")
        assert len(found(old, query, postings=30)[0]) == 10
        assert found(old, query, postings=1_000_000)[1]


def test_what_words_of_one_number_can_score_is_what_the_one_that_was_said_most_can(scope: Scope, reading: str) -> None:
    """Their passages are weighed alike. So those of the other one must not count as if they could score less."""
    known: dict[int, str] = {}
    names = map("".join, product("bcdfghjklmnpqrstvwxz", repeat=4))
    one, other = next((known[n], word) for word in names if known.setdefault(n := term_id(word), word) != word)

    def text(source: int, passage: int) -> str:
        said = one if source < 3 else f"{other} " * 4 if source < 15 else "nothing"
        return f"{said} of all that is asked here"

    with untiered(reading, scope, text) as two:
        query = f"{one} {one} {one} {other}"
        some, is_exact = found(two, query, postings=300, candidates=3)
        assert not is_exact or some == found(two, query, postings=1_000_000, candidates=3)[0]


def test_of_many_common_words_the_rarest_is_looked_up_whole_where_tiers_prove_nothing(words: Words) -> None:
    """The best passages have some of each and much of none. A word that stands nowhere is not what is meant by the rarest."""
    texts = {(f"s{source:05}", n + 1): text_of(source, n).split() for source in range(SOURCES) for n in range(EACH)}
    having = {word: {place for place, text in texts.items() if word in text} for word in COMMON}
    draw = random.Random(11)
    unsure = 0
    for _ in range(20):
        chosen = draw.sample(COMMON, 5)
        all_of_it, _ = found(words, " ".join(chosen), postings=1_000_000)
        some, is_exact = found(words, " ".join([*chosen, "unheard"]), postings=100)
        unsure += not is_exact
        rarest = min((having[word] for word in chosen), key=len)
        assert {each for each in all_of_it if each[1:] in rarest} <= set(some)
    assert unsure > 10
