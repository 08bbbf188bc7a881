"""A filter in SQL says of any metadata what it says in Python."""

from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from headwater.filters import filter_parameters, filter_predicate, parse_filter

TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=4)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, -0.0, 2.0, 1e23, 10**23, 10**40, 5e-324, 1.7e308, 0.1, 2**53, 2.0**53, 2**53 + 1]),
    st.floats(allow_nan=False, allow_infinity=False),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.sampled_from(["", "1", "true", "null", "a", "A", "é"]))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner), max_leaves=4
)
KEYS = st.sampled_from(["k", "l", "a'b", "{schema}", "%s", "é"])
METADATA = st.dictionaries(KEYS, VALUES, max_size=4)
ORDERED = st.one_of(NUMBERS, TEXTS)
CONDITIONS = st.one_of(
    SCALARS,
    st.dictionaries(st.sampled_from(["eq", "ne"]), VALUES, min_size=1),
    st.dictionaries(st.sampled_from(["in", "nin"]), st.lists(VALUES, max_size=4), min_size=1),
    st.dictionaries(st.sampled_from(["gt", "gte", "lt", "lte"]), ORDERED, min_size=1),
    st.fixed_dictionaries({"between": st.tuples(NUMBERS, NUMBERS) | st.tuples(TEXTS, TEXTS)}),
)
FILTERS = st.dictionaries(KEYS, CONDITIONS, min_size=1, max_size=2)


def in_sql(
    connection: psycopg.Connection, written: dict[str, Any], document: dict[str, Any], chunk: dict[str, Any]
) -> bool:
    wanted = parse_filter(written)
    sql = (
        f"SELECT {filter_predicate(wanted)}"
        " FROM (SELECT %(document)s::jsonb AS metadata) d, (SELECT %(chunk)s::jsonb AS metadata) c"
    )
    bound = {**filter_parameters(wanted), "document": Jsonb(document), "chunk": Jsonb(chunk)}
    row = connection.execute(sql.encode(), bound).fetchone()
    assert row is not None
    return row[0] is True


@pytest.mark.parametrize("examples", [150, pytest.param(5_000, marks=pytest.mark.long)])
def test_the_store_and_python_agree_on_every_filter(reading: str, examples: int) -> None:
    with psycopg.connect(reading, autocommit=True) as connection:

        @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(written=FILTERS, document=METADATA, chunk=METADATA, data=st.data())
        def agree(
            written: dict[str, Any], document: dict[str, Any], chunk: dict[str, Any], data: st.DataObject
        ) -> None:
            merged = {**chunk, **document}
            draw: Any = data.draw
            if merged and draw(st.booleans()):  # a value that is there, which chance would seldom find
                key = draw(st.sampled_from(sorted(merged)))
                written = {**written, key: {draw(st.sampled_from(["eq", "ne"])): merged[key]}}
            wanted = parse_filter(written)
            assert wanted is not None
            assert in_sql(connection, written, document, chunk) == wanted.matches(merged)

        agree()


def test_texts_are_compared_by_code_points_whatever_the_database_sorts_by(reading: str) -> None:
    with psycopg.connect(reading, autocommit=True) as connection:
        assert in_sql(connection, {"k": {"lt": "a"}}, {"k": "B"}, {})
        assert in_sql(connection, {"k": {"gt": "z"}}, {"k": "é"}, {})


def test_a_null_of_the_document_hides_what_the_passage_says(reading: str) -> None:
    with psycopg.connect(reading, autocommit=True) as connection:
        assert in_sql(connection, {"page": None}, {"page": None}, {"page": 3})
        assert not in_sql(connection, {"page": 3}, {"page": None}, {"page": 3})
        assert in_sql(connection, {"page": 3}, {"other": None}, {"page": 3})


@pytest.mark.parametrize(
    ("condition", "stored"),
    [
        ({"gt": 1}, True),
        ({"gt": 1}, [2]),
        ({"gt": 1}, {"a": 2}),
        ({"lt": 1}, "0"),
        ({"lt": 1}, None),
        ({"lt": "b"}, 1),
        ({"lt": "b"}, None),
        ({"between": [0, 9]}, "5"),
        ({"between": ["0", "9"]}, 5),
    ],
)
def test_what_is_neither_both_a_number_nor_both_a_text_has_no_order(reading: str, condition: Any, stored: Any) -> None:
    """JSON in Postgres has one: null before texts before numbers before booleans before lists before objects."""
    with psycopg.connect(reading, autocommit=True) as connection:
        assert not in_sql(connection, {"k": condition}, {"k": stored}, {})
