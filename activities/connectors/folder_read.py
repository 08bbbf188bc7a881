"""The bytes of one file below a folder, and the version they had: never a link, a device, or anything outside."""

import os
import stat
from collections.abc import Callable
from typing import Final

from activities.connectors.folder_ids import quoted
from activities.connectors.folder_walk import OPEN_FOLDER
from headwater.connectors import DocumentRefused, DocumentTooLarge

REREADS_MAX: Final = 2
SETTLED_AFTER_NS: Final = 2_000_000_000  # the coarsest time stamps in use are those of FAT: 2 s
_OPEN_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def version_of(seen: os.stat_result) -> str:
    """What tells an unchanged file. A replaced one has another inode, an edited one another ctime."""
    return f"{seen.st_size}-{seen.st_mtime_ns}-{seen.st_ctime_ns}-{seen.st_ino}"


def read_file(root: int, path: bytes, *, max_bytes: int, now_ns: Callable[[], int]) -> tuple[bytes, str | None]:
    """The bytes and their version; ``None`` while a further change might leave the version as it is.

    Raises `DocumentTooLarge`, `DocumentRefused` for what is no regular file, and `OSError`.
    """
    fd = _open(root, path)
    try:
        for _ in range(REREADS_MAX):
            data, version, is_whole = _read_once(fd, path, max_bytes, now_ns())
            if is_whole:
                return data, version
        return _read_once(fd, path, max_bytes, now_ns())[0], None
    finally:
        os.close(fd)


def _read_once(fd: int, path: bytes, max_bytes: int, started_ns: int) -> tuple[bytes, str | None, bool]:
    """The bytes, their version unless it is too young, and whether the file stayed the same while it was read."""
    before = os.fstat(fd)
    if not stat.S_ISREG(before.st_mode):
        raise _not_regular(path)
    data = _read(fd, before.st_size, path, max_bytes)
    after = os.fstat(fd)
    is_whole = version_of(before) == version_of(after) and len(data) == after.st_size
    is_settled = max(after.st_mtime_ns, after.st_ctime_ns) <= started_ns - SETTLED_AFTER_NS
    return data, version_of(after) if is_settled else None, is_whole


def _open(root: int, path: bytes) -> int:
    """Component by component, so that none of them can lead out of the root, whatever it was swapped for."""
    *folders, name = path.split(b"/")
    if b"\0" in path or any(component in (b"", b".", b"..") for component in (*folders, name)):
        raise DocumentRefused(f"The locator {quoted(path)} is not one that a folder connector wrote.")
    parent = root
    try:
        for folder in folders:
            inner = os.open(folder, OPEN_FOLDER, dir_fd=parent)
            if parent != root:
                os.close(parent)
            parent = inner
        # Opening a device can already do something (rewind a tape), so look first; what is opened is looked at again.
        if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise _not_regular(path)
        return os.open(name, _OPEN_FILE, dir_fd=parent)
    finally:
        if parent != root:
            os.close(parent)


def _read(fd: int, size: int, path: bytes, max_bytes: int) -> bytes:
    if size <= max_bytes:
        with open(fd, "rb", closefd=False) as file:
            file.seek(0)
            data = file.read(size + 1)
            if len(data) > size:  # it grew meanwhile, or its size is not told, as in /proc
                data += file.read(max_bytes + 1 - len(data))
            if len(data) <= max_bytes:
                return data
    raise DocumentTooLarge(f"The file {quoted(path)} has more than {max_bytes} bytes.")


def _not_regular(path: bytes) -> DocumentRefused:
    return DocumentRefused(f"{quoted(path)} is a link, a folder or a device: only regular files are read.")
