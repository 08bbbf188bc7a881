"""What a change log holds: entries with numbers, of which a later one may stand for those before it."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Known:
    """Who knew of a file at one moment, in whose own logs it was, and in which shared drive."""

    audience: frozenset[str] = frozenset()
    in_own_logs: frozenset[str] = frozenset()
    drive_id: str | None = None


@dataclass(frozen=True, slots=True)
class Then:
    """How a file looked to one viewer when the entry was written (``None``: not at all), and whether it had left the
    list that the log is about."""

    resource: dict[str, Any] | None
    has_left: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """Something happened to a file or a shared drive; ``audience`` are those who saw it before or after.

    ``was_in_my_drive`` tells a file that went into a shared drive, and so left the user's list, from one that always
    was in one. ``then`` is there, by viewer, if the entry is to show the file for ever as it was.
    """

    kind: Literal["file", "drive"]
    id: str
    time: datetime
    audience: frozenset[str]
    was_in_my_drive: bool = False
    then: dict[str, Then] = field(default_factory=dict)


@dataclass(slots=True)
class Log:
    """The entries of one log. An entry's number is ``first`` and its place."""

    first: int
    entries: list[Entry] = field(default_factory=list)
    latest: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The number that the next entry will have."""
        return self.first + len(self.entries)

    def write(self, entry: Entry) -> None:
        """What was true of an earlier entry for the same thing stays true, since a reader may come by this one only:
        else those who saw the file before that would never hear that it is lost."""
        key = (entry.kind, entry.id)
        if key in self.latest:
            earlier = self.entries[self.latest[key]]
            entry = replace(
                entry,
                audience=entry.audience | earlier.audience,
                was_in_my_drive=entry.was_in_my_drive or earlier.was_in_my_drive,
            )
        self.latest[key] = len(self.entries)
        self.entries.append(entry)

    def is_replaced(self, place: int) -> bool:
        """A later entry for the same thing exists."""
        entry = self.entries[place]
        return self.latest[(entry.kind, entry.id)] != place
