"""`headwater evaluate`: figures of a corpus, and what makes them mean less."""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine, files
from tests.rerank.server import Asked, answering, running_reranker

TEXTS = {
    "leave.md": "Annual leave is thirty days for everybody.\n",
    "pay.md": "Salaries arrive on the last banking day.\n",
    "food/lunch.md": "The canteen serves soup at noon.\n",
}
QUERIES = [
    {"id": "leave", "text": "annual leave days"},
    {"id": "lunch", "text": "canteen soup noon"},
    {"id": "unjudged", "text": "anything"},
]
QRELS = [
    {"qid": "leave", "docid": "leave", "rel": 2},
    {"qid": "leave", "docid": "gone", "rel": 2},
    {"qid": "lunch", "docid": "food/lunch.md", "rel": 1},
    {"qid": "lunch", "docid": "leave", "rel": 0},
    {"qid": "never asked", "docid": "pay", "rel": 1},
]


@pytest.fixture(scope="module")
def corpus(up: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three documents that Alice may read, one of them also Bob."""
    corpus = f"t1/docs/evaluated-{next(_numbers)}"
    folder = files(tmp_path_factory.mktemp("evaluated") / "docs", TEXTS)
    rule = folder.parent / "access.yaml"
    rule.write_text("- {path: leave.md, grant: ['user:alice', 'user:bob']}\n- {path: '**', grant: ['user:alice']}\n")
    up.json("sync", "folder", folder, "--corpus", corpus, "--name", "docs", "--access", rule)
    return corpus


_numbers = itertools.count(1)


class Files:
    """Queries and judgements on disk, and the options that name them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, **lines: Sequence[Mapping[str, Any]]) -> list[str]:
        options: list[str] = []
        files: dict[str, Sequence[Mapping[str, Any]]] = {"queries": QUERIES, "qrels": QRELS, **lines}
        for name, rows in files.items():
            path = self._folder / f"{name}.jsonl"
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            options += [f"--{name}", str(path)]
        return options


