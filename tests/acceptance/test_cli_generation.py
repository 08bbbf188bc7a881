"""Generations and garbage on the command line."""

from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.command_line import CommandLine, files

CORPUS: Final = "me/docs/generations"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return files(tmp_path_factory.mktemp("shelf"), {"a.md": "one", "b.md": "the other"})


@pytest.fixture(scope="module")
def headwater(up: CommandLine, folder: Path) -> CommandLine:
    """Generation 1 has both documents, 2 replaces one of them."""
    up.json_here("sync", "folder", folder, "--corpus", CORPUS, "--name", "shelf", "--grant", "everyone")
    files(folder, {"a.md": "two, and longer"})
    up.json_here("sync", "folder", folder, "--corpus", CORPUS, "--name", "shelf")
    return up


def test_the_generations_are_listed_and_one_of_them_is_shown(headwater: CommandLine) -> None:
    listed = headwater.json_here("generation", "list", "--corpus", CORPUS)
    assert (listed["live_generation"], listed["head_generation"], listed["oldest_generation"]) == (2, 2, 1)
    assert [(row["generation"], row["kind"], row["sources"]) for row in listed["generations"]] == [
        (2, "publish", 1),
        (1, "publish", 2),
    ]
    ended = headwater.run_here("generation", "rollback", "1", "--corpus", CORPUS)
    assert ended.status == 0, ended.err
    assert ended.out == f"Readers of {CORPUS} see generation 1 of build {listed['live_build']}.\n"
    assert "1 document shows an older text than the newest, or none: the next sync reads" in ended.err
    assert f"`headwater sync folder PATH --corpus {CORPUS} --full`" in ended.err
    shown = headwater.run_here("generation", "list", "--corpus", CORPUS)
    assert f"Readers of {CORPUS} see generation 1" in shown.out and "1 to 2 can be shown" in shown.out
    assert {row["language"] for row in listed["generations"]} == {"english"} and "english" in shown.out


def test_a_pinned_corpus_says_so_and_is_let_go(headwater: CommandLine, folder: Path) -> None:
    assert headwater.run_here("generation", "rollback", "1", "--corpus", CORPUS).status == 0
    pinned = headwater.run_here("generation", "pin", "--corpus", CORPUS)
    assert (pinned.status, pinned.out.endswith(", and stay there.\n")) == (0, True)
    files(folder, {"c.md": "the third"})
    synced = headwater.run_here("sync", "folder", folder, "--corpus", CORPUS, "--name", "shelf", "--json")
    assert '"generation":3' in synced.out.replace(" ", ""), "the last published, whatever readers see"
    assert "pinned: readers stay at generation 1; `headwater generation unpin" in synced.err
    assert headwater.json_here("status", "--corpus", CORPUS)["corpora"][0]["pinned"] is True
    assert " pinned" in headwater.run_here("status", "--corpus", CORPUS).out
    assert headwater.json_here("generation", "unpin", "--corpus", CORPUS) == {
        "generation": 3,
        "build": headwater.json_here("generation", "list", "--corpus", CORPUS)["live_build"],
        "pinned": False,
        "stale": 0,
    }


def test_a_re_index_says_what_it_made_and_a_propagated_deletion_is_listed(up: CommandLine, tmp_path: Path) -> None:
    corpus = f"{CORPUS}-anew"
    shelf = files(tmp_path / "anew", {"a.md": "Die Kündigungsfristen.", "b.md": "The other."})
    up.json_here("sync", "folder", shelf, "--corpus", corpus, "--name", "anew", "--grant", "user:me")

    german = up.run_here("reindex", "--corpus", corpus, "--language", "german")
    assert german.status == 0 and "words in german: 2 documents, 2 chunks; 0 chunks embedded, 2 reused" in german.out
    again = up.run_here("reindex", "--corpus", corpus)
    assert again.status == 0 and "is as asked for already, " in again.out and "words in german" in again.out
    assert up.json_here("status", "--corpus", corpus)["corpora"][0]["language"] == "german"
    assert " german" in up.run_here("status").out
    wrong = up.run_here("reindex", "--corpus", corpus, "--language", "klingon")
    assert wrong.status == 2 and "--language 'klingon' is unknown" in wrong.err

    hidden = up.run_here("source", "propagate", "folder:anew/a.md", "--corpus", corpus, "--as", "me")
    assert "1 hidden (forgotten); removed: 2 stored passages." in hidden.out
    rows = up.json_here("generation", "list", "--corpus", corpus)["generations"]
    assert [(row["generation"], row["kind"], row["sources"]) for row in rows] == [
        (3, "delete", 1), (2, "flip", 2), (1, "publish", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("rollback", "9", "--corpus", CORPUS), 2, f"Generation 9 of {CORPUS} is not there (1 to "),
        (("rollback", "--corpus", CORPUS, "--", "-1"), 2, "-1 is not in the range"),
        (("rollback", "1.5", "--corpus", CORPUS), 2, "1.5"),
        (("list", "--corpus", "me/docs/nowhere"), 1, "Corpus me/docs/nowhere holds nothing yet"),
        (("pin", "--corpus", "me/docs/nowhere"), 1, "Corpus me/docs/nowhere does not exist"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    headwater: CommandLine, arguments: tuple[str, ...], status: int, sentence: str
) -> None:
    ended = headwater.run_here("generation", *arguments)
    assert (ended.status, ended.out) == (status, "")
    assert sentence in ended.err


def test_garbage_is_collected_in_every_corpus_or_in_one(headwater: CommandLine, folder: Path) -> None:
    other = f"{CORPUS}-too"
    headwater.json_here("sync", "folder", folder, "--corpus", other, "--grant", "everyone")
    collected = headwater.json_here("gc")["corpora"]
    assert {CORPUS, other} <= {row["corpus"] for row in collected}
    assert {row["revisions"] for row in collected if row["corpus"] in (CORPUS, other)} == {0}  # all of it is young
    one = headwater.run_here("gc", "--corpus", CORPUS)
    assert one.status == 0, one.err
    assert one.out.startswith(f"{CORPUS}: freed 0 revisions") and one.out.count("\n") == 1
    assert headwater.run_here("gc", "--corpus", "me/docs/nowhere").status == 1
