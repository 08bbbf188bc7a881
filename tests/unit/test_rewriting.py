"""A query in other words: the original first, five at most, and the same ones every time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import LimitError, ValidationError
from headwater.rewriting import Glossary, variants

TERMS = {"ACME_CN": ["Acme China", "爱克美中国"], "REV": ["revenue", "turnover", "营收"]}


def test_a_name_is_replaced_by_its_code_and_then_by_its_other_names() -> None:
    assert Glossary(TERMS)("Why did turnover fall?") == (
        "Why did turnover fall?",
        "Why did REV fall?",
        "Why did revenue fall?",
        "Why did 营收 fall?",
    )


def test_codes_come_before_synonyms_and_five_are_the_most() -> None:
    asked = Glossary(TERMS)("acme china turnover")

    assert asked == (
        "acme china turnover",
        "ACME_CN turnover",
        "acme china REV",
        "Acme China turnover",
        "爱克美中国 turnover",
    )
    assert Glossary(TERMS, max_queries=2)("acme china turnover") == asked[:2]
    assert Glossary(TERMS, max_queries=1)("acme china turnover") == asked[:1]


def test_a_code_in_the_query_gives_its_synonyms() -> None:
    assert Glossary({"REV": ["revenue"]})("rev 2024") == ("rev 2024", "REV 2024", "revenue 2024")


def test_scripts_with_spaces_are_found_as_whole_words_and_others_anywhere() -> None:
    glossary = Glossary({"IT": ["информатика"], "营收": ["收入"]})

    assert glossary("with items") == ("with items",)
    assert glossary("мининформатика") == ("мининформатика",)
    assert glossary("为什么IT营收下滑") == ("为什么IT营收下滑", "为什么информатика营收下滑", "为什么IT收入下滑")
    assert Glossary({"X": ["ㄆㄇ"]})("ㄅㄆㄇㄈ") == ("ㄅㄆㄇㄈ", "ㄅXㄈ")  # as the words of passages are read
    assert Glossary({"X": ["ꀀꀁ"]})("ꀂꀀꀁ") == ("ꀂꀀꀁ", "ꀂX")
    assert glossary("it_department") == ("it_department",)


def test_the_longer_name_stands_where_two_begin() -> None:
    assert Glossary({"A": ["new york"], "B": ["new york city"]})("new york city hall") == (
        "new york city hall",
        "B hall",
    )


def test_nothing_is_replaced_twice() -> None:
    # What a replacement brings in is not read again.
    assert Glossary({"a": ["b c"], "c": ["d"]})("a") == ("a", "b c")


def test_a_query_without_names_stays_alone() -> None:
    assert Glossary(TERMS)("parking") == ("parking",) == Glossary({})("parking")


@given(
    st.text(max_size=40),
    st.dictionaries(st.sampled_from("abcİßſ营"), st.lists(st.text(min_size=1, max_size=3), max_size=3)),
)
def test_the_original_is_first_and_five_are_the_most_for_any_text(query: str, terms: dict[str, list[str]]) -> None:
    try:
        glossary = Glossary(terms)
    except ValidationError:  # two things of one name, or a blank one
        return
    found = glossary(query)

    assert found[0] == query and len(found) == len(set(found)) <= 5
    assert glossary(query) == found


def test_a_glossary_that_cannot_be_meant_is_refused() -> None:
    cannot_be_meant: tuple[Any, ...] = ({"A": "text"}, {"A": ["x"], "B": ["X"]}, {"A": [" "]}, {"A": [7]}, {"\x00": []})
    for terms in cannot_be_meant:
        with pytest.raises(ValidationError):
            Glossary(terms)
    for bad in (0, 6, True, 2.0):
        with pytest.raises(LimitError):
            Glossary({}, max_queries=bad)  # type: ignore[arg-type]  # the same
    with pytest.raises(LimitError):
        Glossary({"A": ["x" * 257]})
    with pytest.raises(LimitError):
        Glossary({str(number): [] for number in range(10_001)})


def test_a_large_glossary_and_a_long_query_take_no_time() -> None:
    glossary = Glossary({f"C{number}": [f"name {number} of a thing {'x' * (number % 90)}"] for number in range(4_000)})

    assert len(glossary("name 7 of a thing " * 900 + "c3999")) == 3


def test_variants_are_those_of_the_rewriter_behind_the_original() -> None:
    assert variants(None, "a") == ("a",)
    assert variants(lambda query: [query.upper(), "a", "b", "b"], "a") == ("a", "A", "b")
    assert variants(Glossary({"REV": ["revenue"]}), "revenue") == ("revenue", "REV")


def test_a_rewriter_that_misbehaves_is_an_error() -> None:
    for answer in ("text", None, [""], ["\ud800"], [7], {"a"}):
        with pytest.raises(ValidationError, match="rewriter"):
            variants(lambda _, answer=answer: answer, "a")  # type: ignore[misc]  # what an untyped host may give
    with pytest.raises(ValidationError, match="rewriter"):
        variants("glossary", "a")  # type: ignore[arg-type]  # the same
    with pytest.raises(LimitError, match="6 queries"):
        variants(lambda _: list("bcdef"), "a")
    with pytest.raises(LimitError, match="16,385"):
        variants(lambda _: ["x" * 16_385], "a")
