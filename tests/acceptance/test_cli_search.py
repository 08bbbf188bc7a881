"""`headwater search`: the past, and every passage compared."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine, files


@pytest.fixture
def corpus() -> str:
    return f"t1/docs/past-{next(_numbers)}"


_numbers = itertools.count(1)


def test_a_generation_shows_its_own_text_under_todays_grants(up: CommandLine, corpus: str, tmp_path: Path) -> None:
    folder = files(tmp_path / "docs", {"leave.md": "Leave is thirty days.\n"})
    sync = ("sync", "folder", folder, "--corpus", corpus)
    search = ("search", "leave", "--corpus", corpus, "--as", "alice")

    def asked(*arguments: str) -> Any:
        return up.run_here(*arguments, "--json").json

    first = up.json(*sync, "--grant", "user:alice")["generation"]
    (folder / "leave.md").write_text("Leave is thirty-one days.\n")
    second = up.json(*sync)["generation"]

    shown = {
        generation: [hit["text"] for hit in asked(*search, "--generation", str(generation))["hits"]]
        for generation in (first, second)
    }
    assert shown == {first: ["Leave is thirty days."], second: ["Leave is thirty-one days."]}
    assert asked(*search, "--generation", str(first))["generation"] == first
    assert asked(*search, "--exact")["hits"][0]["text"] == "Leave is thirty-one days."

    refused = up.run_here(*search, "--generation", str(second + 1))
    assert refused.status == 2
    assert (
        f"Generation {second + 1} of corpus {corpus} does not exist: choose one from {first} to {second}" in refused.err
    )

    up.json(*sync, "--grant", "user:bob")
    assert asked(*search, "--generation", str(first))["hits"] == []


def test_an_unknown_corpus_is_empty_at_any_generation(up: CommandLine) -> None:
    ended = up.run_here("search", "x", "--corpus", "t1/docs/none", "--as", "alice", "--generation", "3", "--json")
    assert (ended.status, ended.json["hits"], ended.json["generation"]) == (0, [], None)
    assert "does not exist" in ended.err


def test_an_address_in_capitals_is_told_how_it_is_known(up: CommandLine, corpus: str, tmp_path: Path) -> None:
    shelf = files(tmp_path / "shelf", {"a.md": "# Holidays\n"})
    up.json_here("sync", "folder", shelf, "--corpus", corpus, "--name", "capitals", "--grant", "user:ben@a.test")
    asked = up.run_here("search", "holidays", "--corpus", corpus, "--as", "Ben@A.test", "--group", "Staff")
    assert (asked.status, asked.out) == (0, "")
    assert "Nothing that Ben@A.test may read answers this. " in asked.err
    assert "in lower case: ask as ben@a.test." in asked.err
