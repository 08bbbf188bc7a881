"""How a large partition is searched by words: which way is taken, and that it is taken whenever the plan was made."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from headwater import LimitError, Scope
from headwater.store.db import connect
from headwater.store.search import Terms
from tests.integration.retrieval.large_rows import DIMENSIONS, Large, large_corpus, part
from tests.integration.retrieval.large_words import Words, looked_up
from tests.integration.retrieval.many_rows import fill

SOURCES = 600
LONGEST = "x" * 16_384


def filled_with_words(large: Large) -> None:
    """2,400 passages. Each has a word of all, one of every tenth source and one of its own source."""

    def text_of(source: int, passage: int) -> str:
        return f"common {word(source % 10)} {only(source)}" + " common" * (passage % 3)

    fill(large.rows, [["user:all"] + ["user:some"] * (number % 200 == 7) for number in range(SOURCES)], text_of=text_of)


def word(number: int) -> str:
    """Of every tenth passage. No part of it is a word, and no ending."""
    return f"z{_LETTERS[number]}x"


def only(number: int) -> str:
    """Of one source."""
    return f"q{_LETTERS[number // 100]}{_LETTERS[number // 10 % 10]}{_LETTERS[number % 10]}x"


_LETTERS = "bcdfghjklmnpqrstvwx"


@pytest.fixture(scope="module")
def words(reading: str) -> Iterator[Words]:
    with large_corpus(reading, "words") as large:
        filled_with_words(large)
        large.rows.analyze()
        large.rows.make_graph()
        large.rows.show_build()
        yield Words(large)


@pytest.mark.parametrize("lexical", ["bm25", "fts"])
def test_the_index_of_terms_is_read_for_a_reader_of_much_and_nothing_else_is_done(words: Words, lexical: str) -> None:
    plan = words.plan("zfx qbbfx", lexical=lexical)

    assert looked_up(plan, "first_look") and not looked_up(plan, "last_look")
    assert "never executed" in part(plan, "shown")
    assert "Index Scan using chunk_s" not in part(plan, "first_look")


def test_passages_are_asked_for_from_the_best_on_and_no_more_than_are_needed(words: Words) -> None:
    plan = part(words.plan("zfx qbbfx"), "first_look")

    probes = re.search(r"Index Scan (?:using|on) span_pkey.* \(actual rows=\S+ loops=(\d+)\)", plan)
    assert probes is not None and 3 <= int(probes[1]) <= 12, plan


def test_of_passages_that_are_equal_the_first_by_source_and_number_are_found(words: Words) -> None:
    """Of 125 equal ones the index gives those first that were written first."""
    late = [f"a{number}" for number in range(5)]
    for source_id in reversed(late):
        text = f"common {word(9)} {source_id.translate(_IN_LETTERS)}"
        words.large.rows.add(source_id, text, readers=["user:all"], vectors=[np.eye(DIMENSIONS)[0].tolist()])
    equal = [(source_id, 1) for source_id in late]
    equal += [(f"s{number:05}", passage) for number in range(9, SOURCES, 10) for passage in (1, 4)]

    for candidates in (1, 3, 30):
        found = words.found(word(9), candidates=candidates).candidates
        ranked = sorted((each.lexical_rank, each.source_id, each.chunk_no) for each in found if each.lexical_rank)
        assert [(source_id, number) for _, source_id, number in ranked] == equal[:candidates]


_IN_LETTERS = str.maketrans("01234", "vwxyz")


def test_a_reader_of_little_gets_each_passage_weighed(words: Words) -> None:
    plan = words.plan("zkx common", reader="some", few_chunks=200)

    assert not looked_up(plan, "first_look") and not looked_up(plan, "last_look")
    assert words.ids("zkx common", reader="some", few_chunks=200) == ["s00007", "s00007", "s00207"]
    assert words.found("zkx common", reader="some", few_chunks=200).lexical_is_exact


def test_rare_terms_that_give_too_little_are_followed_by_all_terms(words: Words) -> None:
    asked: dict[str, Any] = {"reader": "some", "candidates": 8}
    hers = {"s00007", "s00207", "s00407"}
    foreign = words.plan("common zcx", **asked)  # no passage with the rarer word is for this reader
    ids, rare = words.ids("common zcx", **asked), words.ids("common qbbkx", **asked)

    assert looked_up(foreign, "first_look") and looked_up(foreign, "last_look")
    assert len(ids) == 8 and {*ids} <= hers
    assert rare[:4] == ["s00007"] * 4 and {*rare[4:]} <= hers and len(rare) == 8
    assert all(words.found(query, **asked).lexical_is_exact for query in ("common zcx", "common qbbkx"))


def test_an_answer_says_whether_what_was_left_out_can_score_more(words: Words) -> None:
    rare = words.found("zfx common")
    every = words.found("zfx common", postings=9_999)

    assert not looked_up(words.plan("zfx common"), "last_look")
    assert rare.lexical_is_exact and every.lexical_is_exact  # a term of all passages weighs next to nothing
    assert not words.found("zfx zgx zhx zjx zkx zlx", postings=12).lexical_is_exact


def test_a_plan_made_while_the_partition_was_empty_is_right_when_it_is_full(scope: Scope, reading: str) -> None:
    with large_corpus(reading, scope.corpus_id) as large, connect(reading) as kept:
        large.rows.show_build()
        words = Words(Large(large.rows, kept))
        assert words.ids("zfx") == []
        filled_with_words(large)
        large.rows.analyze()  # which is when plans are made anew
        large.rows.make_graph()
        plan = kept_plan(words)

        assert words.ids("zfx") == ["s00003", "s00003", "s00013"]
    assert looked_up(plan, "first_look") and "Seq Scan on chunk" not in plan
    assert "Index Scan using chunk_s" not in part(plan, "first_look")


def kept_plan(words: Words) -> str:
    """Of the statement as it was prepared before there was anything."""
    rows = words.large.connection.execute("SELECT name, statement FROM pg_prepared_statements").fetchall()
    (name,) = [name for name, text in rows if "first_look" in text]
    sql, bound = words.sql(), words.bound("zfx")
    names = dict.fromkeys(re.findall(rb"%\((\w+)\)s", sql))
    run = b"EXECUTE " + name.encode() + b" (" + b", ".join(b"%%(%s)s" % each for each in names) + b")"
    cursor = psycopg.ClientCursor(words.large.connection)
    return "\n".join(line for (line,) in cursor.execute(b"EXPLAIN (ANALYZE, COSTS OFF) " + run, bound))


@pytest.mark.parametrize("lexical", ["bm25", "fts"])
@pytest.mark.parametrize("few_chunks", [-1, 9_999], ids=["looked up", "weighed"])
@pytest.mark.parametrize("query", ["...", LONGEST, "'' \\' & | ! :* qbbkx\\", "🦊" * 4_000, "qbbkx " * 2_000])
def test_no_query_is_too_strange(words: Words, lexical: str, few_chunks: int, query: str) -> None:
    assert words.ids(query, lexical=lexical, few_chunks=few_chunks) == (["s00007"] * 3 if "qbbkx" in query else [])


def test_as_many_terms_as_are_looked_for_are_looked_for_and_no_more(words: Words) -> None:
    assert words.ids(" ".join(f"z{number:x}" for number in range(900)) + " qbbmx") == ["s00009"] * 3
    with pytest.raises(LimitError, match="4,096"):
        Terms.of(" ".join(f"{number:x}" for number in range(5_000)), "words-2:english")
