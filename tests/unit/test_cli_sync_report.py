"""What a person is told at the end of a sync."""

import pytest

from headwater.contracts import SyncFailure, SyncResult
from workers.cli.console import Output
from workers.cli.denials import in_words
from workers.cli.one_sync import report


def told(capsys: pytest.CaptureFixture[str], **fields: object) -> list[str]:
    report(Output(), SyncResult.model_validate({"corpus": "t/r/c", "connector": "team", "generation": 4, **fields}))
    return capsys.readouterr().out.splitlines()


def test_a_sync_in_which_nothing_is_special_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, upserted=2, skipped=1, embedded_chunks=1) == [
        "t/r/c, connector team: 2 published, 1 unchanged, 0 deleted, 0 failed; 1 chunk embedded, 0 reused; generation 4."
    ]


def test_what_is_withheld_has_its_reason_in_words_and_what_to_do_also_if_nothing_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts, *why = told(capsys, withheld_reasons={"too_many_grantees": 1, "grants_unreadable": 3, "asleep": 1})
    assert "0 deleted, 5 withheld, 0 failed" in counts
    assert [line.partition(":")[0] for line in why] == [
        "  3 withheld (grants_unreadable)",
        "  1 withheld (asleep)",
        "  1 withheld (too_many_grantees)",
    ]
    assert "does not tell the connector's account who may read them: let it share them" in why[0]


def test_an_unshare_is_told_of_beside_what_is_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = told(capsys, skipped=3, regranted=2)
    assert "0 published, 3 unchanged, 2 with other readers, 0 deleted" in line


def test_failures_follow_with_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    failure = SyncFailure(source_id="drive:a", state="failed", reason="It broke.")
    assert told(capsys, failed=2, failures=[failure])[1:] == [
        "  failed: drive:a: It broke.",
        "  and 1 more: headwater status --corpus t/r/c --state STATE",
    ]


def test_a_reason_that_is_a_sentence_stays_as_it_is() -> None:
    assert in_words("It rests on b.") == "It rests on b."
    assert "robot@b.test" in in_words("grants_unreadable", account="robot@b.test")
