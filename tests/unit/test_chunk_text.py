"""`chunk_text`: the exact values that citations and the reuse of embeddings rest on, and what holds for any text."""

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.chunking import Chunk, chunk_text
from headwater.errors import LimitError, ValidationError
from headwater.ids import chunk_id

GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda"
# Many separators, few letters: most random texts of it meet every branch.
TEXTS = st.text(alphabet="ab#\n\t  字🙂\u3000\u00a0", max_size=300)


def offsets(chunks: list[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in chunks]


def test_the_words_of_the_guide_are_cut_at_spaces_with_overlap() -> None:
    chunks = chunk_text(GREEK, source_id="guide", size=24, overlap=6)
    assert [chunk.id for chunk in chunks] == ["guide#0001", "guide#0002", "guide#0003", "guide#0004"]
    assert [chunk.index for chunk in chunks] == [0, 1, 2, 3]
    assert offsets(chunks) == [(0, 22), (17, 39), (34, 56), (51, 63)]
    assert [chunk.text for chunk in chunks] == [GREEK[start:end] for start, end in offsets(chunks)]
    assert chunks == chunk_text(GREEK, source_id="guide", size=24, overlap=6)


@pytest.mark.parametrize("blank", ["", "   \n", "\t\u3000\u00a0\n\n"])
def test_blank_text_has_no_chunks(blank: str) -> None:
    assert chunk_text(blank, source_id="s") == []


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("aaaa bbbb", 4, [(0, 4), (5, 9)]),  # the space starts exactly at the ceiling
        ("aaaa\n\nbbbb", 4, [(0, 4), (6, 10)]),  # a blank line too, which ends two characters behind it
        ("aaaabbbb", 4, [(0, 4), (4, 8)]),  # no separator: cut at the ceiling
        ("a bbbbbbbb", 6, [(0, 6), (6, 10)]),  # a separator in the first half is no place to cut
        ("aaa bbbbbb", 6, [(0, 3), (4, 10)]),  # one exactly half way is
        ("aaa\nbb cc", 7, [(0, 6), (7, 9)]),  # half of 7 is 3.5: the line end at 3 is in the first half
        ("aaaa\nbb cc", 8, [(0, 4), (5, 10)]),  # a line end is better than a later space
        ("aaaa\n\nb\ncc", 8, [(0, 4), (6, 10)]),  # and a blank line better than a later line end
        ("aaaa\n#b cc", 8, [(0, 4), (5, 10)]),  # headings mean nothing in plain text
        ("  aa  ", 4, [(2, 4)]),
        ("a", 1, [(0, 1)]),
        ("ab", 1, [(0, 1), (1, 2)]),
    ],
)
def test_text_is_cut_at_the_best_separator_of_the_second_half(
    text: str, size: int, expected: list[tuple[int, int]]
) -> None:
    assert offsets(chunk_text(text, source_id="s", size=size, overlap=0)) == expected


def test_overlap_may_start_inside_a_word() -> None:
    assert [chunk.text for chunk in chunk_text("abcdefghij", source_id="s", size=6, overlap=2)] == ["abcdef", "efghij"]


def test_an_overlap_of_all_but_one_character_still_moves_on() -> None:
    chunks = chunk_text("abcdef", source_id="s", size=3, overlap=2)
    assert [chunk.text for chunk in chunks] == ["abc", "bcd", "cde", "def"]


def test_offsets_count_code_points() -> None:
    text = "🙂🙂 👩‍👩‍👧 one two three 字 four five"
    chunks = chunk_text(text, source_id="s", size=8, overlap=2)
    assert chunks[0].text == "🙂🙂 👩‍👩‍👧"
    assert all(chunk.text == text[chunk.start : chunk.end] for chunk in chunks)


@given(TEXTS, st.integers(1, 40), st.data())
def test_every_chunk_is_its_slice_and_nothing_visible_is_left_out(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    chunks = chunk_text(text, source_id="s", size=size, overlap=overlap)
    covered: set[int] = set()
    for number, chunk in enumerate(chunks):
        assert (chunk.index, chunk.id) == (number, f"s#{number + 1:04d}")
        assert chunk.text == text[chunk.start : chunk.end]
        assert 0 < len(chunk.text) <= size
        assert chunk.text == chunk.text.strip()
        covered.update(range(chunk.start, chunk.end))
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())
    starts = [chunk.start for chunk in chunks]
    assert starts == sorted(set(starts))


@given(TEXTS, st.integers(1, 40))
def test_without_overlap_chunks_never_meet(text: str, size: int) -> None:
    found = offsets(chunk_text(text, source_id="s", size=size, overlap=0))
    assert all(end <= start for (_, end), (start, _) in pairwise(found))


