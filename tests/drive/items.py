"""The nouns of the emulator: users, groups, files, permissions and shared drives."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

FOLDER = "application/vnd.google-apps.folder"
SHORTCUT = "application/vnd.google-apps.shortcut"

Role = Literal["reader", "commenter", "writer", "fileOrganizer", "organizer", "owner", "publishedReader"]
GranteeType = Literal["user", "group", "domain", "anyone"]
View = Literal["published", "metadata"]

RANK: Mapping[str, int] = {
    role: rank
    for rank, role in enumerate(
        ("publishedReader", "reader", "commenter", "writer", "fileOrganizer", "organizer", "owner")
    )
}


@dataclass(slots=True)
class User:
    """An account. ``root_id`` is its My Drive; a deleted account keeps its permissions, which then say so."""

    email: str
    name: str
    permission_id: str
    root_id: str
    deleted: bool = False


@dataclass(slots=True)
class Group:
    """A Google group: Drive knows its address, and only the world knows who is in it (users and groups)."""

    email: str
    name: str
    permission_id: str
    members: set[str] = field(default_factory=set)
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission that stands on one item. What items below get from it is worked out by `Access`."""

    id: str
    type: GranteeType
    role: Role
    email: str | None = None
    domain: str | None = None
    allow_file_discovery: bool = False
    expires: datetime | None = None
    pending_owner: bool = False
    view: View | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """The bytes that a file had at some time, by the id that ``headRevisionId`` shows."""

    id: str
    data: bytes
    md5: str
    sha1: str
    sha256: str

    @classmethod
    def of(cls, data: bytes, revision_id: str) -> "Revision":
        return cls(
            id=revision_id,
            data=data,
            md5=hashlib.md5(data, usedforsecurity=False).hexdigest(),
            sha1=hashlib.sha1(data, usedforsecurity=False).hexdigest(),
            sha256=hashlib.sha256(data).hexdigest(),
        )


@dataclass(frozen=True, slots=True)
class Target:
    """What a shortcut points to. The type is the one the target had when the shortcut was made."""

    file_id: str
    mime_type: str
    resource_key: str | None = None


@dataclass(slots=True)
class File:
    """Whatever has a file id: a file, a folder, a native document, a shortcut, the root of a My Drive or shared drive.

    Only the world changes it. ``owner`` is an address, and ``None`` in a shared drive (``drive_id``). Legacy files may
    have several parents; an orphan has none.
    """

    id: str
    name: str
    mime_type: str
    parents: list[str]
    owner: str | None
    drive_id: str | None
    created: datetime
    modified: datetime
    version: int = 1
    is_root: bool = False
    last_modified_by: str | None = None
    explicitly_trashed: bool = False
    trashed_at: datetime | None = None
    trashed_by: str | None = None
    revisions: list[Revision] = field(default_factory=list)
    exports: dict[str, bytes] = field(default_factory=dict)
    target: Target | None = None
    permissions: dict[str, Permission] = field(default_factory=dict)
    inherited_permissions_disabled: bool = False
    writers_can_share: bool = True
    copy_requires_writer: bool = False
    download_restricted: bool = False
    is_abusive: bool = False
    resource_key: str | None = None
    description: str | None = None
    viewed: dict[str, datetime] = field(default_factory=dict)

    @property
    def is_folder(self) -> bool:
        return self.mime_type == FOLDER

    @property
    def is_shortcut(self) -> bool:
        return self.mime_type == SHORTCUT

    @property
    def is_native(self) -> bool:
        """A Google document: no bytes of its own, only exports (and for some types not even those)."""
        return self.mime_type.startswith("application/vnd.google-apps.") and not self.is_folder and not self.is_shortcut

    @property
    def has_bytes(self) -> bool:
        return bool(self.revisions)

    @property
    def data(self) -> bytes:
        """The bytes of the head revision."""
        return self.revisions[-1].data


@dataclass(slots=True)
class SharedDrive:
    """A shared drive. Its id is also that of its root folder, on which the permissions of its members stand."""

    id: str
    name: str
    created: datetime
    hidden: bool = False
