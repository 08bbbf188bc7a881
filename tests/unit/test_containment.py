"""What an activity's failure may say: our own sentences, and of all others nothing but their kind."""

import dataclasses
from datetime import timedelta

import psycopg
import pytest
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.containment import AT_ONCE, LONGEST_WAIT, SENTENCE_MAX, UNEXPECTED_ATTEMPTS, HandedOver, contained
from activities.store import StoreUnavailable
from activities.store.pages.publish import PublishingHeld
from headwater.connectors import SourceUnavailable, Throttled
from headwater.errors import TransientError
from workflows.policies import PERMANENT

SECRET = "the text of a document"


class Raising:
    def __init__(self, error: Exception) -> None:
        self._error = error

    @activity.defn(name="raising")
    @contained
    def run(self) -> None:
        raise self._error


def failure(error: Exception, *, attempt: int = 1) -> ApplicationError:
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.default_info(), attempt=attempt)
    with pytest.raises(ApplicationError) as raised:
        environment.run(Raising(error).run)
    assert raised.value.__cause__ is None, "a cause is written into the history too"
    return raised.value


def test_our_own_sentence_is_kept_and_its_type_decides_the_retry() -> None:
    error = failure(SourceUnavailable("The folder is gone."))
    assert (error.message, error.type) == ("The folder is gone.", "SourceUnavailable")
    assert error.type in PERMANENT


def test_an_outage_is_retried() -> None:
    for outage in (TransientError("Away."), StoreUnavailable("Postgres is away.")):
        error = failure(outage)
        assert error.type not in PERMANENT
        assert not error.non_retryable


def test_what_is_over_in_a_moment_is_retried_at_once() -> None:
    for passing in (HandedOver("The worker is stopping."), PublishingHeld("A re-index is about to end.")):
        error = failure(passing)
        assert error.type not in PERMANENT
        assert error.next_retry_delay == timedelta(milliseconds=100)


@pytest.mark.parametrize(
    ("told", "waited"),
    [
        (None, None),
        (7, timedelta(seconds=7)),
        (2.5, timedelta(seconds=2.5)),
        (0, AT_ONCE),
        (-3, AT_ONCE),
        (86_400 * 365, LONGEST_WAIT),
        (float("inf"), LONGEST_WAIT),
        (float("nan"), None),
    ],
)
def test_who_asks_to_be_left_alone_is_left_alone_as_long_as_asked_within_bounds(
    told: float | None, waited: timedelta | None
) -> None:
    for error in (
        failure(Throttled("Fewer calls.", retry_after_s=told)),
        failure(TransientError("Away.", retry_after_s=told)),
    ):
        assert error.type not in PERMANENT
        assert error.next_retry_delay == waited


@pytest.mark.parametrize("error", [ValueError(SECRET), KeyError(SECRET), psycopg.errors.CheckViolation(SECRET)])
def test_an_unforeseen_error_says_only_its_kind(error: Exception) -> None:
    said = failure(error)
    assert SECRET not in said.message
    assert type(error).__name__ in said.message


def test_an_unforeseen_error_is_given_up_after_some_attempts() -> None:
    assert not failure(ValueError(), attempt=UNEXPECTED_ATTEMPTS - 1).non_retryable
    assert failure(ValueError(), attempt=UNEXPECTED_ATTEMPTS).non_retryable


def test_a_long_sentence_is_cut() -> None:
    assert len(failure(SourceUnavailable("x" * 2_000_000)).message) == SENTENCE_MAX
