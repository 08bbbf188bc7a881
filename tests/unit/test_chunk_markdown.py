"""`chunk_markdown`: cuts before headings, and the headings each passage stands under."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.chunking import Heading, atx_headings, chunk_markdown, chunk_text
from headwater.chunking.headings import TITLE_MAX, stacks_at

POLICY = """Preamble to all that follows.

# Policy

Applies to all of us.

## 3.2 Leave

Fifteen days a year.

## 3.3 Sick

Call in early."""
LINES = st.lists(
    st.sampled_from(
        ["# A", "## B", "### C #", "#", "text", "", "```", "~~~", "    # code", "####### no", "字 🙂 text"]
    ),
    max_size=30,
)


def headings_of(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in atx_headings(text)]


def test_each_section_of_the_policy_is_a_chunk_with_its_headings() -> None:
    chunks = chunk_markdown(POLICY, source_id="policy", size=40, overlap=0)
    assert [chunk.text.splitlines()[0] for chunk in chunks] == [
        "Preamble to all that follows.",
        "# Policy",
        "## 3.2 Leave",
        "## 3.3 Sick",
    ]
    assert "heading" not in chunks[0].metadata
    assert [chunk.metadata["heading"] for chunk in chunks[1:]] == [
        ["Policy"],
        ["Policy", "3.2 Leave"],
        ["Policy", "3.3 Sick"],
    ]


def test_a_heading_of_the_caller_stays_on_every_chunk() -> None:
    chunks = chunk_markdown(POLICY, source_id="policy", size=40, overlap=0, metadata={"heading": "custom"})
    assert [chunk.metadata for chunk in chunks] == [{"heading": "custom"}] * 4


def test_a_cut_before_a_heading_is_better_than_a_later_blank_line() -> None:
    text = "aaaa aaaa\n# Title\n\nb"
    chunks = chunk_markdown(text, source_id="s", size=18, overlap=0)
    assert [chunk.text for chunk in chunks] == ["aaaa aaaa", "# Title\n\nb"]


def test_a_heading_that_starts_at_the_ceiling_opens_the_next_chunk() -> None:
    chunks = chunk_markdown("aaaa aaa\n# T\nb", source_id="s", size=8, overlap=0)
    assert [chunk.text for chunk in chunks] == ["aaaa aaa", "# T\nb"]


def test_a_chunk_that_starts_inside_a_section_has_the_headings_in_force_there() -> None:
    text = "# One\n\n" + "word " * 30 + "\n\n# Two\n\n" + "word " * 30
    chunks = chunk_markdown(text, source_id="s", size=60, overlap=20)
    second = text.index("# Two")
    assert {tuple(chunk.metadata["heading"]) for chunk in chunks if chunk.start < second} == {("One",)}
    assert {tuple(chunk.metadata["heading"]) for chunk in chunks if chunk.start >= second} == {("Two",)}
    assert any(chunk.start < second < chunk.end for chunk in chunks)


def test_an_overlap_that_starts_inside_a_heading_line_stands_under_it() -> None:
    text = "# A long heading"
    assert stacks_at(atx_headings(text), [0, 8]) == [["A long heading"], ["A long heading"]]


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "```sh", "~~~ `x`", "   ```", "- ```", "10. ```"])
def test_a_fenced_line_is_no_heading(fence: str) -> None:
    bare = fence.strip(" sh-10.x`~") or ("~~~" if "~" in fence else "`" * fence.count("`"))
    close = " " * (len(fence) - len(fence.lstrip(" -10."))) + bare
    text = f"# A\n\n{fence}\n# not a heading\n{close}\n\n## B\n"
    assert headings_of(text) == [(1, "A"), (2, "B")]


def test_fenced_lines_leave_the_section_of_the_chunk_alone() -> None:
    [chunk] = chunk_markdown("# A\n\n```\n# not a heading\n```\n\ntext", source_id="s")
    assert chunk.metadata == {"heading": ["A"]}
    chunks = chunk_markdown("# A\n\n```\n# not a heading\n```\n\ntext", source_id="s", size=12, overlap=0)
    assert [chunk.metadata["heading"] for chunk in chunks] == [["A"]] * len(chunks)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\n# a\n~~~\n# b\n```\n# C", ["C"]),  # another mark does not close
        ("````\n# a\n```\n# b\n````\n# C", ["C"]),  # nor does a shorter one
        ("```\n# a\n``` x\n# b\n```\n# C", ["C"]),  # nor one with text behind it
        ("```\n# a\n`````\n# C", ["C"]),  # a longer one does
        ("```\n# a", []),  # never closed: code to the end
        ("``` a`b\n# C", ["C"]),  # code within a line, no fence
        ("    ```\n# C", ["C"]),  # indented code
        ("```\n# a\n    ```\n# b", []),  # an indented mark does not close
        ("```\r\n# a\r\n```\r\n# C\r\n", ["C"]),
    ],
)
def test_fences_open_and_close_as_in_commonmark(text: str, expected: list[str]) -> None:
    assert [heading.title for heading in atx_headings(text)] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# Title", [(1, "Title")]),
        ("###### Six", [(6, "Six")]),
        ("####### Seven", []),
        ("#No space", []),
        ("#\tTab", [(1, "Tab")]),
        ("   # Indented", [(1, "Indented")]),
        ("    # Code", []),
        ("\t# Code", []),
        ("## Closed ##", [(2, "Closed")]),
        ("## Closed #####  ", [(2, "Closed")]),
        ("# C#", [(1, "C#")]),
        ("# Use of \\#", [(1, "Use of \\#")]),
        ("## ##", [(2, "")]),
        ("#", [(1, "")]),
        ("text # no", []),
        ("> # Quoted", []),
    ],
)
def test_a_heading_line_is_told_as_in_commonmark(line: str, expected: list[tuple[int, str]]) -> None:
    assert headings_of(f"before\n{line}\nafter") == expected


@pytest.mark.parametrize(
    ("text", "stack"),
    [
        ("# A\n### C\nx", ["A", "C"]),  # a skipped level keeps two entries
        ("# A\n### C\n## B\nx", ["A", "B"]),
        ("### C\n# A\nx", ["A"]),
        ("# A\n# B\nx", ["B"]),
        ("# A\n## B\n#\nx", []),  # a heading without a title ends the sections and names none
        ("# A\n##\nx", ["A"]),
    ],
)
def test_a_heading_ends_those_of_its_level_and_below(text: str, stack: list[str]) -> None:
    assert stacks_at(atx_headings(text), [len(text) - 1]) == [stack]


def test_stacks_are_found_for_offsets_in_any_order() -> None:
    headings = [Heading(0, 1, "A"), Heading(10, 2, "B"), Heading(20, 1, "C")]
    assert stacks_at(headings, [25, 5, 15, 20, 0]) == [["C"], ["A"], ["A", "B"], ["C"], ["A"]]


def test_an_endless_title_is_shortened_in_the_metadata_and_whole_in_the_text() -> None:
    text = f"# {'long ' * 200}\n\ntext"
    [chunk, *_] = chunk_markdown(text, source_id="s", size=4_000, overlap=0)
    [title] = chunk.metadata["heading"]
    assert len(title) <= TITLE_MAX and title.endswith("…")
    assert chunk.text == text


@given(LINES, st.integers(5, 60), st.integers(0, 4))
def test_a_chunk_that_begins_with_a_heading_carries_it_last(lines: list[str], size: int, overlap: int) -> None:
    text = "\n".join(lines)
    titles = {heading.start: heading.title for heading in atx_headings(text)}
    chunks = chunk_markdown(text, source_id="s", size=size, overlap=overlap)
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        if titles.get(chunk.start):
            assert chunk.metadata["heading"][-1] == titles[chunk.start]
        if not any(start <= chunk.start for start in titles):
            assert "heading" not in chunk.metadata


@given(st.text(alphabet="ab \n", max_size=200), st.integers(2, 40))
def test_without_headings_markdown_is_cut_like_text(text: str, size: int) -> None:
    assert chunk_markdown(text, source_id="s", size=size, overlap=1) == chunk_text(
        text, source_id="s", size=size, overlap=1
    )


@pytest.mark.parametrize(
    "text",
    ["# a\n" * 300_000, "# " + " \t" * 1_000_000 + "x", "##" + " #" * 1_000_000, "x\n" + " " * 1_000_000 + "#"],
    ids=["headings", "a blank title", "closing hashes", "indentation"],
)
def test_hostile_markdown_takes_linear_time(text: str) -> None:
    began = time.process_time()
    chunk_markdown(text, source_id="s", size=2_000, max_chunks=8_192, max_chars=8_388_608)
    assert time.process_time() - began < 10  # 0.4 s here; a quadratic pattern takes an hour
