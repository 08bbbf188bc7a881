"""Pages of lists, and the tokens that go on from one: with empty pages, repeats and lost tokens where a mode says so."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from tests.drive.errors import invalid
from tests.drive.modes import Modes

_T = TypeVar("_T")

Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FilePage:
    """A page of `files.list`: ``files`` are whole resources."""

    files: Sequence[Resource]
    next_page_token: str | None
    incomplete_search: bool


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """A page of `changes.list`: exactly one of the tokens is there."""

    changes: Sequence[Resource]
    next_page_token: str | None
    new_start_page_token: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of permissions or of shared drives."""

    resources: Sequence[Resource]
    next_page_token: str | None


@dataclass(frozen=True, slots=True)
class Slice(Generic[_T]):
    """Some of a list, and the token for what comes after it."""

    found: Sequence[_T]
    next_page_token: str | None


@dataclass(frozen=True, slots=True)
class Cut:
    """What a listing was asked; its token goes on with the same question only, and not for ever."""

    question: tuple[object, ...]
    token: str | None
    size: int
    now: datetime

    def of(self, everything: Sequence[_T], modes: Modes) -> Slice[_T]:
        """The page that the token asks for. The list may have changed since the last one, as Drive's do."""
        start, was_empty = self._read(modes) if self.token is not None else (0, False)
        if modes.empty_pages and not was_empty:
            return Slice([], self._write(start, was_empty=True))
        size = self.size if modes.page_cap is None else min(self.size, modes.page_cap)
        end = start + size
        if end >= len(everything):
            return Slice(everything[start:], None)
        repeats = 1 if modes.duplicate_across_pages and size > 1 else 0
        return Slice(everything[start:end], self._write(end - repeats, was_empty=False))

    def _write(self, start: int, *, was_empty: bool) -> str:
        content = [start, was_empty, self._fingerprint(), self.now.timestamp()]
        return "~!!~" + base64.urlsafe_b64encode(json.dumps(content).encode()).decode()

    def _read(self, modes: Modes) -> tuple[int, bool]:
        if modes.refuse_list_tokens is not None:
            raise invalid("pageToken", status=modes.refuse_list_tokens)
        try:
            content = json.loads(base64.urlsafe_b64decode((self.token or "").removeprefix("~!!~")))
            start, was_empty, fingerprint, written = content
        except ValueError as error:
            raise invalid("pageToken") from error
        if (
            fingerprint != self._fingerprint()
            or self.now.timestamp() - written > modes.list_token_lives.total_seconds()
        ):
            raise invalid("pageToken")
        return int(start), bool(was_empty)

    def _fingerprint(self) -> str:
        return hashlib.sha256(repr(self.question).encode()).hexdigest()[:16]
