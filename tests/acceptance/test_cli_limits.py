"""How much text `headwater search` and `headwater evaluate` ask for: as much as the library ever gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine, files

CORPUS = "t1/docs/very-long"
WHOLE, BEYOND = "30", "32"  # passages: 90 KB in less than 32,000 characters, and more characters than that
CHARACTERS = 4 * 8_000  # of so many tokens
USUAL_BYTES = 64 * 1024


@pytest.fixture(scope="module")
def folder(up: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of passages of 1,000 characters, three bytes each, and what is asked of it."""
    text = "".join(chr(ord("一") + number % 20_000) for number in range(40_000))
    shelf = files(tmp_path_factory.mktemp("long") / "docs", {"long.txt": text})
    up.json_here("sync", "folder", shelf, "--corpus", CORPUS, "--name", "long", "--grant", "everyone")
    (shelf.parent / "queries.jsonl").write_text(json.dumps({"id": "one", "text": "漢"}))
    (shelf.parent / "qrels.jsonl").write_text(json.dumps({"qid": "one", "docid": "long.txt", "rel": 1}))
    return shelf.parent


def test_a_search_gives_eight_thousand_tokens_whatever_their_bytes(up: CommandLine, folder: Path) -> None:
    def asked(top_k: str) -> Any:
        return up.run_here("search", "漢", "--corpus", CORPUS, "--as", "me", "--top-k", top_k, "--json").json

    whole, beyond = asked(WHOLE), asked(BEYOND)

    assert (whole["truncated"], len(whole["hits"])) == (False, int(WHOLE))
    assert len(whole["text"].encode()) > USUAL_BYTES
    assert (beyond["truncated"], len(beyond["text"])) == (True, CHARACTERS)


def test_an_evaluation_does_so_too(up: CommandLine, folder: Path) -> None:
    judged = ("--queries", folder / "queries.jsonl", "--qrels", folder / "qrels.jsonl")

    def truncated(top_k: str) -> Any:
        return up.json_here("evaluate", "--corpus", CORPUS, "--as", "me", *judged, "--top-k", top_k)["truncated"]

    assert (truncated(WHOLE), truncated(BEYOND)) == (0, 1)
