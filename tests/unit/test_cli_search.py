"""How a passage is shown to a person."""

import io
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from headwater.answering.recipe import OUTSIDE, UNASKED
from headwater.models import Hit, Provenance, RetrievalResult, Scope, Scores
from tests.unit.passages import make_result
from tests.unit.ranked_hits import ranked_hits
from workers.cli.app import run
from workers.cli.console import Output
from workers.cli.errors import WrongUsage
from workers.cli.passages import show
from workers.cli.search import _check_model


def shown(
    *,
    title: str | None,
    locator: str | None,
    text: str = "Words.",
    width: int | None = None,
    lexical: float | None = None,
) -> list[str]:
    provenance = Provenance(
        source_id="s", chunk_id="s#0001", citation_id="s#0001@1", provider="folder", tenant_id="t", resource_id="r",
        corpus_id="c", retrieval="vector", retrieved_at=datetime.now(UTC), revision=1,
    )  # fmt: skip
    hit = Hit(
        chunk_id="s#0001", source_id="s", text=text, score=0.7431, title=title, locator=locator, metadata={},
        scores=Scores(lexical=lexical),
        provenance=provenance, retrieval_rank=1,
    )  # fmt: skip
    output, written = Output(), io.StringIO()
    output.out = Console(
        file=written, width=width or 1000, force_terminal=width is not None, no_color=True, color_system=None,
        highlight=False,
    )  # fmt: skip
    show(output, RetrievalResult(query="q", text=text, hits=(hit,), citations=(), truncated=False, generation=1))
    return written.getvalue().splitlines()


@pytest.mark.parametrize(
    ("title", "locator", "heading"),
    [
        ("Leave", "Leave", "1. Leave  similarity 0.743"),
        ("Pay bands", "Pay bands › Reading it", "1. Pay bands › Reading it  similarity 0.743"),
        ("Pay", "Pay bands › Reading it", "1. Pay  Pay bands › Reading it  similarity 0.743"),
        ("Prices", "page 2", "1. Prices  page 2  similarity 0.743"),
        ("Prices", None, "1. Prices  similarity 0.743"),
        (None, None, "1. s  similarity 0.743"),
        ("T" * 10_000, None, f"1. {'T' * 199}…  similarity 0.743"),
        ("Prices\n2. Forged", None, "1. Prices 2. Forged  similarity 0.743"),
    ],
)
def test_a_title_is_shown_once(title: str | None, locator: str | None, heading: str) -> None:
    assert shown(title=title, locator=locator)[0] == heading


@pytest.mark.parametrize(
    ("lexical", "said"), [(11.661, ", words 11.7"), (0.0608, ", words 0.0608"), (0.0, ""), (None, "")]
)
def test_how_well_the_words_match_is_said_where_any_do(lexical: float | None, said: str) -> None:
    assert shown(title="T", locator=None, lexical=lexical)[0] == f"1. T  similarity 0.743{said}"


def test_a_passage_is_folded_to_the_terminal_and_a_pipe_gets_it_whole() -> None:
    text = f"{'word ' * 30}\n\n漢字{'漢' * 30}"
    on_a_terminal = shown(title="T", locator=None, text=text, width=40)[2:]

    assert all(line.startswith("   ") for line in on_a_terminal if line.strip())
    assert all(len(line.encode("gb18030")) <= 40 for line in on_a_terminal)  # two columns for what has two bytes there
    assert "".join("".join(on_a_terminal).split()) == "".join(text.split())
    assert [line.strip() for line in shown(title="T", locator=None, text=text)[2:5]] == [
        line.strip() for line in text.splitlines()
    ]


def test_a_search_that_failed_is_no_empty_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = RetrievalResult(
        query="q", text="", hits=(), citations=(), truncated=False, generation=1, check_error="Ask again."
    )
    monkeypatch.setattr("workers.cli.search._search", lambda *_: failed)

    assert run(["search", "q", "--corpus", "t/r/c", "--as", "alice"]) == 1
    told = capsys.readouterr()
    assert "Ask again." in told.err and "Nothing that" not in told.err and told.out == ""


def test_a_blank_question_is_told_from_one_that_nothing_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = RetrievalResult(query="", text="", hits=(), citations=(), truncated=False, generation=None)
    monkeypatch.setattr("workers.cli.search._search", lambda *_: nothing)

    for query, said in ((" ", "The question is blank"), ("q", "Nothing that alice may read answers this.")):
        assert run(["search", query, "--corpus", "t/r/c", "--as", "alice"]) == 0
        assert said in capsys.readouterr().err


def test_corpora_of_two_tenants_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "q", "--corpus", "t/r/c", "--corpus", "u/r/c", "--as", "alice"]) == 2
    assert "--corpus u/r/c is another tenant's than t/r/c" in capsys.readouterr().err


def test_corpora_of_two_models_are_named_with_what_they_were_made_with() -> None:
    scopes = Scope.parse("t/r/one"), Scope.parse("t/r/other")

    def builds(*specs: str) -> Any:
        made = (SimpleNamespace(embedder_identity=f"sha of {spec}", embedder_spec=spec) for spec in specs)
        return dict(zip(scopes, made, strict=True))

    _check_model(builds("hash:8", "hash:8"))
    with pytest.raises(WrongUsage, match="t/r/other was indexed with onnx:minilm and t/r/one with hash:8") as raised:
        _check_model(builds("hash:8", "onnx:minilm"))
    assert "`headwater reindex --corpus t/r/other --embedder hash:8`" in str(raised.value)


def test_that_a_reranker_was_given_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = make_result(*ranked_hits("one")).model_copy(update={"rerank_error": UNASKED.format(OUTSIDE)})
    monkeypatch.setattr("workers.cli.search._search", lambda *_: found)

    assert run(["search", "q", "--corpus", "t/r/c", "--as", "alice"]) == 0
    told = capsys.readouterr()
    assert "Warning: The reranker was given none of these passages" in told.err and "one" in told.out
    assert "it is asked outside, and HEADWATER_HOSTED_SENSITIVITIES lets none of their labels go." in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--top-k", "99"), "--top-k must be from 1 to 32, not 99."),
        (("--generation", "-5"), "--generation must be a whole number from 0"),
        (("--rerank", "nonsense"), "--rerank 'nonsense' is not known"),
        (("--filter", "a:between=1"), "between"),
        (
            tuple(part for number in range(8) for part in ("--corpus", f"t/r/{number}")),
            "--corpus names more than 8 corpora",
        ),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage_before_it_is_looked_which_corpora_exist(
    arguments: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))

    assert run(["search", "q", "--corpus", "t/r/c", "--as", "alice", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "home").exists(), "no service was started for it"
