"""Filters: what may be written, and what it means."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from headwater import LimitError, ValidationError
from headwater.filters import Condition, Filter, parse_filter


def nested(levels: int) -> list[Any]:
    return [nested(levels - 1)] if levels else []


def parsed(written: dict[str, Any]) -> Filter:
    wanted = parse_filter(written)
    assert wanted is not None
    return wanted


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        (1, [1, 1.0], [True, "1", 2, None, [1]]),
        (True, [True], [1, "true", False]),
        (None, [None], [0, False, ""]),
        ({"eq": {"a": [1, None]}}, [{"a": [1.0, None]}], [{"a": [1]}, {"a": [True, None]}, {}]),
        ({"eq": [1, 2]}, [[1, 2]], [[2, 1], [1], 1]),
        ({"ne": 1}, [True, "1", None, 2], [1, 1.0]),
        ({"in": [1, "a"]}, [1, 1.0, "a"], [True, "1", [1, "a"]]),
        ({"in": []}, [], [1, None]),
        ({"nin": [1, "a"]}, [True, None, "b"], [1.0, "a"]),
        ({"nin": []}, [1, None], []),
        ({"gt": 1}, [1.5, 2], [1, 0, True, "2", None, [2]]),
        ({"gte": 1}, [1, 1.0, 2], [0.5, True]),
        ({"lt": "b"}, ["a", "B", ""], ["b", "é", 1]),
        ({"lte": "é"}, ["z", "é"], ["ê", "😀"]),
        ({"between": [1, 3]}, [1, 2.5, 3], [0, 3.1, "2", True]),
        ({"between": ["a", "c"]}, ["a", "b", "c"], ["ca", "A", 1]),
        ({"between": [3, 1]}, [], [1, 2, 3]),
        ({"gte": 1, "lt": 3, "ne": 2}, [1, 2.5], [0, 2, 3]),
        (10**23, [10**23, 1e23], [10**23 + 1]),
    ],
)
def test_a_condition_holds_for_these_and_not_for_those(condition: Any, yes: list[Any], no: list[Any]) -> None:
    wanted = parsed({"key": condition})
    assert [value for value in [*yes, *no] if wanted.matches({"key": value})] == yes


@pytest.mark.parametrize("condition", [{"ne": 1}, {"ne": None}, {"nin": [1]}, {"nin": []}])
def test_a_missing_key_satisfies_what_excludes(condition: Any) -> None:
    assert parsed({"key": condition}).matches({"other": 1})


@pytest.mark.parametrize("condition", [1, None, {"in": [1]}, {"gt": 0}, {"lte": "z"}, {"between": [0, 9]}])
def test_a_missing_key_satisfies_nothing_else(condition: Any) -> None:
    assert not parsed({"key": condition}).matches({"other": 1})


def test_every_condition_has_to_hold() -> None:
    wanted = parsed({"year": {"gte": 2020}, "team": "hr"})
    assert wanted.matches({"year": 2021, "team": "hr"})
    assert not wanted.matches({"year": 2019, "team": "hr"}) and not wanted.matches({"year": 2021})


@pytest.mark.parametrize("written", [None, {}])
def test_where_nothing_is_written_nothing_is_filtered(written: dict[str, Any] | None) -> None:
    assert parse_filter(written) is None


def test_what_was_parsed_is_a_copy() -> None:
    values = ["a"]
    wanted = parsed({"key": {"in": values}})
    values.append("b")
    assert not wanted.matches({"key": "b"})


@pytest.mark.parametrize(
    "condition",
    [
        {"like": "a"},
        {"eq": 1, "GT": 2},
        {1: 2},
        {},
        [1, 2],
        {"in": "abc"},
        {"nin": 1},
        {"gt": True},
        {"lt": None},
        {"gte": [1]},
        {"between": [1]},
        {"between": [1, "2"]},
        {"between": [True, False]},
        {"between": 3},
        float("nan"),
        float("inf"),
        {"eq": {1: 2}},
        {"eq": {"a": object()}},
        {"in": [{1, 2}]},
        "a\x00b",
        {"eq": {"\ud800": 1}},
        1 << 5_000,
        b"bytes",
    ],
)
def test_what_has_no_meaning_is_refused_and_the_key_is_named(condition: Any) -> None:
    with pytest.raises(ValidationError, match="'the key'"):
        parse_filter({"the key": condition})


@pytest.mark.parametrize("written", ["key=value", [("key", 1)], {1: 1}, {"a\x00": 1}])
def test_what_is_no_mapping_of_keys_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError, match="filter"):
        parse_filter(written)


@pytest.mark.parametrize(
    ("written", "limit"),
    [
        ({str(number): 1 for number in range(33)}, "32"),
        ({"a": {"in": [*range(600)]}, "b": {"nin": [*range(600)]}}, "1,000"),
        ({"a": "é" * 33_000}, "65,536"),
        ({"a" * 257: 1}, "256"),
        ({"a": {"eq": nested(33)}}, "32"),
    ],
)
def test_too_much_is_refused_and_never_cut(written: dict[str, Any], limit: str) -> None:
    with pytest.raises(LimitError, match=limit):
        parse_filter(written)


class Endless(Mapping[str, Any]):
    """Has as many keys as anybody reads, and counts them."""

    def __init__(self, value: Any = 1) -> None:
        self.read = 0
        self._value = value

    def __iter__(self) -> Iterator[str]:
        while True:
            self.read += 1
            yield f"key {self.read}"

    def __getitem__(self, key: str) -> Any:
        return self._value

    def __len__(self) -> int:
        return 1


class Long(list[int]):
    """Says that it is short, and counts what is read of it."""

    read = 0

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[int]:
        while True:
            self.read += 1
            yield 1


def test_no_more_is_read_than_may_be_written() -> None:
    conditions, values, operators = Endless(), Endless(), Long()
    for written, limit in (
        (conditions, "more than 32 conditions"),
        ({"key": {"eq": values}}, "'key' has more than 65,536 bytes"),
        ({"key": {"in": operators}}, "'key' has more than 65,536 bytes"),
        ({"key": {"in": [1] * 2_000_000}}, "lists 2,000,000 values"),
        ({"key": {"eq": ["x" * 1_000] * 2_000_000}}, "'key' has more than 65,536 bytes"),
    ):
        with pytest.raises(LimitError, match=limit):
            parse_filter(written)

    assert conditions.read <= 34 and values.read <= 65_537 and operators.read <= 65_537


def test_what_a_subclass_says_of_itself_does_not_count() -> None:
    class Lying(int):
        def bit_length(self) -> int:
            return 1

        def __int__(self) -> int:
            return 3

    class Named(str):
        def __str__(self) -> str:
            return "other"

    with pytest.raises(ValidationError, match=r"'key' is compared with a value .* \(Lying\)"):
        parse_filter({"key": Lying(1 << 5_000)})
    wanted = parsed({Named("key"): {"in": [Lying(7), Named("text")]}})
    assert wanted.conditions == (Condition("key", "in", [7, "text"]),)
    assert [type(each) for each in (wanted.conditions[0].key, *wanted.conditions[0].value)] == [str, int, str]
