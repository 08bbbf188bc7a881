"""What Drive says with a refusal: its reasons in either vocabulary, and for how long it wants to be left alone.

The client's own reading prefers ``details`` to ``errors`` and so hides one of them, and it ignores ``Retry-After``.
Drive's sentences are not kept: they may name people and files.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeGuard

# A time on the other side's clock is rounded to seconds: asked at its very second, Drive may refuse again.
MARGIN_S: Final = 1.0
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,63}\Z")
_SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?\Z")
_AFTER: Final = re.compile(
    r"\b[Rr]etry after ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2}))"
)


@dataclass(frozen=True, slots=True)
class Told:
    """A refusal. ``is_shaped`` says that Drive's own servers wrote it: a proxy's page says nothing of any document."""

    status: int
    reasons: tuple[str, ...] = ()
    parameter: str | None = None  # that was refused, spelled like a reason's key
    retry_after_s: float | None = None
    is_shaped: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The reasons without what tells the vocabularies apart: ``rateLimitExceeded`` is ``RATE_LIMIT_EXCEEDED``."""
        return tuple(map(_key, self.reasons))

    def __str__(self) -> str:
        """``403 userRateLimitExceeded``."""
        return " ".join([str(self.status), *self.reasons[:1]])


def read_refusal(status: int, headers: Mapping[str, str], content: bytes, *, now: datetime) -> Told:
    """What an answer with this error status says. ``headers`` have lower-case names."""
    error = _error_of(content)
    entries = [entry for key in ("errors", "details") for entry in _objects(error.get(key))]
    reasons = [*(entry.get("reason") for entry in entries), error.get("status")]
    parameters = [entry.get("location") for entry in entries]
    parameters += [field.get("field") for entry in entries for field in _objects(entry.get("fieldViolations"))]
    return Told(
        status=status,
        reasons=tuple(dict.fromkeys(reason for reason in reasons if _is_word(reason))),
        parameter=next((_key(name) for name in parameters if _is_word(name)), None),
        retry_after_s=_wait_s(headers, error, entries, now=now),
        is_shaped=bool(error),
    )


def _error_of(content: bytes) -> Mapping[str, Any]:
    """The ``error`` object of an answer; an OAuth server's ``{"error": "code"}`` counts as one."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if isinstance(answer, list) and answer:
        answer = answer[0]
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, str):
        return {"status": error}
    return error if isinstance(error, dict) else {}


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def _key(word: str) -> str:
    return word.replace("_", "").lower()


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _WORD.match(value) is not None


def _wait_s(
    headers: Mapping[str, str], error: Mapping[str, Any], entries: list[Mapping[str, Any]], *, now: datetime
) -> float | None:
    """The longest of the times that were given: in the header, in a detail, or in the middle of a sentence."""
    # Its clock and ours may differ by more than the wait.
    theirs = _date(headers.get("date", "")) or now
    given = [_seconds(headers.get("retry-after", ""))]
    if until := _date(headers.get("retry-after", "")):
        given.append(_until_s(until, theirs))
    for delay in (entry.get("retryDelay") for entry in entries):
        given.append(_seconds(delay.removesuffix("s")) if isinstance(delay, str) else None)
    message = error.get("message")
    if isinstance(message, str) and (found := _AFTER.search(message)):
        try:
            given.append(_until_s(datetime.fromisoformat(found[1]), theirs))
        except ValueError:  # the thirteenth month
            pass
    return max((seconds for seconds in given if seconds is not None), default=None)


def _seconds(text: str) -> float | None:
    return float(text) if _SECONDS.match(text.strip()) else None


def _date(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _until_s(until: datetime, theirs: datetime) -> float:
    return max(0.0, (until - theirs).total_seconds() + MARGIN_S)


__all__ = ["MARGIN_S", "Told", "read_refusal"]
