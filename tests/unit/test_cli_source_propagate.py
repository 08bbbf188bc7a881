"""What a person reads of a propagated deletion."""

import pytest

from headwater.contracts import PropagateDeletionResult
from workers.cli.console import Output
from workers.cli.source_propagate import show


def shown(capsys: pytest.CaptureFixture[str], reason: str, *, tombstoned: int) -> list[str]:
    result = PropagateDeletionResult.model_validate(
        {"source_id": "fact", "ids": ["fact", "summary", "note"], "tombstoned": tombstoned, "layers": {"rag": 2}}
    )
    show(Output(), result, reason)
    return capsys.readouterr().out.splitlines()


def test_a_document_that_was_corrected_is_not_among_the_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = shown(capsys, "corrected", tombstoned=3)
    assert first == "2 hidden (corrected); removed: 2 stored passages."
    assert others == [
        "  summary",
        "  note",
        "fact itself is shown as before; what names it in its lineage stays hidden.",
    ]


def test_one_that_is_forgotten_is_the_first_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "forgotten", tombstoned=3)
    assert lines == ["3 hidden (forgotten); removed: 2 stored passages.", "  fact", "  summary", "  note"]


def test_what_is_asked_for_again_hides_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "corrected", tombstoned=0)[0].startswith("0 hidden")
