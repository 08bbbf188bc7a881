"""Change logs: one for each user and one for each shared drive, each with numbers of its own.

A log says that something changed, never what; what an entry shows is looked up when it is read. Which entries a change
writes is where Google's documents are silent, and `Modes` decides.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from tests.drive.clock import rfc3339
from tests.drive.errors import invalid
from tests.drive.items import File
from tests.drive.pages import ChangesPage
from tests.drive.rendering import Rendering, Resource
from tests.drive.state import locked

Reach = Literal["item", "move", "trash", "access"]
"""What a change is, as far as the items below it are concerned: nothing to them, or one of three kinds."""

_LOG_NUMBERS = 10_000_000  # no two logs share a number, so a token that is given to the wrong log is found out


@dataclass(frozen=True, slots=True)
class Entry:
    """Something happened to a file or a shared drive; ``audience`` are those who saw it before or after.

    ``was_in_my_drive`` tells a file that went into a shared drive, and so left the user's list, from one that always
    was in one.
    """

    kind: Literal["file", "drive"]
    id: str
    time: datetime
    audience: frozenset[str]
    was_in_my_drive: bool = False
    then: dict[str, Resource | None] = field(default_factory=dict)


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


class Feed(Rendering):
    """Writes the logs as the world changes, and reads them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._user_logs: dict[str, Log] = {}
        self._drive_logs: dict[str, Log] = {}

    @locked
    def start_token(self, viewer: str, *, drive_id: str | None = None, supports_all_drives: bool = False) -> str:
        """`changes.getStartPageToken`: where the log ends now. Each shared drive has its own."""
        return str(self._log(viewer, drive_id, supports_all_drives=supports_all_drives).end)

    @locked
    def list_changes(
        self,
        viewer: str,
        page_token: str,
        *,
        drive_id: str | None = None,
        page_size: int = 100,
        include_removed: bool = True,
        include_corpus_removals: bool = False,
        include_items_from_all_drives: bool = False,
        supports_all_drives: bool = False,
        restrict_to_my_drive: bool = False,
        view: str | None = None,
    ) -> ChangesPage:
        """`changes.list`: ``changes`` are whole `Change` resources."""
        log = self._log(viewer, drive_id, supports_all_drives=supports_all_drives)
        if drive_id is not None and not include_items_from_all_drives:
            raise invalid("driveId", "The driveId parameter requires includeItemsFromAllDrives=true.")
        start, was_empty = self._read_token(page_token, log)
        if self.modes.empty_pages and not was_empty:
            return ChangesPage([], f"{start}e", None)
        size = min(max(page_size, 1), 1000, self.modes.page_cap or 1000)

        def shown(entry: Entry) -> Resource | None:
            if entry.kind == "drive":
                return self._drive_change(entry, viewer) if include_items_from_all_drives else None
            file = self._files.get(entry.id)
            is_elsewhere = file is not None and file.drive_id is not None and not include_items_from_all_drives
            if is_elsewhere and not entry.was_in_my_drive:
                return None
            has_left = is_elsewhere or self._has_left(entry, viewer, drive_id)
            sees = self.sees if drive_id is not None else self._is_in_corpus
            resource = self._shown(entry, viewer, view, sees=sees(viewer, entry.id))
            change = _file_change(entry, resource, has_left=has_left, keep_removed=include_corpus_removals)
            if change["removed"]:
                return change if include_removed else None
            return None if restrict_to_my_drive and not self._is_in_my_drive(viewer, entry.id) else change

        changes, number = self._collect(log, start, size, viewer, shown)
        if number >= log.end:
            return ChangesPage(changes, None, str(log.end))
        repeats = self.modes.duplicate_across_pages and size > 1 and number - 1 > start
        return ChangesPage(changes, str(number - 1 if repeats else number), None)

    @contextmanager
    def _changing(self, *file_ids: str, reach: Reach = "item") -> Iterator[None]:
        """Within it something happens to these items (and what is below them); afterwards it is in the logs."""
        below = [] if reach == "item" else [found for file_id in file_ids for found in self.below(file_id)]
        touched = dict.fromkeys((*file_ids, *below))
        before = {file_id: self._audience(file_id) for file_id in touched}
        drives_before = {file_id: self._files[file_id].drive_id for file_id in touched if file_id in self._files}
        roots = {file_id for file_id in touched if file_id in self._files and self._files[file_id].is_root}
        yield
        self.changes_made += 1
        self.clock.tick()
        for file_id in touched:
            if file_id not in roots and (file_id in file_ids or self._descendants_speak(reach)):
                self._note(file_id, before[file_id], drives_before.get(file_id))

    def _note_drive(self, drive_id: str, members_before: Iterable[str]) -> None:
        """A shared drive changed: its members, former ones too, find that in their own logs."""
        audience = frozenset(members_before) | self._audience(drive_id)
        entry = Entry("drive", drive_id, self.clock.stamp(), audience)
        for email in sorted(audience):
            self._user_log(email).write(entry)
        self._drive_log(drive_id).write(entry)

    def _members(self, drive_id: str) -> frozenset[str]:
        """The addresses of the users who are members, by way of a group too."""
        return frozenset(self.named_on(drive_id))

    def _note(self, file_id: str, before: frozenset[str], drive_before: str | None) -> None:
        """An entry for everybody whom it concerns; a change that gets an entry counts as a version."""
        file = self._files.get(file_id)
        audience = before | self._audience(file_id)
        if file is not None:
            file.version += 1
        was_in_my_drive = drive_before is None and before != frozenset()
        entry = Entry("file", file_id, self.clock.stamp(), audience, was_in_my_drive)
        for email in sorted(audience):
            if was_in_my_drive or self._is_in_own_log(email, file, drive_before):
                self._user_log(email).write(replace(entry, then=self._then(file_id, [email], self._is_in_corpus)))
        for drive_id in dict.fromkeys((drive_before, file.drive_id if file else None)):
            if drive_id is not None:
                self._drive_log(drive_id).write(replace(entry, then=self._then(file_id, audience, self.sees)))

    def _descendants_speak(self, reach: Reach) -> bool:
        return {
            "item": False,
            "move": self.modes.descendants_on_move,
            "trash": self.modes.descendants_on_trash,
            "access": self.modes.descendants_on_access,
        }[reach]

    def _audience(self, file_id: str) -> frozenset[str]:
        """The users who know of the item: those it is shared with by name, those who have opened it, and members of
        its shared drive who may open it by a link."""
        file = self._files.get(file_id)
        if file is None:
            return frozenset()
        may_know = {*file.viewed, *(self.named_on(file.drive_id) if file.drive_id in self._files else ())}
        named = self.named_on(file_id)
        return frozenset(named | {email for email in may_know - named if self.sees(email, file_id)})

    def _is_in_own_log(self, email: str, file: File | None, drive_before: str | None) -> bool:
        """Members of a shared drive find its items in the drive's log; in their own perhaps."""
        drive_id = file.drive_id if file is not None else drive_before
        if drive_id is None or drive_id not in self._files or not self.is_named(email, drive_id):
            return True
        if self.modes.drive_items_in_user_log == "used":
            return file is not None and (email in file.viewed or file.last_modified_by == email)
        return self.modes.drive_items_in_user_log == "always"

    def _then(
        self, file_id: str, viewers: Iterable[str], sees: Callable[[str, str], bool]
    ) -> dict[str, Resource | None]:
        """How the file looks to them now, for entries that are to show it so for ever."""
        if self.modes.change_states == "current":
            return {}
        return {email: self.resource_of(file_id, email) if sees(email, file_id) else None for email in viewers}

    def _collect(
        self, log: Log, start: int, size: int, viewer: str, shown: Callable[[Entry], Resource | None]
    ) -> tuple[list[Resource], int]:
        """At most ``size`` changes from ``start``, and the number after the last entry that was looked at."""
        changes: list[Resource] = []
        number = start
        while number < log.end and len(changes) < size:
            place = number - log.first
            entry = log.entries[place]
            number += 1
            if self.modes.coalesce_changes and log.is_replaced(place):
                continue
            if viewer.lower() in entry.audience and (change := shown(entry)) is not None:
                changes.append(change)
        return changes, number

    def _shown(self, entry: Entry, viewer: str, view: str | None, *, sees: bool) -> Resource | None:
        if viewer.lower() in entry.then:
            return entry.then[viewer.lower()]
        return self.resource_of(entry.id, viewer, view=view) if sees else None

    def _has_left(self, entry: Entry, viewer: str, drive_id: str | None) -> bool:
        """The file is there still, and no longer among what this log is about."""
        file = self._files.get(entry.id)
        if file is None:
            return False
        if drive_id is not None:
            return file.drive_id != drive_id
        return entry.was_in_my_drive and not self._is_in_own_log(viewer.lower(), file, None)

    def _drive_change(self, entry: Entry, viewer: str) -> Resource:
        is_member = entry.id in self.drives and self.is_named(viewer, entry.id)
        change = _change("drive", entry, removed=not is_member) | {"driveId": entry.id}
        return change | {"drive": self.drive_resource(entry.id, viewer)} if is_member else change

    def _is_in_corpus(self, viewer: str, file_id: str) -> bool:
        """The item is still among what the viewer's lists and changes are about."""
        file = self._files.get(file_id)
        if file is None:
            return False
        return self.is_named(viewer, file_id) or (viewer.lower() in file.viewed and self.sees(viewer, file_id))

    def _is_in_my_drive(self, viewer: str, file_id: str) -> bool:
        return self.root_of(viewer) in self.above(file_id)

    def _log(self, viewer: str, drive_id: str | None, *, supports_all_drives: bool) -> Log:
        if drive_id is None:
            return self._user_log(viewer.lower())
        if not supports_all_drives:
            raise invalid("driveId", "The driveId parameter requires supportsAllDrives=true.")
        self._membership(drive_id, viewer)
        return self._drive_log(drive_id)

    def _user_log(self, email: str) -> Log:
        return self._log_of(self._user_logs, email.lower())

    def _drive_log(self, drive_id: str) -> Log:
        return self._log_of(self._drive_logs, drive_id)

    def _log_of(self, logs: dict[str, Log], key: str) -> Log:
        if key not in logs:
            number = len(self._user_logs) + len(self._drive_logs) + 1
            logs[key] = Log(first=number * _LOG_NUMBERS + self._ids.offset())
        return logs[key]

    def _read_token(self, token: str, log: Log) -> tuple[int, bool]:
        if self.modes.refuse_change_tokens is not None:
            raise invalid("pageToken", status=self.modes.refuse_change_tokens)
        digits = token.removesuffix("e")
        if not digits.isascii() or not digits.isdigit() or not log.first <= int(digits) <= log.end:
            raise invalid("pageToken")
        return int(digits), token.endswith("e")


def _file_change(entry: Entry, resource: Resource | None, *, has_left: bool, keep_removed: bool) -> Resource:
    """The change for one file. What has left the list is removed from it, wherever it may be seen now."""
    change = _change("file", entry, removed=resource is None or has_left) | {"fileId": entry.id}
    if resource is not None and (not has_left or keep_removed):
        change["file"] = resource
    return change


def _change(kind: str, entry: Entry, *, removed: bool) -> Resource:
    return {
        "kind": "drive#change",
        "changeType": kind,
        "type": kind,
        "time": rfc3339(entry.time),
        "removed": removed,
    }
