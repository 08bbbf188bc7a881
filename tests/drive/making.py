"""New files of every kind, and new content for those that are there."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict, Unpack

from tests.drive.access import Need
from tests.drive.accounts import Accounts
from tests.drive.errors import DriveError, forbidden, invalid, not_found
from tests.drive.items import FOLDER, SHORTCUT, File, Permission, Revision, Target
from tests.drive.native import guessed_type, native_type
from tests.drive.state import locked


class Fields(TypedDict, total=False):
    """What every new file may be told. Without ``parent`` it goes to the owner's root; without ``owner`` it belongs to
    whoever makes it (``by``), or else to the folder's owner; in a shared drive nobody owns it."""

    parent: str | None
    owner: str | None
    by: str | None
    file_id: str | None
    created: datetime | None
    modified: datetime | None
    description: str | None
    resource_key: str | None
    inherited_permissions_disabled: bool
    writers_can_share: bool
    copy_requires_writer: bool
    download_restricted: bool
    is_abusive: bool


class Making(Accounts):
    """Creates files and revisions."""

    @locked
    def add_file(
        self, name: str, data: bytes | str = b"", *, mime_type: str | None = None, **fields: Unpack[Fields]
    ) -> File:
        """A file with bytes. Its type is guessed from its name if nobody says it."""
        file = self._new(name, mime_type or guessed_type(name), fields)
        file.revisions.append(Revision.of(_bytes(data), self._ids.revision()))
        return self._place_new(file)

    @locked
    def add_folder(self, name: str, **fields: Unpack[Fields]) -> File:
        return self._place_new(self._new(name, FOLDER, fields))

    @locked
    def add_document(
        self, name: str, exports: Mapping[str, bytes | str], *, kind: str = "document", **fields: Unpack[Fields]
    ) -> File:
        """A Google-native document (``kind``: document, spreadsheet, presentation, form, …) and what it exports to:
        other types than these are refused, as a conversion that Drive does not support."""
        file = self._new(name, native_type(kind), fields)
        file.exports = {mime_type: _bytes(data) for mime_type, data in exports.items()}
        return self._place_new(file)

    @locked
    def add_shortcut(self, name: str, target: str, **fields: Unpack[Fields]) -> File:
        """A shortcut, with permissions of its own. By hand it may point to what never was."""
        file, by = self._new(name, SHORTCUT, fields), fields.get("by")
        pointed_to = self._visible(target, by) if by is not None else self._files.get(target)
        mime_type = pointed_to.mime_type if pointed_to else "application/octet-stream"
        file.target = Target(target, mime_type, pointed_to.resource_key if pointed_to else None)
        return self._place_new(file)

    @locked
    def write(
        self,
        file_id: str,
        data: bytes | str | None = None,
        *,
        exports: Mapping[str, bytes | str] | None = None,
        mime_type: str | None = None,
        modified: datetime | None = None,
        by: str | None = None,
    ) -> File:
        """New content, as a new revision. A new type turns one kind of file into another."""
        file = self._need(file_id, by, "writer")
        if file.is_folder or file.is_shortcut:
            raise forbidden("Folders and shortcuts have no content.", reason="fileNotDownloadable")
        with self._changing(file_id):
            file.mime_type = mime_type or file.mime_type
            if exports is not None:
                file.exports = {kind: _bytes(content) for kind, content in exports.items()}
            if data is not None:
                file.revisions.append(Revision.of(_bytes(data), self._ids.revision()))
            if file.is_native:
                file.revisions.clear()
            else:
                file.exports.clear()
                file.revisions = file.revisions or [Revision.of(b"", self._ids.revision())]
            self._modified(file, modified, by)
        return file

    def _modified(self, file: File, at: datetime | None, by: str | None) -> None:
        file.modified = at or self.clock.stamp()
        file.last_modified_by = (by or file.owner or file.last_modified_by or "").lower() or None

    def _need(self, file_id: str, by: str | None, role: Need, in_drive: Need | None = None) -> File:
        """The file, if ``by`` has the role on it (another one in shared drives); by hand everything is allowed."""
        if by is None:
            if file_id not in self._files:
                raise not_found(file_id)
            return self._files[file_id]
        file = self._visible(file_id, by)
        if not self.may(by, file.id, in_drive if in_drive and file.drive_id else role):
            raise forbidden()
        return file

    def _new(self, name: str, mime_type: str, fields: Fields) -> File:
        """A file that is nowhere yet."""
        by, file_id = fields.get("by"), fields.get("file_id")
        if file_id is not None and file_id in self._files:
            raise DriveError(409, "fileIdInUse", "A file already exists with the provided ID.", location="fileId")
        folder = self._home(fields)
        if fields.get("inherited_permissions_disabled") and mime_type != FOLDER:
            raise invalid("inheritedPermissionsDisabled", "Only folders can have limited access.")
        address = (fields.get("owner") or by or folder.owner or "").lower()
        now = self.clock.stamp()
        file = File(
            id=file_id or self._ids.file(),
            name=name,
            mime_type=mime_type,
            parents=[folder.id],
            owner=address if folder.drive_id is None else None,
            drive_id=folder.drive_id,
            created=fields.get("created") or now,
            modified=fields.get("modified") or now,
            last_modified_by=(by or address).lower() or None,
            description=fields.get("description"),
            resource_key=fields.get("resource_key"),
            inherited_permissions_disabled=fields.get("inherited_permissions_disabled", False),
            writers_can_share=fields.get("writers_can_share", True),
            copy_requires_writer=fields.get("copy_requires_writer", False),
            download_restricted=fields.get("download_restricted", False),
            is_abusive=fields.get("is_abusive", False),
        )
        if file.owner is not None:
            self._give_to(file, file.owner)
        return file

    def _home(self, fields: Fields) -> File:
        """The folder that the new file goes into."""
        by, parent = fields.get("by"), fields.get("parent")
        if parent is None or parent == "root":
            parent = self.root_of(fields.get("owner") or by or next(iter(self.users)))
        folder = self._need(parent, by, "writer")
        if not folder.is_folder:
            raise forbidden("The specified parent is not a folder.", reason="parentNotAFolder")
        return folder

    def _give_to(self, file: File, owner: str) -> None:
        """The file has this owner, and the permission that says so."""
        user = self.user(owner)
        file.owner = user.email.lower()
        file.permissions[user.permission_id] = Permission(user.permission_id, "user", "owner", email=user.email)

    def _place_new(self, file: File) -> File:
        with self._changing(file.id):
            self._keep(file)
        return file


def _bytes(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data
