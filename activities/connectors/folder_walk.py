"""The files below a folder, depth first in the byte order of their names, resumable after any of them.

The walk goes by folder descriptors, one for each level it is in. So it never leaves the root, even if a folder is
swapped for a link while it is listed, and a path may be longer than the system takes in one call.
"""

import errno
import os
import stat
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from activities.connectors.folder_ids import label
from headwater.connectors import Unlisted

DEPTH_MAX: Final = 128  # each level holds a descriptor, and a process often has no more than 1,024
LISTINGS_MAX: Final = 3
UNLISTED_MAX: Final = 100  # until they are collected; one is enough to keep the sweep away
OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
VANISHED: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})  # gone, or something else stands there now
OUR_SHORTAGE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})

_DOT: Final = ord(".")


@dataclass(slots=True)
class _Folder:
    fd: int
    path: bytes  # with a slash at its end; empty for the root
    device: int
    names: Iterator[bytes]
    after: tuple[bytes, ...]  # of the position that the walk goes on from, the components below this folder


@dataclass(slots=True)
class FolderWalk:
    """One walk. ``root`` is an open folder, which the walk owns and closes.

    ``mounts`` are the mount points it met; ``expected`` those of the walk before. One of either that is an empty
    folder now has been unmounted: its files are not listed and not gone.
    """

    root: int
    expected: frozenset[bytes] = frozenset()
    mounts: set[bytes] = field(default_factory=set)
    unlisted: list[Unlisted] = field(default_factory=list)

    def files(self, after: bytes | None = None) -> Iterator[tuple[bytes, os.stat_result]]:
        """Each regular file behind ``after``, with its stat. Dot-files, links and everything else are passed over.

        Raises `OSError` if the root cannot be listed, or if this process is out of descriptors or memory.
        """
        open_folders: list[int] = [self.root]
        try:
            position = tuple(after.split(b"/")) if after else ()
            stack = [_Folder(self.root, b"", os.fstat(self.root).st_dev, iter(_names(self.root, position)), position)]
            while stack:
                folder = stack[-1]
                for name in folder.names:
                    try:
                        seen = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
                    except OSError as error:
                        if self._miss(folder, name, error):
                            continue
                        break
                    if stat.S_ISREG(seen.st_mode):
                        if not folder.after or folder.after[0] != name:
                            yield folder.path + name, seen
                    elif stat.S_ISDIR(seen.st_mode):
                        inner = self._enter(folder, name, depth=len(stack))
                        if inner is not None:
                            stack.append(inner)
                            open_folders.append(inner.fd)
                            break
                else:
                    stack.pop()
                    os.close(open_folders.pop())
        finally:
            for fd in open_folders:
                os.close(fd)

    def _miss(self, folder: _Folder, name: bytes, error: OSError) -> bool:
        """Notes what a failed stat leaves unlisted, and whether the rest of the folder can still be listed."""
        if error.errno in VANISHED:
            return True
        if error.errno in OUR_SHORTAGE:
            raise error
        if error.errno not in (errno.EACCES, errno.EPERM):
            self._report(folder.path + name, _reason(error))
            return True
        if not folder.path:
            raise error
        folder.names = iter(())  # names may be read and files may not: the same for all of them
        self._report(folder.path[:-1], _reason(error))
        return False

    def _enter(self, folder: _Folder, name: bytes, *, depth: int) -> _Folder | None:
        path = folder.path + name
        position = folder.after[1:] if folder.after and folder.after[0] == name else ()
        if depth >= DEPTH_MAX:
            self._report(path, f"Folders more than {DEPTH_MAX} levels deep are not listed.")
            return None
        fd = -1
        try:
            fd = os.open(name, OPEN_FOLDER, dir_fd=folder.fd)
            device = os.fstat(fd).st_dev
            names = _names(fd, position)
            if device != folder.device:
                self.mounts.add(path)
            elif (path in self.expected or path in self.mounts) and not _names(fd, ()):
                self._report(path, "It was a mounted file system and is an empty folder now: mount it, or remove it.")
            inner = _Folder(fd, path + b"/", device, iter(names), position)
            fd = -1
            return inner
        except OSError as error:
            if error.errno in OUR_SHORTAGE:
                raise
            if error.errno not in VANISHED:
                self._report(path, _reason(error))
            return None
        finally:
            if fd >= 0:
                os.close(fd)

    def _report(self, path: bytes, reason: str) -> None:
        below = path + b"/"
        self.mounts.update(mount for mount in self.expected if mount == path or mount.startswith(below))
        if len(self.unlisted) < UNLISTED_MAX:
            self.unlisted.append(Unlisted(label(path), reason))


def _names(fd: int, position: tuple[bytes, ...]) -> list[bytes]:
    """The names in a folder that do not begin with a dot, sorted, from the position on.

    A file system may pass over a name that is renamed onto while the folder is read (tmpfs did, once in 4,000 listings
    of 6,000 names), and a document that is passed over is taken for deleted. So a folder that changed is read again.
    """
    found: set[str] = set()
    for _ in range(LISTINGS_MAX):
        before = os.fstat(fd).st_mtime_ns
        found.update(os.listdir(fd))
        if os.fstat(fd).st_mtime_ns == before:
            break
    names = sorted(name for name in map(os.fsencode, found) if name[0] != _DOT)
    return names[bisect_left(names, position[0]) :] if position else names


def _reason(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        return "This user may not read it: change its permissions, or move it out of the folder."
    return f"It could not be listed: {error.strerror}."
