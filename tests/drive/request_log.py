"""What was asked of the emulator and what it answered, so that tests can say "no second download" and mean it.

Tokens, query-string secrets and document text are not written down.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from threading import Lock


@dataclass(frozen=True)
class Request:
    """One call and its answer."""

    number: int
    at: datetime
    """By the world's clock."""

    method: str
    """As in `Fault.method`: `drive.files.list`, `drive.files.get:media`, `token`."""

    email: str | None
    file_id: str | None
    parameters: Mapping[str, str]
    range: str | None
    status: int
    reason: str | None
    """Why it was refused."""

    sent_bytes: int
    is_fault: bool
    """The script, the quota or chance had its hand in this one."""


class RequestLog:
    """Every call since the start, or since `clear`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self._requests: list[Request] = []
        self._violations: list[str] = []

    def number(self) -> int:
        """The number of the next call."""
        with self._lock:
            self._number += 1
            return self._number

    def add(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    def add_batch(self, at: datetime) -> None:
        """Note that calls come in a batch. They follow, each for itself."""
        self.add(Request(self.number(), at, "batch", None, None, {}, None, 200, None, 0, False))

    def add_violations(self, violations: Iterable[str]) -> None:
        """Note what of an answer Drive's schemas do not allow: a fault of the emulator's own."""
        with self._lock:
            self._violations.extend(violations)

    def clear(self) -> None:
        """Forget the calls; violations stay."""
        with self._lock:
            self._requests.clear()

    @property
    def violations(self) -> list[str]:
        with self._lock:
            return list(self._violations)

    def of(self, method: str = "drive.*", *, file_id: str | None = None, since: int = 0) -> list[Request]:
        """The calls of a method, or of a pattern of methods, about a file, after the call with number `since`."""
        with self._lock:
            return [
                request
                for request in self._requests
                if request.number > since and fnmatchcase(request.method, method) and file_id in (None, request.file_id)
            ]

    def count(self, method: str = "drive.*", *, file_id: str | None = None, since: int = 0) -> int:
        return len(self.of(method, file_id=file_id, since=since))

    def mark(self) -> int:
        """The number of the last call so far: what `since` takes."""
        with self._lock:
            return self._number
