"""The state of an imaginary Google Drive, and everything that may be done to it or asked of it.

People who change things by hand (tests) leave out ``by``; the HTTP side passes the caller's address, and then Drive's
own rules about who may do what hold. Everything that a caller may not see is refused as not found. Refusals are raised
as `DriveError`. Each public method holds `World.lock` for its duration, so a server's threads and a test may share a world.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from tests.drive.clock import Clock
from tests.drive.items import File, GranteeType, Group, Permission, Role, SharedDrive, User, View
from tests.drive.modes import Modes

Resource: TypeAlias = dict[str, Any]
"""A resource of the API, whole: the mask is cut from it by the HTTP side."""

Corpora: TypeAlias = Literal["user", "domain", "drive", "allDrives"]


@dataclass(frozen=True, slots=True)
class FilePage:
    """A page of `files.list`, ready to be cut by the mask: ``files`` are whole resources."""

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
class Body:
    """The bytes of one download or export, all taken at one moment."""

    data: bytes
    media_type: str
    revision_id: str | None


class World:
    """One Drive: its accounts, files, permissions, change logs, clock and modes."""

    lock: threading.RLock
    clock: Clock
    modes: Modes
    base_url: str
    """Where it is served; export links begin with it. The server sets it."""

    def __init__(self, *, seed: int = 0, clock: Clock | None = None, modes: Modes | None = None) -> None:
        """Ids and tokens follow from ``seed`` and the order of what happens."""

    # --- accounts: what tests prepare ---

    def add_user(self, email: str, *, name: str | None = None) -> User: ...
    def delete_user(self, email: str) -> None:
        """The account goes: its permissions stay and say ``deleted``; what it owned is gone from everybody."""

    def add_group(self, email: str, *, members: Iterable[str] = (), name: str | None = None) -> Group: ...
    def set_members(self, group: str, members: Iterable[str]) -> None:
        """Membership changes in silence: no change log says anything."""

    def user(self, email: str) -> User:
        """The account. `KeyError` when there is none."""

    def root_of(self, email: str) -> str:
        """The id of the user's My Drive."""

    # --- shared drives ---

    def add_drive(self, name: str, *, organizer: str, drive_id: str | None = None) -> SharedDrive: ...
    def rename_drive(self, drive_id: str, name: str, *, by: str | None = None) -> SharedDrive: ...
    def delete_drive(self, drive_id: str, *, by: str | None = None, with_items: bool = True) -> None: ...
    def drive_resource(self, drive_id: str, viewer: str) -> Resource:
        """`drives.get`."""

    def list_drives(
        self, viewer: str, *, page_size: int = 10, page_token: str | None = None, q: str | None = None
    ) -> Page:
        """`drives.list`: at most 100 a page."""

    # --- files: reading ---

    def file(self, file_id: str) -> File:
        """The file, whoever asks; ``root`` is no alias here. `KeyError` when it is gone."""

    def get(
        self,
        file_id: str,
        viewer: str,
        *,
        supports_all_drives: bool = False,
        resource_keys: Mapping[str, str] | None = None,
    ) -> File:
        """The file if the viewer may see it (``root`` is the viewer's My Drive), else `DriveError` 404."""

    def resource_of(self, file: File | str, viewer: str, *, view: str | None = None) -> Resource:
        """The whole `File` resource as this viewer gets it. ``view``: ``includePermissionsForView``."""

    def list_files(
        self,
        viewer: str,
        *,
        q: str | None = None,
        corpora: str | None = None,
        drive_id: str | None = None,
        include_items_from_all_drives: bool = False,
        supports_all_drives: bool = False,
        page_size: int = 100,
        page_token: str | None = None,
        order_by: str | None = None,
        view: str | None = None,
    ) -> FilePage:
        """`files.list`, with the rules among its parameters, ``q`` and the modes of paging."""

    def content(self, file_id: str, viewer: str, *, acknowledge_abuse: bool = False, **seen: Any) -> Body:
        """`alt=media`, whole: the HTTP side cuts ranges. ``seen``: as for `get`. Runs the hooks of `on_download`."""

    def export(self, file_id: str, viewer: str, mime_type: str, *, limited: bool = True, **seen: Any) -> Body:
        """`files.export`. Export links and long-running downloads are not ``limited`` to 10 MB."""

    def about(self, viewer: str) -> Resource:
        """`about.get`."""

    # --- files: writing ---

    def add_file(
        self,
        name: str,
        data: bytes | str = b"",
        *,
        parent: str | None = None,
        owner: str | None = None,
        mime_type: str | None = None,
        modified: datetime | None = None,
        created: datetime | None = None,
        file_id: str | None = None,
        by: str | None = None,
        **more: Any,
    ) -> File:
        """A file with bytes. Without a parent it goes to the owner's root; in a shared drive nobody owns it.

        ``more`` sets other fields of `File`: ``copy_requires_writer``, ``resource_key``, ``is_abusive``, ….
        """

    def add_folder(self, name: str, *, parent: str | None = None, owner: str | None = None, **more: Any) -> File: ...
    def add_document(
        self,
        name: str,
        exports: Mapping[str, bytes | str],
        *,
        kind: str = "document",
        parent: str | None = None,
        owner: str | None = None,
        **more: Any,
    ) -> File:
        """A Google-native document (``kind``: document, spreadsheet, presentation, form, …) and what it exports to."""

    def add_shortcut(
        self, name: str, target: str, *, parent: str | None = None, owner: str | None = None, **more: Any
    ) -> File: ...
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

    def edit(self, file_id: str, *, by: str | None = None, **fields: Any) -> File:
        """Other fields of `File`: ``name``, ``description``, ``modified``, ``inherited_permissions_disabled``,
        ``writers_can_share``, ``copy_requires_writer``, …. Only a change of content or an explicit ``modified`` moves
        `modifiedTime`."""

    def rename(self, file_id: str, name: str, *, by: str | None = None) -> File: ...
    def move(
        self,
        file_id: str,
        to: str | None = None,
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        by: str | None = None,
    ) -> File:
        """``to`` replaces all parents; ``add`` and ``remove`` are `addParents` and `removeParents`, with their rules."""

    def set_parents(self, file_id: str, parents: Iterable[str]) -> File:
        """Parents as no call makes them today: several, none, or a cycle."""

    def trash(self, file_id: str, *, by: str | None = None) -> File: ...
    def untrash(self, file_id: str, *, by: str | None = None) -> File: ...
    def delete(self, file_id: str, *, by: str | None = None) -> None:
        """For good. Below a folder of My Drive, what others own stays and is orphaned."""

    def view(self, file_id: str, *, by: str) -> None:
        """Somebody opens the file: a change that changes nothing."""

    # --- permissions ---

    def share(
        self,
        file_id: str,
        with_: str = "anyone",
        role: Role = "reader",
        *,
        type: GranteeType | None = None,
        discoverable: bool = False,
        expires: datetime | None = None,
        pending_owner: bool = False,
        view: View | None = None,
        by: str | None = None,
    ) -> Permission:
        """`permissions.create`, on a file, folder or shared drive. ``with_`` is an address, a domain or ``anyone``."""

    def update_permission(
        self,
        file_id: str,
        permission_id: str,
        *,
        role: Role | None = None,
        expires: datetime | None = None,
        remove_expiration: bool = False,
        pending_owner: bool | None = None,
        by: str | None = None,
    ) -> Permission: ...
    def unshare(self, file_id: str, grantee_or_permission_id: str, *, by: str | None = None) -> None:
        """`permissions.delete`: by permission id, address, domain or ``anyone``. Inherited ones are refused (403)."""

    def transfer(self, file_id: str, to: str, *, move_to_root: bool = False, by: str | None = None) -> File:
        """Another owner; the former one becomes a writer."""

    def expire(self) -> int:
        """Drive's housekeeping: permissions that have expired go, with a change each. Returns how many."""

    def list_permissions(
        self,
        file_id: str,
        viewer: str,
        *,
        page_size: int | None = None,
        page_token: str | None = None,
        supports_all_drives: bool = False,
        view: str | None = None,
    ) -> Page:
        """`permissions.list`, inherited ones included. A reader is refused (403)."""

    def permission_resource(
        self, file_id: str, permission_id: str, viewer: str, *, supports_all_drives: bool = False
    ) -> Resource:
        """`permissions.get`."""

    # --- changes ---

    def start_token(self, viewer: str, *, drive_id: str | None = None, supports_all_drives: bool = False) -> str: ...
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

    # --- hooks ---

    def on_download(
        self, file_id: str, action: Callable[[], object], *, nth: int = 1, when: Literal["before", "after"] = "after"
    ) -> None:
        """Runs ``action`` once, before or after the nth download or export of the file takes its bytes: whatever
        it changes happens between the caller's two looks, or between two ranges."""

    # --- the truth, for comparison ---

    def may_open(self, email: str, file_id: str) -> bool:
        """Drive would open it for this user, a link included."""

    def may_read(self, email: str, file_id: str, *, discoverable_as_everyone: bool = False) -> bool:
        """Search may show it to this user: opened by a permission that names the user, a group or (discoverable) the
        user's domain, in force now, and not in the trash. Links count for nobody."""

    def readers_of(self, file_id: str, *, discoverable_as_everyone: bool = False) -> set[str]:
        """Those of the users who `may_read` it."""

    def documents(self, *, below: str | None = None, drive_id: str | None = None) -> list[File]:
        """Files that are documents (no folders, no shortcuts), not in the trash, in the order they were made."""

    def path_of(self, file_id: str) -> str:
        """The names from the root down to the file, for people."""
