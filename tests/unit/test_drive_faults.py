"""The fault script of the Drive emulator: which call it strikes, and what the refusal says in Google's vocabularies."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.drive.error_json import Vocabulary, error_json
from tests.drive.errors import DriveError
from tests.drive.faults import Fault, Faults

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
EXPORT = "drive.files.export"


def meet(
    faults: Faults, method: str, file_id: str | None = None, *, email: str = "ada@a.test", now: datetime = NOON
) -> int | None:
    """The status that the script has for this call."""
    met = faults.meet(method, file_id=file_id, email=email, now=now)
    return None if met is None else met.status


def test_a_fault_strikes_the_nth_call_for_its_file_and_only_that() -> None:
    faults = Faults()
    faults.add(Fault(EXPORT, file_id="1", nth=2, status=500))

    assert [meet(faults, EXPORT, file_id) for file_id in ("1", "2", "1", "1")] == [None, None, 500, None]


def test_calls_of_other_methods_do_not_count() -> None:
    faults = Faults()
    faults.add(Fault("drive.changes.*", nth=2, status=410))

    methods = ("drive.changes.list", "drive.files.list", "drive.changes.getStartPageToken", "drive.changes.list")

    assert [meet(faults, method) for method in methods] == [None, None, 410, None]


def test_a_fault_can_be_for_good() -> None:
    faults = Faults()
    faults.add(Fault(status=503, times=None))

    assert [meet(faults, EXPORT) for _ in range(3)] == [503, 503, 503]

    faults.clear()

    assert meet(faults, EXPORT) is None


def test_a_fault_can_be_for_one_user() -> None:
    faults = Faults()
    faults.add(Fault(email="ben@a.test", status=403))

    assert meet(faults, EXPORT, email="ada@a.test") is None
    assert meet(faults, EXPORT, email="ben@a.test") == 403


def test_of_two_faults_for_one_call_the_first_strikes_and_both_count_it() -> None:
    faults = Faults()
    faults.add(Fault(EXPORT, status=500), Fault(EXPORT, status=429, times=2))

    assert [meet(faults, EXPORT) for _ in range(3)] == [500, 429, None]


def test_chance_strikes_the_same_calls_for_the_same_seed() -> None:
    def struck(seed: int) -> list[int | None]:
        faults = Faults()
        faults.randomly(0.3, seed=seed)
        return [meet(faults, EXPORT) for _ in range(200)]

    assert struck(1) == struck(1)
    assert struck(1) != struck(2)
    assert 30 < sum(status is not None for status in struck(1)) < 90


def test_chance_spares_the_token_endpoint() -> None:
    faults = Faults()
    faults.randomly(1.0, seed=1)

    assert faults.meet("token", file_id=None, email=None, now=NOON) is None
    assert meet(faults, EXPORT) is not None


def test_a_quota_is_per_user_and_per_minute() -> None:
    faults = Faults()
    faults.quota(2, retry_after="30")

    assert [meet(faults, EXPORT) for _ in range(3)] == [None, None, 403]
    assert meet(faults, EXPORT, email="ben@a.test") is None
    assert meet(faults, EXPORT, now=NOON + timedelta(seconds=61)) is None


@pytest.mark.parametrize(
    ("vocabulary", "has_errors", "has_details"),
    [("errors", True, False), ("details", False, True), ("both", True, True)],
)
def test_a_refusal_speaks_the_vocabulary_that_was_asked_for(
    vocabulary: Vocabulary, has_errors: bool, has_details: bool
) -> None:
    error = DriveError(403, "userRateLimitExceeded", "User Rate Limit Exceeded", domain="usageLimits")

    inner = error_json(error, vocabulary=vocabulary)["error"]

    assert inner["code"] == 403
    assert [each["reason"] for each in inner.get("errors", [])] == ["userRateLimitExceeded"] * has_errors
    assert [each["reason"] for each in inner.get("details", [])] == ["USER_RATE_LIMIT_EXCEEDED"] * has_details
    assert inner.get("status") == ("PERMISSION_DENIED" if has_details else None)
