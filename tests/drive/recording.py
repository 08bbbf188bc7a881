"""Writing the change logs, one for each user and one for each shared drive, as the world changes.

One place does it, from who knew of an item before a change and who does after. Which entries a change writes is where
Google's documents are silent, and `Modes` decides.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from tests.drive.items import File
from tests.drive.logs import Entry, Known, Log, Then
from tests.drive.rendering import Rendering
from tests.drive.state import locked

Reach = Literal["item", "move", "trash", "access"]
"""What a change is, as far as the items below it are concerned: nothing to them, or one of three kinds."""

_LOG_NUMBERS = 10_000_000  # no two logs share a number, so a token that is given to the wrong log is found out


class Recording(Rendering):
    """Keeps the logs."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._user_logs: dict[str, Log] = {}
        self._drive_logs: dict[str, Log] = {}

    @contextmanager
    def _changing(self, *file_ids: str, reach: Reach = "item") -> Iterator[None]:
        """Within it something happens to these items (and what is below them); afterwards it is in the logs."""
        below = [] if reach == "item" else [found for file_id in file_ids for found in self.below(file_id)]
        touched = dict.fromkeys((*file_ids, *below))
        before = {file_id: self._known(file_id) for file_id in touched}
        roots = {file_id for file_id in touched if file_id in self._files and self._files[file_id].is_root}
        yield
        self.changes_made += 1
        self.clock.tick()
        for file_id in touched:
            if file_id not in roots and (file_id in file_ids or self._descendants_speak(reach)):
                self._note(file_id, before[file_id])

    def _note_drive(self, drive_id: str, members_before: Iterable[str]) -> None:
        """A shared drive changed: its members, former ones too, find that in their own logs."""
        audience = frozenset(members_before) | (self._members(drive_id) if drive_id in self.drives else frozenset())
        entry = Entry("drive", drive_id, self.clock.stamp(), audience)
        for email in sorted(audience):
            self._user_log(email).write(entry)
        self._drive_log(drive_id).write(entry)

    def _members(self, drive_id: str) -> frozenset[str]:
        """The addresses of the users who are members, by way of a group too."""
        return frozenset(self.named_on(drive_id))

    @locked
    def is_in_corpus(self, viewer: str, file_id: str) -> bool:
        """The item is among what the user's own lists and changes are about: it names them, or they have opened it."""
        file = self._files.get(file_id)
        if file is None:
            return False
        return self.is_named(viewer, file_id) or (viewer.lower() in file.viewed and self.sees(viewer, file_id))

    def _is_in_own_log(self, email: str, file: File) -> bool:
        """Members of a shared drive find its items in the drive's log; in their own perhaps."""
        if file.drive_id is None or file.drive_id not in self._files or not self.is_named(email, file.drive_id):
            return True
        if self.modes.drive_items_in_user_log == "used":
            return email in file.viewed or file.last_modified_by == email
        return self.modes.drive_items_in_user_log == "always"

    def _user_log(self, email: str) -> Log:
        return self._log_of(self._user_logs, email.lower())

    def _drive_log(self, drive_id: str) -> Log:
        return self._log_of(self._drive_logs, drive_id)

    def _log_of(self, logs: dict[str, Log], key: str) -> Log:
        if key not in logs:
            number = len(self._user_logs) + len(self._drive_logs) + 1
            logs[key] = Log(first=number * _LOG_NUMBERS + self._ids.offset())
        return logs[key]

    def _note(self, file_id: str, before: Known) -> None:
        """An entry for everybody whom it concerns; a change that gets an entry counts as a version."""
        file = self._files.get(file_id)
        if file is not None:
            file.version += 1
        after = self._known(file_id)
        was_in_my_drive = before.drive_id is None and before.audience != frozenset()
        entry = Entry("file", file_id, self.clock.stamp(), before.audience | after.audience, was_in_my_drive)
        for email in sorted(before.in_own_logs | after.in_own_logs):
            has_left = file is not None and email not in after.in_own_logs
            then = self._then(file_id, [email], self.is_in_corpus, has_left=has_left)
            self._user_log(email).write(replace(entry, then=then))
        for drive_id in dict.fromkeys((before.drive_id, after.drive_id)):
            if drive_id is not None:
                then = self._then(file_id, entry.audience, self.sees, has_left=drive_id != after.drive_id)
                self._drive_log(drive_id).write(replace(entry, then=then))

    def _known(self, file_id: str) -> Known:
        file = self._files.get(file_id)
        if file is None:
            return Known()
        audience = self._audience(file)
        in_own_logs = frozenset(email for email in audience if self._is_in_own_log(email, file))
        return Known(audience, in_own_logs, file.drive_id)

    def _audience(self, file: File) -> frozenset[str]:
        """The users who know of the item: those it is shared with by name, those who have opened it, and members of
        its shared drive who may open it by a link."""
        may_know = {*file.viewed, *(self.named_on(file.drive_id) if file.drive_id in self._files else ())}
        named = self.named_on(file.id)
        return frozenset(named | {email for email in may_know - named if self.sees(email, file.id)})

    def _descendants_speak(self, reach: Reach) -> bool:
        return {
            "item": False,
            "move": self.modes.descendants_on_move,
            "trash": self.modes.descendants_on_trash,
            "access": self.modes.descendants_on_access,
        }[reach]

    def _then(
        self, file_id: str, viewers: Iterable[str], sees: Callable[[str, str], bool], *, has_left: bool
    ) -> dict[str, Then]:
        """How the file looks to them now, if entries are to show that for ever."""
        if self.modes.change_states == "current":
            return {}
        return {
            email: Then(self.resource_of(file_id, email) if sees(email, file_id) else None, has_left)
            for email in viewers
        }
