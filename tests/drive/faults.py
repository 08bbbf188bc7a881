"""Faults by script: which call goes wrong, and how.

A fault is written for a method, a file and a count of calls ("the second export of this file"), so that a test says
exactly what it means; `randomly` and `quota` are for walks, where what matters is that anything may go wrong.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from threading import Lock
from typing import Final

from tests.drive.error_json import Vocabulary


@dataclass(frozen=True)
class Fault:
    """What goes wrong with the calls that it is for."""

    method: str = "*"
    """A method's id, or a pattern of ids: `drive.permissions.list`, `drive.changes.*`. `drive.files.get:media` is a
    download, `drive.files.export:media` an export as clients make it, `exportLink` and `downloadUri` are those of large exports, `token` is the token endpoint."""

    file_id: str | None = None
    """The file (or shared drive) that is asked for; `None` is any, and a call that names none."""

    email: str | None = None
    """Who asks; `None` is anybody."""

    nth: int = 1
    """The first call that goes wrong, of those that the fault is for."""

    times: int | None = 1
    """How many calls go wrong from there on; `None` is all of them."""

    status: int | None = None
    """The answer is this error; `None` leaves the answer, late or cut."""

    reason: str = "backendError"
    message: str = "A fault by script."
    vocabulary: Vocabulary = "errors"

    retry_after: str | None = None
    """The header `Retry-After`, word for word: seconds or an HTTP date."""

    body: str | None = None
    """Sent instead of Google's JSON, as a proxy's page would be."""

    cut_at_bytes: int | None = None
    """The body ends here, and `Content-Length` says so: JSON that is no JSON, under status 200."""

    lost_at_bytes: int | None = None
    """The connection ends here, in the middle of what `Content-Length` promised."""

    hangs_up: bool = False
    """The call is carried out, and the connection ends before the answer. httplib2 sends such a call again, twice."""

    latency_s: float = 0.0


THROTTLE_STATUSES: Final = (429, 500, 502, 503)


@dataclass
class _Scripted:
    fault: Fault
    met: int = 0


@dataclass
class _Weather:
    """Random faults: the share of the calls that they hit, from a seed."""

    share: float
    statuses: Sequence[int]
    retry_after: str | None
    dice: random.Random


@dataclass
class _Quota:
    """So many calls a minute, for each user."""

    per_minute: int
    retry_after: str | None
    spent: dict[str, list[datetime]] = field(default_factory=dict)


class Faults:
    """The script of one server. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._script: list[_Scripted] = []
        self._weather: _Weather | None = None
        self._quota: _Quota | None = None

    def add(self, *faults: Fault) -> None:
        """Add faults; of several for one call the first that was added is met."""
        with self._lock:
            self._script.extend(map(_Scripted, faults))

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        with self._lock:
            self._script.clear()
            self._weather = self._quota = None

    def randomly(
        self, share: float, *, seed: int, statuses: Sequence[int] = THROTTLE_STATUSES, retry_after: str | None = None
    ) -> None:
        """A share of what users call fails, the same ones for the same seed and the same order of calls. Not the token
        endpoint: google-auth sleeps before it asks that again."""
        with self._lock:
            self._weather = _Weather(share, statuses, retry_after, random.Random(seed))

    def quota(self, per_minute: int, *, retry_after: str | None = None) -> None:
        """Refuse what a user asks beyond so many calls in any minute of the world's time, as Drive does: with 403."""
        with self._lock:
            self._quota = _Quota(per_minute, retry_after)

    def meet(self, method: str, *, file_id: str | None, email: str | None, now: datetime) -> Fault | None:
        """The fault of this call, which is counted by it."""
        with self._lock:
            return self._scripted(method, file_id, email) or self._by_quota(email, now) or self._by_chance(email)

    def _scripted(self, method: str, file_id: str | None, email: str | None) -> Fault | None:
        met = None
        for scripted in self._script:
            if not _is_for(scripted.fault, method, file_id, email):
                continue
            scripted.met += 1
            if met is None and _strikes(scripted.fault, scripted.met):
                met = scripted.fault
        return met

    def _by_quota(self, email: str | None, now: datetime) -> Fault | None:
        if self._quota is None or email is None:
            return None
        spent = [moment for moment in self._quota.spent.get(email, []) if now - moment < timedelta(minutes=1)]
        self._quota.spent[email] = spent
        if len(spent) >= self._quota.per_minute:
            return Fault(
                status=403,
                reason="userRateLimitExceeded",
                message="User Rate Limit Exceeded",
                retry_after=self._quota.retry_after,
            )
        spent.append(now)
        return None

    def _by_chance(self, email: str | None) -> Fault | None:
        weather = self._weather
        if weather is None or email is None or weather.dice.random() >= weather.share:
            return None
        status = weather.dice.choice(weather.statuses)
        reason = "rateLimitExceeded" if status in (403, 429) else "backendError"
        return Fault(status=status, reason=reason, message="A fault by chance.", retry_after=weather.retry_after)


def _is_for(fault: Fault, method: str, file_id: str | None, email: str | None) -> bool:
    return fnmatchcase(method, fault.method) and fault.file_id in (None, file_id) and fault.email in (None, email)


def _strikes(fault: Fault, met: int) -> bool:
    return met >= fault.nth and (fault.times is None or met < fault.nth + fault.times)
