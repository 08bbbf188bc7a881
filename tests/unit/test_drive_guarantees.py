"""The list of guarantees of the Drive connector names tests, and each of them is there."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent.parent
GUARANTEES: Final = TESTS / "drive" / "GUARANTEES.md"
NAMED: Final = re.compile(r"`([\w/]+\.py)::(\w+)`")
OF_GUARANTEES: Final = ("test_drive_reports_*.py", "test_drive_points_*.py")
"""Files that hold nothing but what the list is about."""

NO_TEST: Final = "–"
"""Begins the last column where there is nothing to test; why not is said behind it."""


def rows() -> Iterator[list[str]]:
    """The cells of each row, without the headings."""
    lines = GUARANTEES.read_text("utf-8").splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        is_heading = line.startswith("|---") or not before.startswith("|")
        if line.startswith("|") and not is_heading:
            yield [cell.strip() for cell in line.strip("|").split("|")]


@cache
def names_in(file: str) -> set[str]:
    """The names of the tests in a file; none if there is no such file."""
    path = TESTS / file
    if not path.exists():
        return set()
    nodes = ast.walk(ast.parse(path.read_bytes()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_test_that_is_named_is_there() -> None:
    named = NAMED.findall(GUARANTEES.read_text("utf-8"))

    assert [
        f"{file}::{test}" for file, test in named if not test.startswith("test_") or test not in names_in(file)
    ] == []


def test_each_test_of_a_guarantee_is_named() -> None:
    named = {(file, test) for file, test in NAMED.findall(GUARANTEES.read_text("utf-8"))}
    files = [f"integration/{file.name}" for kind in OF_GUARANTEES for file in (TESTS / "integration").glob(kind)]
    tests = {(file, name) for file in files for name in names_in(file) if name.startswith("test_")}

    assert len(tests) > 20
    assert sorted(tests - named) == []


def test_each_row_says_what_happens_and_what_must_hold_and_names_a_test() -> None:
    for row in rows():
        assert len(row) == 3 and all(row), row
        assert NAMED.search(row[2]) or row[2].startswith(NO_TEST), row


def test_no_row_stands_twice() -> None:
    told = [row[0] for row in rows()]

    assert sorted(told) == sorted(set(told))
