"""What happens to files that are there: renamed, moved, trashed, restored, deleted, opened."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from tests.drive.errors import DriveError, forbidden, invalid, not_found
from tests.drive.items import File
from tests.drive.making import Making
from tests.drive.state import locked

_EDITABLE: Final = {
    "name",
    "description",
    "modified",
    "inherited_permissions_disabled",
    "writers_can_share",
    "copy_requires_writer",
    "download_restricted",
    "is_abusive",
    "resource_key",
}


class Changing(Making):
    """Changes files, and writes it into the logs."""

    @locked
    def edit(self, file_id: str, /, *, by: str | None = None, **fields: Any) -> File:
        """Other fields of `File`: ``name``, ``description``, ``modified``, ``inherited_permissions_disabled``,
        ``writers_can_share``, ``copy_requires_writer``, …. Only a change of content or an explicit ``modified`` moves
        `modifiedTime`."""
        file = self._need(file_id, by, "writer")
        unknown = set(fields) - _EDITABLE
        if unknown:
            raise TypeError(f"A file has no field {min(unknown)} to edit; there are {sorted(_EDITABLE)}.")
        if file.is_root and "name" in fields:
            raise forbidden("The name of a root cannot be changed.")
        if "inherited_permissions_disabled" in fields:
            self._check_limiting(file, by)
        with self._changing(file_id, reach="access" if "inherited_permissions_disabled" in fields else "item"):
            for name, value in fields.items():
                setattr(file, name, value)
        return file

    @locked
    def rename(self, file_id: str, name: str, *, by: str | None = None) -> File:
        return self.edit(file_id, by=by, name=name)

    @locked
    def move(
        self,
        file_id: str,
        to: str | None = None,
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        by: str | None = None,
    ) -> File:
        """``to`` replaces all parents; ``add`` and ``remove`` are `addParents` and `removeParents`, with their rules:
        a file never ends with more parents than it had, and no folder below itself."""
        file = self._need(file_id, by, "writer", in_drive="fileOrganizer")
        added = [self._folder(parent, by) for parent in ([to] if to is not None else add)]
        removed = set(file.parents if to is not None else (self._alias(parent, by) for parent in remove))
        parents = list(dict.fromkeys([parent for parent in file.parents if parent not in removed] + added))
        if file.is_root:
            raise forbidden("A root cannot be moved.")
        if len(parents) > max(1, len(file.parents)):
            raise forbidden("Increasing the number of parents is not allowed", reason="cannotAddParent")
        if any(parent == file_id or parent in self.below(file_id) for parent in added):
            raise DriveError(400, "badRequest", "A folder cannot be moved into itself.", location="addParents")
        return self._placed(file, parents, by)

    @locked
    def set_parents(self, file_id: str, parents: Iterable[str]) -> File:
        """Parents as no call makes them today: several, none, or a cycle."""
        return self._placed(self._files[file_id], list(parents), None)

    @locked
    def trash(self, file_id: str, *, by: str | None = None) -> File:
        """Into the trash, and everything below with it."""
        file = self._need(file_id, by, "owner", in_drive="fileOrganizer")
        if file.is_root:
            raise forbidden("A root cannot be trashed.")
        with self._changing(file_id, reach="trash"):
            file.explicitly_trashed = True
            file.trashed_at = self.clock.stamp()
            file.trashed_by = (by or file.owner or "").lower() or None
        return file

    @locked
    def untrash(self, file_id: str, *, by: str | None = None) -> File:
        """Back, as it was: the time of its last modification is the old one."""
        file = self._need(file_id, by, "owner", in_drive="fileOrganizer")
        with self._changing(file_id, reach="trash"):
            file.explicitly_trashed = False
            file.trashed_at = file.trashed_by = None
        return file

    @locked
    def delete(self, file_id: str, *, by: str | None = None) -> None:
        """For good. Below a folder of My Drive, what others own stays and is orphaned; what has another parent stays."""
        file = self._need(file_id, by, "owner", in_drive="organizer")
        if file.is_root:
            raise forbidden("A root cannot be deleted.")
        with self._changing(file_id, reach="trash"):
            gone = {file_id}
            for below in self.below(file_id):
                item = self._files[below]
                kept = [parent for parent in item.parents if parent not in gone]
                if not kept and (item.drive_id is not None or item.owner == file.owner):
                    gone.add(below)
                else:
                    self._set_parents(item, kept)
            for item_id in gone:
                self._drop(item_id)

    @locked
    def view(self, file_id: str, *, by: str) -> None:
        """Somebody opens the file: a change that changes nothing."""
        file = self._visible(file_id, by)
        with self._changing(file_id):
            file.viewed[by.lower()] = self.clock.stamp()

    def _alias(self, parent: str, by: str | None) -> str:
        return self.root_of(by) if parent == "root" and by is not None else parent

    def _folder(self, folder_id: str, by: str | None) -> str:
        """The folder, if ``by`` may put something into it."""
        folder = self._need(self._alias(folder_id, by), by, "writer")
        if not folder.is_folder:
            raise forbidden("The specified parent is not a folder.", reason="parentNotAFolder")
        return folder.id

    def _check_limiting(self, file: File, by: str | None) -> None:
        if not file.is_folder or file.is_root:
            raise invalid("inheritedPermissionsDisabled", "Only folders can have limited access.")
        if by is not None and file.drive_id is not None and not self.may(by, file.id, "organizer"):
            raise forbidden()
        if by is not None and file.drive_id is None and not self.may_share(by, file.id):
            raise forbidden()

    def _placed(self, file: File, parents: Sequence[str], by: str | None) -> File:
        """The file below these parents, with all that is below it; another corpus means other owners."""
        with self._changing(file.id, reach="move"):
            self._set_parents(file, list(parents))
            drive_ids = {self._files[parent].drive_id for parent in parents if parent in self._files}
            drive_id = next(iter(drive_ids), file.drive_id)
            if drive_id != file.drive_id:
                owner = by or next((self._files[parent].owner for parent in parents), None)
                for item_id in (file.id, *self.below(file.id)):
                    self._settle(self._files[item_id], drive_id, owner)
        return file

    def _settle(self, item: File, drive_id: str | None, owner: str | None) -> None:
        """A shared drive owns what comes into it; what leaves one belongs to whoever took it out."""
        item.drive_id = drive_id
        for permission in [held for held in item.permissions.values() if held.role == "owner"]:
            del item.permissions[permission.id]
        item.owner = None
        if drive_id is None:
            if owner is None:
                raise not_found(item.id)
            self._give_to(item, owner)
