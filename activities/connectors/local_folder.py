"""A folder on a disk that the worker sees. Every pass lists all of it; what is unchanged is known by its stat."""

import errno
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from activities.connectors.access_rule import AccessRule
from activities.connectors.folder_ids import (
    encode_path,
    from_locator,
    id_prefix,
    label,
    path_from_text,
    path_to_text,
    quoted,
    source_id,
    to_locator,
)
from activities.connectors.folder_pass import Cursor, FolderPass, Found
from activities.connectors.folder_read import read_file, version_of
from activities.connectors.folder_walk import OUR_SHORTAGE
from headwater.connectors import (
    Change,
    ChangeKind,
    ChangePage,
    DocumentGone,
    DocumentRefused,
    FetchedDocument,
    SourceUnavailable,
)
from headwater.errors import HeadwaterError, TransientError

# Waiting can help with one file: a network file system that is away, a busy disk, a process out of descriptors.
_PASSING: Final = OUR_SHORTAGE | {
    errno.EIO,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.EBUSY,
    errno.EAGAIN,
    errno.ENOTCONN,
    errno.EHOSTDOWN,
}


class LocalFolder:
    """The files below ``root``, as ``folder:<name>/<relative path>``.

    ``access_file`` is not listed; a relative one is relative to ``root``. ``now_ns`` is the clock that file times are
    held against.
    """

    def __init__(
        self,
        root: str | bytes | Path,
        *,
        name: str,
        access: AccessRule | None = None,
        access_file: str | bytes | Path | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._root = os.fsencode(root)
        self._prefix = id_prefix(name)
        self._access = access
        self._access_file = os.fsencode(access_file) if access_file else None
        self._now_ns = now_ns
        self._under_way: FolderPass | None = None
        self._cursor: str | None = None

    @property
    def kind(self) -> str:
        return "folder"

    @classmethod
    def from_config(cls, config: Mapping[str, Any], *, name: str) -> Self:
        """The connector of a stored configuration, as `folder_config` wrote it."""
        access, access_file = config.get("access"), config.get("access_file")
        return cls(
            path_from_text(config["root"]),
            name=name,
            access=None if access is None else AccessRule.from_json(access),
            access_file=path_from_text(access_file) if access_file else None,
        )

    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        """The next files. Called with the cursor it returned last, it goes on; with any other, it finds the place."""
        under_way = self._under_way if cursor is not None and cursor == self._cursor else None
        self._under_way = self._cursor = None  # a listing that fails begins anew
        try:
            if under_way is None:
                under_way = self._begin(cursor)
            changes = [self._change(found, under_way.mount_of(found)) for found in under_way.take(limit)]
        except OSError as error:
            raise self._root_error(error) from error
        if under_way.looks_unmounted:
            raise SourceUnavailable(
                f"The folder {quoted(self._root)} is empty and not the one that was synced before: it looks unmounted. "
                "Mount it; if it is meant to be empty, sync it once with a document in it."
            )
        following = under_way.cursor().model_dump_json(exclude_none=True)
        if not under_way.is_done:
            self._under_way, self._cursor = under_way, following
        return ChangePage(changes, following, under_way.is_done, under_way.take_unlisted())

    def restart(self, cursor: str | None) -> str | None:
        """The same cursor: every pass lists everything, and needs to know which mount points the last one met."""
        return cursor

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        """The file. Its version is ``None`` if it changed within the 2 s before, or again and again while it was read.

        Raises `SourceUnavailable` too: a file is not gone if the root is gone or empty, or its disk is unmounted.
        """
        path, mount = from_locator(change.locator)
        root = self._open_root()
        try:
            data, version = read_file(root, path, max_bytes=max_bytes, now_ns=self._now_ns)
        except OSError as error:
            raise self._document_error(error, path, mount, root) from error
        finally:
            os.close(root)
        shown = label(path)
        return FetchedDocument(data, version, name=shown.rpartition("/")[2], metadata={"path": shown})

    def _begin(self, cursor: str | None) -> FolderPass:
        where = Cursor.parse(cursor) if cursor is not None else None
        return FolderPass(self._open_root(), where, hidden=self._hidden())

    def _change(self, found: Found, mount: bytes | None) -> Change:
        path, seen = found
        encoded, shown = encode_path(path), label(path)
        return Change(
            ChangeKind.UPSERT,
            source_id=source_id(self._prefix, encoded),
            locator=to_locator(encoded, mount),
            version=version_of(seen),
            path=shown,
            grants=self._access.grants_for(shown) if self._access is not None else None,
        )

    def _hidden(self) -> bytes | None:
        """The access file's path below the root, if it lies there."""
        if self._access_file is None:
            return None
        root = os.path.realpath(self._root)
        access_file = os.path.realpath(os.path.join(root, self._access_file))
        return os.path.relpath(access_file, root)

    def _open_root(self) -> int:
        try:
            return os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise self._root_error(error) from error

    def _root_error(self, error: OSError) -> HeadwaterError:
        root = quoted(self._root)
        if error.errno in OUR_SHORTAGE:
            return TransientError(f"The folder {root} cannot be listed now: {error.strerror}.")
        if error.errno == errno.ENOENT:
            return SourceUnavailable(f"The folder {root} does not exist: mount or restore it, or sync another one.")
        if error.errno == errno.ENOTDIR:
            return SourceUnavailable(f"{root} is not a folder: name the folder that holds the documents.")
        if error.errno in (errno.EACCES, errno.EPERM):
            return SourceUnavailable(f"The folder {root} may not be read by this user: change its permissions.")
        return SourceUnavailable(f"The folder {root} cannot be listed: {error.strerror}.")

    def _document_error(self, error: OSError, path: bytes, mount: bytes | None, root: int) -> HeadwaterError:
        file = quoted(path)
        if error.errno in _PASSING:
            return TransientError(f"The file {file} cannot be read now: {error.strerror}.")
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            if self._is_empty(root):
                return SourceUnavailable(f"The folder {quoted(self._root)} became empty while it was synced: mount it.")
            if mount is not None and not _is_mount(mount, root):
                return SourceUnavailable(f"The file system at {quoted(mount)} was unmounted: mount it and sync again.")
            return DocumentGone(f"The file {file} is no longer in the folder.")
        if error.errno in (errno.EACCES, errno.EPERM):
            return DocumentRefused(f"The file {file} may not be read by this user: change its permissions.")
        return DocumentRefused(f"The file {file} cannot be read: {error.strerror}.")

    def _is_empty(self, root: int) -> bool:
        try:
            return all(name.startswith(".") for name in os.listdir(root))
        except OSError as error:
            raise self._root_error(error) from error


def _is_mount(path: bytes, root: int) -> bool:
    try:
        above = os.stat(os.path.dirname(path) or b".", dir_fd=root)
        return os.stat(path, dir_fd=root, follow_symlinks=False).st_dev != above.st_dev
    except OSError:
        return False


def folder_config(
    root: str | bytes | Path, *, access: AccessRule | None, access_file: str | bytes | Path | None
) -> dict[str, Any]:
    """The configuration that a connector's row keeps. Paths are made absolute here: workers stand elsewhere."""
    return {
        "root": path_to_text(os.path.realpath(root)),
        "access": access.to_json() if access is not None else None,
        "access_file": path_to_text(os.path.realpath(access_file)) if access_file else None,
    }
