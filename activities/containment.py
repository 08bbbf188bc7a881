"""What leaves an activity when it fails: one sentence and a type, never a value that came out of a document.

Temporal writes every error into the history. A library's message may quote a row or a passage, so that an exception's
own words are kept only when this project wrote them.
"""

import functools
import math
import traceback
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory, CancelledError

import activities
import headwater
from activities.store import DuplicateRow
from activities.store.pages.publish import PublishingHeld
from headwater.errors import HeadwaterError, TransientError

log = structlog.get_logger()

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")

SENTENCE_MAX: Final = 1_000
# A fault nobody foresaw may be a passing one. After this many tries it is taken for a defect, and said.
UNEXPECTED_ATTEMPTS: Final = 5
AT_ONCE: Final = timedelta(milliseconds=100)  # for what is over before a first ordinary retry
# Of what another service asks us to wait. Asking it once an hour harms nobody, and a header of weeks would be a defect.
LONGEST_WAIT: Final = timedelta(hours=1)
_OURS: Final = tuple(f"{Path(package.__file__ or '').parent}/" for package in (activities, headwater))


class HandedOver(TransientError):
    """The worker is stopping; another one goes on where this one committed."""


def contained(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """An activity method whose errors are fit for a history."""

    @functools.wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 the boundary: nothing leaves as it was raised
            raise _fit(error) from None

    return run


def contained_async(
    method: Callable[Concatenate[S, P], Awaitable[R]],
) -> Callable[Concatenate[S, P], Awaitable[R]]:
    """The same for a coroutine."""

    @functools.wraps(method)
    async def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 the boundary
            raise _fit(error) from None

    return run


def _fit(error: Exception) -> Exception:
    """``error`` as a history may hold it."""
    if isinstance(error, ApplicationError | CancelledError):
        return error
    if isinstance(error, HandedOver | PublishingHeld):
        return _retried(error, str(error), after=AT_ONCE)
    if isinstance(error, TransientError):
        return _retried(error, str(error), after=told_wait(error.retry_after_s))
    if isinstance(error, DuplicateRow):
        # Another attempt wrote it meanwhile: the next one sees that. More often than that it is a defect.
        return _unexpected(error, str(error))
    if isinstance(error, HeadwaterError):
        return ApplicationError(str(error)[:SENTENCE_MAX], type=type(error).__name__)
    # What nobody foresaw is named by class and retried.
    return _unexpected(error, f"{activity.info().activity_type} failed with {type(error).__name__}.")


def told_wait(seconds: float | None) -> timedelta | None:
    """How long to wait, where the other side said it: no shorter than a retry at once, no longer than an hour."""
    if seconds is None or math.isnan(seconds):
        return None
    longest = LONGEST_WAIT.total_seconds()
    return max(AT_ONCE, timedelta(seconds=min(max(seconds, 0.0), longest)))


def _retried(error: Exception, sentence: str, *, after: timedelta | None = None) -> ApplicationError:
    return ApplicationError(
        sentence[:SENTENCE_MAX],
        type=type(error).__name__,
        next_retry_delay=after,
        category=ApplicationErrorCategory.BENIGN,
    )


def _unexpected(error: Exception, sentence: str) -> ApplicationError:
    attempt = activity.info().attempt
    log.error(
        "activity.failed", activity=activity.info().activity_type, attempt=attempt, error=type(error).__name__,
        where=where(error),
    )  # fmt: skip
    return ApplicationError(sentence, type="Unexpected", non_retryable=attempt >= UNEXPECTED_ATTEMPTS)


def where(error: BaseException) -> str:
    """File and line where ``error`` was raised, and where it came into this project: positions quote no document."""
    frames = [f"{frame.f_code.co_filename}:{line}" for frame, line in traceback.walk_tb(error.__traceback__)]
    if not frames:
        return ""
    ours = [frame for frame in frames if frame.startswith(_OURS)]
    return " < ".join(dict.fromkeys((frames[-1], *ours[-1:])))


def check_running() -> None:
    """Raises when the activity was cancelled or its worker is stopping: called between units of committed work."""
    if activity.is_cancelled():
        raise CancelledError("Cancelled between two batches.")
    if activity.is_worker_shutdown():
        raise HandedOver("The worker is stopping; another one goes on.")
