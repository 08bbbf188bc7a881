"""How a filter is typed: a key, an operator, and JSON where it is JSON."""

from typing import Any

import pytest

from headwater.filters import OPERATORS
from workers.cli.errors import WrongUsage
from workers.cli.filters import filter_of


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("category=security", {"category": {"eq": "security"}}),
        ("year=2024", {"year": {"eq": 2024}}),
        ('year="2024"', {"year": {"eq": "2024"}}),
        ("draft=true", {"draft": {"eq": True}}),
        ("draft=True", {"draft": {"eq": "True"}}),
        ("year:gte=2024", {"year": {"gte": 2024}}),
        ('tag:in=["a","b"]', {"tag": {"in": ["a", "b"]}}),
        ("equation=a=b", {"equation": {"eq": "a=b"}}),
        ("dc:title:eq=Leave", {"dc:title": {"eq": "Leave"}}),
        ("note=", {"note": {"eq": ""}}),
        ("n=NaN", {"n": {"eq": "NaN"}}),
        ("n=null", {"n": {"eq": None}}),
        ("n=" + "[" * 100_000, {"n": {"eq": "[" * 100_000}}),
    ],
)
def test_a_value_is_json_where_it_is_json(given: str, expected: dict[str, Any]) -> None:
    assert filter_of([given]) == expected


def test_every_operator_of_the_library_can_be_typed() -> None:
    assert [next(iter(filter_of([f"k:{operator}=1"])["k"])) for operator in OPERATORS] == list(OPERATORS)  # type: ignore[index]  # never None


def test_several_are_fulfilled_together() -> None:
    assert filter_of(["year:gte=2020", "year:lt=2024", "draft=false"]) == {
        "year": {"gte": 2020, "lt": 2024},
        "draft": {"eq": False},
    }
    assert filter_of([]) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["category"], "must be written KEY=VALUE"),
        (["=x"], "names no key"),
        (['x:ne={"a":1,"a":2}'], "'x' is compared with an object that has 'a' twice"),
        (['x=[{"b":{"a":1,"c":0,"a":1}}]'], "has 'a' twice"),
        ([":eq=x"], "names no key"),
        (["year:after=2024"], "no operator 'after': use eq, ne, in"),
        (["year=1", "year:eq=2"], "year:eq is given twice"),
    ],
)
def test_what_is_no_filter_is_wrong_usage(given: list[str], words: str) -> None:
    with pytest.raises(WrongUsage, match=words):
        filter_of(given)
