"""What `headwater source grant` says of grants that were not written."""

import pytest

from headwater.contracts import AccessOutcome, Conflict
from workers.cli.errors import CommandFailed
from workers.cli.source_grant import written


def test_a_lost_race_is_told_with_what_to_do() -> None:
    lost = AccessOutcome(
        source_id="a", outcome="conflict", access_version=7, conflict=Conflict(expected=6, actual=7)
    )  # fmt: skip
    with pytest.raises(CommandFailed, match=r"^Somebody else changed the grants of a .* \(access version 7\): look"):
        written(lost)


def test_too_many_grantees_are_a_failure() -> None:
    with pytest.raises(CommandFailed, match="not changed: too_many_grantees"):
        written(AccessOutcome(source_id="a", outcome="denied", access_version=1, reason="too_many_grantees"))


@pytest.mark.parametrize("outcome", ["set", "unchanged"])
def test_what_was_asked_for_is_no_failure(outcome: str) -> None:
    fine = AccessOutcome.model_validate({"source_id": "a", "outcome": outcome, "access_version": 1})
    assert written(fine) is fine
