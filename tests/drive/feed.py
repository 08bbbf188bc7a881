"""Reading the change logs: one for each user and one for each shared drive, each with numbers of its own.

A log says that something changed, never what; what an entry shows is looked up when it is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.drive.clock import rfc3339
from tests.drive.errors import invalid
from tests.drive.logs import Entry, Log, Then
from tests.drive.pages import ChangesPage
from tests.drive.recording import Recording
from tests.drive.rendering import Resource
from tests.drive.state import locked


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who reads which log, and what they want to see of it."""

    viewer: str
    drive_id: str | None
    include_removed: bool
    include_corpus_removals: bool
    include_items_from_all_drives: bool
    restrict_to_my_drive: bool
    view: str | None


class Feed(Recording):
    """Reads the logs."""

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
        asked = _Asked(
            viewer=viewer.lower(),
            drive_id=drive_id,
            include_removed=include_removed,
            include_corpus_removals=include_corpus_removals,
            include_items_from_all_drives=include_items_from_all_drives,
            restrict_to_my_drive=restrict_to_my_drive,
            view=view,
        )
        size = min(max(page_size, 1), 1000, self.modes.page_cap or 1000)
        changes, number = self._collected(log, start, size, asked)
        if number >= log.end:
            return ChangesPage(changes, None, str(log.end))
        repeats = self.modes.duplicate_across_pages and size > 1 and number - 1 > start
        return ChangesPage(changes, str(number - 1 if repeats else number), None)

    def _log(self, viewer: str, drive_id: str | None, *, supports_all_drives: bool) -> Log:
        if drive_id is None:
            return self._user_log(viewer)
        if not supports_all_drives:
            raise invalid("driveId", "The driveId parameter requires supportsAllDrives=true.")
        self._membership(drive_id, viewer)
        return self._drive_log(drive_id)

    def _read_token(self, token: str, log: Log) -> tuple[int, bool]:
        """The number to go on at, and whether the empty page before it has been given."""
        if self.modes.refuse_change_tokens is not None:
            raise invalid("pageToken", status=self.modes.refuse_change_tokens)
        digits = token.removesuffix("e")
        if not digits.isascii() or not digits.isdigit() or not log.first <= int(digits) <= log.end:
            raise invalid("pageToken")
        return int(digits), token.endswith("e")

    def _collected(self, log: Log, start: int, size: int, asked: _Asked) -> tuple[Sequence[Resource], int]:
        """At most ``size`` changes from ``start``, and the number after the last entry that was looked at."""
        changes: list[Resource] = []
        number = start
        while number < log.end and len(changes) < size:
            place = number - log.first
            entry = log.entries[place]
            number += 1
            if self.modes.coalesce_changes and log.is_replaced(place):
                continue
            if asked.viewer in entry.audience and (change := self._change(entry, asked)) is not None:
                changes.append(change)
        return changes, number

    def _change(self, entry: Entry, asked: _Asked) -> Resource | None:
        """The entry as the reader gets it, if it is one of those that they want."""
        if entry.kind == "drive":
            return self._drive_change(entry, asked.viewer) if asked.include_items_from_all_drives else None
        now = entry.then.get(asked.viewer) or self._now(entry, asked)
        resource, has_left = now.resource, now.has_left
        if not asked.include_items_from_all_drives and self._drive_of(entry, resource) is not None:
            if not entry.was_in_my_drive:
                return None
            has_left = True
        is_removed = resource is None or has_left
        if is_removed and not asked.include_removed:
            return None
        if not is_removed and asked.restrict_to_my_drive and not self._is_in_my_drive(asked.viewer, entry.id):
            return None
        change = _change("file", entry, removed=is_removed) | {"fileId": entry.id}
        # What has left the list is removed from it, wherever it may be seen now.
        if resource is not None and (not has_left or asked.include_corpus_removals):
            change["file"] = resource
        return change

    def _now(self, entry: Entry, asked: _Asked) -> Then:
        """How the entry's file looks as this log is read."""
        file, viewer = self._files.get(entry.id), asked.viewer
        if file is None:
            return Then(None, has_left=False)
        if asked.drive_id is not None:
            sees, has_left = self.sees(viewer, file.id), file.drive_id != asked.drive_id
        else:
            sees = self.is_in_corpus(viewer, file.id)
            has_left = entry.was_in_my_drive and not self._is_in_own_log(viewer, file)
        return Then(self.resource_of(file, viewer, view=asked.view) if sees else None, has_left)

    def _drive_of(self, entry: Entry, resource: Resource | None) -> str | None:
        """The shared drive that the file is in, by what the entry shows."""
        if resource is not None:
            return resource.get("driveId")
        return self._files[entry.id].drive_id if entry.id in self._files else None

    def _is_in_my_drive(self, viewer: str, file_id: str) -> bool:
        return file_id in self._files and self.root_of(viewer) in self.above(file_id)

    def _drive_change(self, entry: Entry, viewer: str) -> Resource:
        is_member = entry.id in self.drives and self.is_named(viewer, entry.id)
        change = _change("drive", entry, removed=not is_member) | {"driveId": entry.id}
        return change | {"drive": self.drive_resource(entry.id, viewer)} if is_member else change


def _change(kind: str, entry: Entry, *, removed: bool) -> Resource:
    return {
        "kind": "drive#change",
        "changeType": kind,
        "type": kind,
        "time": rfc3339(entry.time),
        "removed": removed,
    }