@pytest.fixture
def written(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_it_measures_what_a_reader_finds(up: CommandLine, corpus: str, written: Files) -> None:
    ended = up.run_here("evaluate", "--corpus", corpus, "--as", "alice", *written(), "--at", "3", "--at", "1", "--json")
    report = ended.json

    assert (ended.status, report["queries"], report["generation"]) == (0, 2, 1)
    assert report["metrics"] == [
        {"k": 1, "precision": 1.0, "recall": 0.75, "ndcg": 1.0},
        pytest.approx({"k": 3, "precision": 1 / 3, "recall": 0.75, "ndcg": (1 / 1.6309297535714573 + 1) / 2}),
    ]
    assert (report["mrr"], report["citation_coverage"]) == (1.0, 1.0)
    assert (report["unknown_documents"], report["unknown_queries"], report["unjudged_queries"]) == (1, 1, 1)
    assert "1 of 3 judged documents are not in corpus" in ended.err and "as not found: gone." in ended.err
    assert "1 judged queries are not in the file of queries, and are left out: never asked." in ended.err
    assert "1 queries have no relevant document, and are left out." in ended.err


def test_it_says_how_it_asked(up: CommandLine, corpus: str, written: Files) -> None:
    evaluate = ("evaluate", "--corpus", corpus, "--as", "alice", *written(), "--json")
    usual = up.run_here(*evaluate).json
    other = up.run_here(
        *evaluate, "--lexical", "fts", "--fusion", "weighted", "--rerank", "fake", "--candidates", "32", "--exact"
    ).json

    how = ("top_k", "candidates", "lexical", "fusion", "rerank", "exact")
    assert [usual[part] for part in how] == [32, None, "bm25", "rrf", None, False]
    assert [other[part] for part in how] == [32, 32, "fts", "weighted", "fake", True]
    assert other["metrics"][0]["recall"] == usual["metrics"][0]["recall"] == 0.75

    unknown = up.run_here(*evaluate, "--rerank", "nobody:x")
    assert (unknown.status, unknown.out) == (2, "")
    assert "--rerank 'nobody' is not known" in unknown.err
    short = up.run_here(*evaluate, "--candidates", "31")
    assert (short.status, short.out) == (2, "")
    assert "--candidates must be at least --top-k, which is 32." in short.err


def test_a_reader_of_less_finds_less(up: CommandLine, corpus: str, written: Files) -> None:
    ended = up.run_here("evaluate", "--corpus", corpus, "--as", "bob", *written(), "--json")

    assert ended.json["metrics"][0]["recall"] == 0.25
    nobody = up.run_here("evaluate", "--corpus", corpus, "--as", "nobody", *written(), "--json")
    assert nobody.json["empty"] == 2
    assert "2 of 2 queries found nothing that nobody may read: is a --group missing" in nobody.err


def test_a_person_gets_a_table(up: CommandLine, corpus: str, written: Files) -> None:
    ended = up.run_here("evaluate", "--corpus", corpus, "--as", "alice", *written())

    assert [line.split() for line in ended.out.splitlines()] == [
        ["2", "queries,", "32", "passages", "each,", "generation", "1"],
        ["first", "precision", "recall", "nDCG"],
        ["10", "0.100", "0.750", "0.807"],
        ["MRR", "1.000,", "citation", "coverage", "1.000"],
    ]


def test_the_citations_of_answers_are_held_against_what_is_found(up: CommandLine, corpus: str, written: Files) -> None:
    answers = [{"qid": "leave", "text": "Thirty [folder:docs/leave.md#0001], I guess [folder:docs/made-up.md#0001]."}]
    ended = up.run_here("evaluate", "--corpus", corpus, "--as", "alice", *written(answers=answers), "--json")

    assert ended.json["citation_coverage"] == 0.25
    assert "1 queries have no answer, which cites nothing: lunch." in ended.err


def test_a_query_that_cannot_be_asked_counts_as_not_answered(up: CommandLine, corpus: str, written: Files) -> None:
    queries = [{**QUERIES[0], "text": "x" * 20_000}, QUERIES[1]]
    ended = up.run_here("evaluate", "--corpus", corpus, "--as", "alice", *written(queries=queries), "--json")

    assert (ended.status, ended.json["mrr"]) == (0, 0.5)
    assert [refused["qid"] for refused in ended.json["refused"]] == ["leave"]
    assert "1 queries could not be asked, and count as not answered: leave: query has 20,000 characters" in ended.err

    none = up.run_here("evaluate", "--corpus", corpus, "--as", "alice", *written(queries=queries[:1]), "--json")
    assert (none.status, none.out) == (1, "")
    assert "No query can be asked: query has 20,000 characters" in none.err


@pytest.mark.parametrize(
    ("lines", "status", "says"),
    [
        ({"queries": [{"id": "a"}]}, 2, "queries.jsonl line 1 has no `text`"),
        ({"qrels": [{"qid": "x", "docid": "leave", "rel": 1}]}, 2, "judges no query of"),
    ],
)
def test_files_that_say_nothing_are_wrong_usage(
    up: CommandLine, corpus: str, written: Files, lines: dict[str, Any], status: int, says: str
) -> None:
    ended = up.run_here("evaluate", "--corpus", corpus, "--as", "alice", *written(**lines), "--json")

    assert (ended.status, ended.out) == (status, "")
    assert says in ended.err


def test_a_corpus_that_is_not_there_cannot_be_measured(up: CommandLine, written: Files) -> None:
    ended = up.run_here("evaluate", "--corpus", "t1/docs/none", "--as", "alice", *written(), "--json")

    assert (ended.status, ended.out) == (1, "")
    assert "Corpus t1/docs/none does not exist" in ended.err


def test_a_reranker_that_goes_beyond_its_bounds_ends_it_and_gives_no_figures(
    up: CommandLine, corpus: str, written: Files
) -> None:
    def longer_each_time(asked: Asked, stream: socket) -> None:
        scores = [{"index": place, "score": 1.0} for place in range(len(asked.json["texts"]))]
        answering(scores if len(server.asked) == 1 else [*scores, "x" * 70_000])(asked, stream)

    headwater = up.with_variables(HEADWATER_HOSTED_SENSITIVITIES="internal")
    with running_reranker(longer_each_time) as server:
        evaluate = ("evaluate", "--corpus", corpus, "--as", "alice", *written(), "--rerank", f"tei:{server.url}")
        ended = headwater.run_here(*evaluate)

    assert (len(server.asked), ended.status, ended.out) == (2, 1, ""), ended.err
    assert "TeiReranker" in ended.err and "count as not answered" not in ended.err
