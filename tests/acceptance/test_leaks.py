"""A document that somebody may not read is in nothing that commands print for them, nor in what they log."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.command_line import CommandLine, Ended, files
from tests.rerank.server import RunningReranker, by_words, in_order, running_reranker

CORPUS: Final = "t1/docs/guarded"
NAME: Final = "zqxname"  # of the file, and so in its id
MARKERS: Final = (NAME, "zqxtitle", "zqxtext")
SECRET: Final = "# Apples zqxtitle\n\nApples and pears: zqxtext.\n"
OPEN: Final = "# Apples\n\nApples and pears, for everybody.\n"


@pytest.fixture(scope="module")
def guarded(up: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    folder = files(tmp_path_factory.mktemp("guarded") / "docs", {f"{NAME}.md": SECRET, "open.md": OPEN})
    rule = folder.parent / "access.yaml"
    rule.write_text(
        f"- {{path: {NAME}.md, grant: ['user:bob']}}\n- {{path: '**', grant: ['user:alice', 'user:bob']}}\n"
    )
    up.json_here("sync", "folder", folder, "--corpus", CORPUS, "--name", "docs", "--access", rule)
    return up


@pytest.fixture(scope="module")
def reranker() -> Iterator[RunningReranker]:
    with running_reranker(by_words(lambda scores: in_order(scores, "score"), "texts")) as running:
        yield running


def said(ended: Ended) -> set[str]:
    printed = (ended.out + ended.err).lower()
    return {marker for marker in MARKERS if marker in printed}


def search(headwater: CommandLine, who: str, *arguments: str) -> Ended:
    return headwater.run_here("search", "apples and pears", "--corpus", CORPUS, "--as", who, "--debug", *arguments)


LEGS = [(), ("--lexical", "bm25"), ("--lexical", "fts", "--fusion", "weighted"), ("--exact",), ("--top-k", "32")]


@pytest.mark.parametrize("arguments", LEGS, ids=" ".join)
def test_searches_tell_it_to_whoever_may_read_it_and_to_nobody_else(
    guarded: CommandLine, arguments: tuple[str, ...]
) -> None:
    for form in ((), ("--json",)):
        to_alice, to_bob = search(guarded, "alice", *arguments, *form), search(guarded, "bob", *arguments, *form)
        assert (to_alice.status, said(to_alice)) == (0, set()) and "everybody" in to_alice.out
        assert (to_bob.status, said(to_bob)) == (0, set(MARKERS)), "or the search for it would prove nothing"


def test_a_reranker_on_the_wire_gets_it_for_whoever_may_read_it_and_for_nobody_else(
    guarded: CommandLine, reranker: RunningReranker
) -> None:
    headwater = guarded.with_variables(HEADWATER_HOSTED_SENSITIVITIES="internal")
    sent: dict[str, str] = {}
    for who in ("alice", "bob"):
        reranker.asked.clear()
        ended = search(headwater, who, "--lexical", "bm25", "--rerank", f"tei:{reranker.url}", "--json")
        assert ended.status == 0, ended.err
        sent[who] = "".join(asked.raw.decode() for asked in reranker.asked)

    assert "everybody" in sent["alice"] and not [marker for marker in MARKERS if marker in sent["alice"]]
    assert "zqxtext" in sent["bob"]


def test_errors_do_not_tell_it(guarded: CommandLine) -> None:
    for arguments in (("--generation", "99"), ("--top-k", "33"), ("--rerank", "unheard-of")):
        ended = search(guarded, "alice", "--lexical", "bm25", *arguments)
        assert ended.status != 0 and said(ended) == set()


def test_evaluation_and_the_recall_of_a_reader_do_not_tell_it(guarded: CommandLine, tmp_path: Path) -> None:
    queries, judgements = tmp_path / "queries.jsonl", tmp_path / "qrels.jsonl"
    queries.write_text(json.dumps({"id": "q", "text": "apples and pears"}) + "\n")
    judgements.write_text(json.dumps({"qid": "q", "docid": "open", "rel": 1}) + "\n")
    evaluated = guarded.run_here(
        *(
            "evaluate",
            "--corpus",
            CORPUS,
            "--as",
            "alice",
            "--queries",
            queries,
            "--qrels",
            judgements,
            "--debug",
            "--json",
        )
    )
    assert (evaluated.status, said(evaluated)) == (0, set()), evaluated.err

    for arguments in ((), ("--as", "alice"), ("--queries", str(queries))):
        recalled = guarded.run_here("doctor", "--recall", CORPUS, *arguments, "--debug", "--json")
        assert (recalled.status, said(recalled)) == (0, set()), recalled.err


def test_the_state_of_a_corpus_tells_no_text_and_no_title(guarded: CommandLine) -> None:
    """Operators see the ids of documents where they ask for documents, and only there."""
    whole = guarded.run_here("status", "--json", "--debug")
    assert whole.status == 0 and said(whole) == set()
    one = guarded.run_here("source", "show", f"folder:docs/{NAME}.md", "--corpus", CORPUS, "--json", "--debug")
    assert one.status == 0 and "zqxtext" not in one.out + one.err
