"""What a passage's row says of its words, as Postgres reads it."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from pgvector import SparseVector

from activities.store import Store
from activities.store.lexicon.averages import average
from activities.store.lexicon.passage import TERMS, passage_terms, weights
from activities.store.tsvector import LAST_PLACE, PLACES, tsvector
from headwater.chunking.profile import ChunkingProfile
from headwater.lexical import MOST, TERM_IDS, saturated, term_id


def _stored(store: Store, text: str, column: str) -> Any:
    terms = passage_terms(text, "english")
    with store.connection() as connection, connection.transaction():
        connection.execute("CREATE TEMP TABLE kept (tsv tsvector, bm sparsevec(1000000000)) ON COMMIT DROP")
        with connection.cursor() as cursor, cursor.copy("COPY kept FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(("tsvector", "sparsevec"))
            copy.write_row((tsvector(terms.places), weights(terms, 100.0)))
        return connection.execute(f"SELECT {column} FROM kept".encode()).fetchone()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("The cats and the cat", "'and':3 'cat':2,5 'the':1,4"),
        ("read_file 東京", "'file':1 'read':1 'readfil':1 '京':3 '東':2 '東京':2"),
        ("", ""),
    ],
)
def test_the_terms_are_read_back_with_their_places(store: Store, text: str, stored: str) -> None:
    assert _stored(store, text, "tsv::text") == (stored,)


def test_postgres_finds_the_terms_in_the_order_that_it_keeps_them_in(store: Store) -> None:
    """Terms out of order, as by length, are not found by a search in halves."""
    text = "zebra a aa b Ä éé 東 ab ba c# 10.2 z/ä"
    found = _stored(store, text, "(SELECT count(*) FROM unnest(tsv)), tsv = tsv::text::tsvector")
    assert found == (len(passage_terms(text, "english").places), True)
    for term in passage_terms(text, "english").places:
        quoted = "'" + term.replace("'", "''") + "'"
        assert _stored(store, text, f"tsv @@ $q${quoted}$q$::tsquery") == (True,), term


def test_weights_are_those_of_the_terms_numbers(store: Store) -> None:
    (vector,) = _stored(store, "cat cat dog", "bm")
    assert isinstance(vector, SparseVector)
    assert vector.dimensions() == TERM_IDS
    assert dict(zip(vector.indices(), vector.values(), strict=True)) == {
        term_id("cat"): pytest.approx(saturated(2, length=3, average=100.0)),
        term_id("dog"): pytest.approx(saturated(1, length=3, average=100.0)),
    }


@pytest.mark.parametrize(
    "text",
    [
        "word " * 40_000,
        " ".join(f"w{number}" for number in range(20_000)),
        "x" * 1_000_000,
        "\ufdfa" * 16_384,
        "東京" * 20_000,
        "a/b." * 20_000,
    ],
    ids=["one word", "many words", "a huge word", "letters of many letters", "no spaces", "a huge path"],
)
def test_a_row_holds_what_any_text_gives(store: Store, text: str) -> None:
    terms = passage_terms(text, "english")
    assert len(terms.places) <= TERMS
    most, last, count = _stored(
        store,
        text,
        "(SELECT max(cardinality(positions)) FROM unnest(tsv)), (SELECT max(p) FROM unnest(tsv), unnest(positions) p),"
        "(SELECT count(*) FROM unnest(tsv))",
    )
    assert most <= PLACES and last <= LAST_PLACE and count == len(terms.places)


def test_a_few_first_passages_do_not_decide_how_long_passages_are() -> None:
    """A first note of three lines would else make every later passage a long one for good."""
    profile = ChunkingProfile(1000, 100, 254)
    assert 60 < average([6], 36, profile) < 130
    assert average([150] * 128, 150 * 6 * 128, profile) == pytest.approx(147, abs=5)
    assert average([400] * 4, 250 * 4, profile) < 320  # of scripts without spaces


def test_one_word_in_a_drawing_does_not_make_passages_of_one_word() -> None:
    assert average([1], 1000, ChunkingProfile(1000, 100, 254)) > 20


def test_terms_that_share_a_number_have_no_more_of_it_than_one_can_have() -> None:
    """Or a passage that was not looked up could score more than what an answer that is exact leaves out."""
    known: dict[int, str] = {}
    one, other = next(
        (known[number], word) for word in _words() if known.setdefault(number := term_id(word), word) != word
    )

    (half,) = weights(passage_terms(f"{one} {other} " * 50, "none"), 100.0).values()
    assert 2 * saturated(50, length=100, average=100.0) > MOST == half


def _words() -> Iterator[str]:
    return map("".join, product("bcdfghjklmnpqrstvwxz", repeat=4))