@pytest.mark.parametrize(
    "arguments",
    [
        {"size": 10, "overlap": 10},
        {"size": 10, "overlap": 11},
        {"size": 0, "overlap": 0},
        {"size": 16_385},
        {"size": 16_384, "overlap": 4_097},
        {"overlap": -1},
        {"max_chunks": 0},
        {"max_chunks": 8_193},
        {"max_chars": 0},
        {"max_chars": 8_388_609},
        {"max_chars": 5},
    ],
)
def test_what_is_above_a_cap_is_an_error_and_never_less(arguments: dict[str, Any]) -> None:
    with pytest.raises(LimitError):
        chunk_text("abcdef", source_id="s", **arguments)


@pytest.mark.parametrize("argument", ["size", "overlap", "max_chunks", "max_chars"])
@pytest.mark.parametrize("value", [10.0, "10", True, None])
def test_a_limit_is_a_whole_number(argument: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=f"{argument} must be a whole number"):
        chunk_text("abcdef", source_id="s", **{argument: value})


def test_the_caps_themselves_are_allowed() -> None:
    chunks = chunk_text("abcdef", source_id="s", size=16_384, overlap=4_096, max_chunks=8_192, max_chars=8_388_608)
    assert [chunk.text for chunk in chunks] == ["abcdef"]
    assert len(chunk_text("abcdef", source_id="s", max_chars=6)) == 1


def test_one_chunk_more_than_allowed_is_an_error_that_names_the_document() -> None:
    text = "a " * 2_048
    assert len(chunk_text(text, source_id="s", size=1, overlap=0)) == 2_048
    with pytest.raises(LimitError, match=r"Document s gives more than the 2,048 chunks"):
        chunk_text(text + "a", source_id="s", size=1, overlap=0)


def test_chunk_numbers_grow_past_four_digits() -> None:
    assert [chunk_id("s", number) for number in (1, 9_999, 10_000)] == ["s#0001", "s#9999", "s#10000"]


@pytest.mark.parametrize("source_id", ["", "a\nb", "a[b]", "a b", "a#b", "字", "x" * 257])
def test_a_source_id_outside_the_grammar_is_refused(source_id: str) -> None:
    with pytest.raises(ValidationError, match="source_id"):
        chunk_text("text", source_id=source_id)


def test_metadata_is_copied_to_each_chunk() -> None:
    metadata = {"tags": ["one"], "lang": "en"}
    first, second = chunk_text("aaaa bbbb", source_id="s", size=4, overlap=0, metadata=metadata)
    metadata["tags"].append("two")  # type: ignore[attr-defined]  # the point of the test
    assert first.metadata == second.metadata == {"tags": ["one"], "lang": "en"}
    first.metadata["tags"].append("three")
    assert second.metadata == {"tags": ["one"], "lang": "en"}


def test_plain_text_has_no_headings_of_its_own_and_keeps_the_callers() -> None:
    assert chunk_text("# x", source_id="s")[0].metadata == {}
    assert chunk_text("# x", source_id="s", metadata={"heading": "custom"})[0].metadata == {"heading": "custom"}


@pytest.mark.parametrize(
    "metadata",
    [{1: "a"}, {"a": {2: "b"}}, {"a": (1, 2)}, {"a": {1, 2}}, {"a": float("nan")}, {"a": "\ud800"}, [["a", 1]], "ab"],
)
def test_metadata_that_is_no_json_object_is_refused(metadata: Any) -> None:
    with pytest.raises(ValidationError, match="metadata of s"):
        chunk_text("text", source_id="s", metadata=metadata)


def test_metadata_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["a"] = loop
    with pytest.raises(ValidationError, match="metadata of s"):
        chunk_text("text", source_id="s", metadata=loop)


def test_metadata_may_have_64_kib_and_not_a_byte_more() -> None:
    room = 65_536 - len(json.dumps({"a": ""}, separators=(",", ":")))
    text = "é" * (room // 2) + "x" * (room % 2)
    assert chunk_text("text", source_id="s", metadata={"a": text})[0].metadata["a"] == text
    with pytest.raises(LimitError, match="65,537 bytes"):
        chunk_text("text", source_id="s", metadata={"a": text + "x"})


def test_chunks_are_frozen() -> None:
    [chunk] = chunk_text("text", source_id="s")
    with pytest.raises(ValueError, match="frozen"):
        chunk.text = "other"


def test_eight_million_characters_without_a_separator_take_linear_time() -> None:
    text = "x" * 8_000_000
    began = time.process_time()
    chunks = chunk_text(text, source_id="s", max_chunks=8_192, max_chars=8_388_608, size=1_100, overlap=100)
    assert len(chunks) == 8_000
    assert time.process_time() - began < 5  # 0.1 s here; a quadratic loop takes minutes


@pytest.mark.parametrize("gap", [" ", "\n", "\u3000"])
def test_eight_million_blanks_take_linear_time(gap: str) -> None:
    text = "a" + gap * 8_000_000 + "b"
    began = time.process_time()
    assert [chunk.text for chunk in chunk_text(text, source_id="s", max_chars=8_388_608)] == ["a", "b"]
    assert time.process_time() - began < 5
