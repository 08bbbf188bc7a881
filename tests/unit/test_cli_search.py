"""How a passage is shown to a person."""

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from headwater.models import Hit, Provenance, RetrievalResult
from workers.cli.app import run
from workers.cli.console import Output
from workers.cli.search import show


def shown(*, title: str | None, locator: str | None, text: str = "Words.", width: int | None = None) -> list[str]:
    provenance = Provenance(
        source_id="s", chunk_id="s#0001", citation_id="s#0001@1", provider="folder", tenant_id="t", resource_id="r",
        corpus_id="c", retrieval="vector", retrieved_at=datetime.now(UTC), revision=1,
    )  # fmt: skip
    hit = Hit(
        chunk_id="s#0001", source_id="s", text=text, score=0.7431, title=title, locator=locator, metadata={},
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
