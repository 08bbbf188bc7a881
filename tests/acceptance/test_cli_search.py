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


def test_words_are_found_as_well_as_meaning_and_a_filter_narrows_both(
    up: CommandLine, corpus: str, tmp_path: Path
) -> None:
    shelf = files(
        tmp_path / "shelf",
        {
            "pump.md": "The pump is serviced in May.\n",
            "part.md": "Part XK-4471-B is kept in stock.\n",
            "tea.txt": "Tea at four.\n",
        },
    )
    up.json_here("sync", "folder", shelf, "--corpus", corpus, "--name", "words", "--grant", "everyone")
    search = ("search", "XK-4471-B", "--corpus", corpus, "--as", "anybody")

    def asked(*arguments: str) -> Any:
        return up.run_here(*search, *arguments, "--json").json["hits"]

    best = asked()[0]
    assert best["source_id"] == "folder:words/part.md" and best["provenance"]["retrieval"] == "hybrid"
    assert best["scores"]["lexical_rank"] == 1
    assert all(hit["provenance"]["retrieval"] == "vector" for hit in asked("--lexical", "off"))
    assert asked("--lexical", "fts", "--fusion", "weighted")[0]["source_id"] == "folder:words/part.md"
    assert [hit["source_id"] for hit in asked("--filter", "path=tea.txt")] == ["folder:words/tea.txt"]
    assert {hit["source_id"] for hit in asked("--filter", 'path:in=["tea.txt","pump.md"]')} == {
        "folder:words/tea.txt",
        "folder:words/pump.md",
    }
    assert asked("--rerank", "fake")[0]["source_id"] == "folder:words/part.md"

    narrowed = up.run_here(*search, "--filter", "pth=tea.txt")
    assert f"with these filters (`headwater status --corpus {corpus} --keys` lists" in narrowed.err
    assert up.json_here("status", "--corpus", corpus, "--keys")["keys"] == [
        {"key": "path", "sources": 3, "types": ["string"]}
    ]

    for arguments, words in (
        (("--filter", "path:like=tea"), "no operator 'like'"),
        (("--rerank", "magic"), "--rerank 'magic' is not known"),
        (("--lexical", "on"), "--lexical"),
    ):
        refused = up.run_here(*search, *arguments)
        assert refused.status == 2 and words in refused.err


def test_two_corpora_give_one_answer_that_says_which_is_which(up: CommandLine, corpus: str, tmp_path: Path) -> None:
    other = f"{corpus}-other"
    for name, text in ((corpus, "Leave is thirty days."), (other, "Leave is asked for in writing.")):
        shelf = files(tmp_path / name.rpartition("/")[2], {"leave.md": text})
        up.json_here("sync", "folder", shelf, "--corpus", name, "--name", "both", "--grant", "everyone")
    search = ("search", "leave", "--corpus", corpus, "--corpus", other, "--corpus", "t1/docs/none", "--as", "me")

    shown = up.run_here(*search)
    answer = up.run_here(*search, "--json")

    assert {hit["provenance"]["corpus_id"] for hit in answer.json["hits"]} == {
        corpus.rpartition("/")[2],
        other.rpartition("/")[2],
    }
    assert answer.json["generation"] is None
    assert corpus in shown.out and other in shown.out
    assert "Corpus t1/docs/none does not exist" in answer.err
    refused = up.run_here(*search, "--generation", "1")
    assert refused.status == 2 and "one corpus" in refused.err
