"""One pass over a folder, its cursor, and how a disk that was unmounted is told from a folder that was emptied."""

import os
from collections.abc import Iterable
from itertools import islice
from typing import Literal, Self

import pydantic
from pydantic import BaseModel, ConfigDict

from activities.connectors.folder_ids import decode_path, encode_path
from activities.connectors.folder_walk import FolderWalk
from headwater.connectors import Unlisted
from headwater.errors import ValidationError

Found = tuple[bytes, os.stat_result]


class Cursor(BaseModel):
    """``at`` is the file listed last; without it the pass is over.

    ``root`` is the root's device and inode, ``mounts`` are the mount points met in this pass and ``expected`` those of
    the pass before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: Literal[1] = 1
    at: str | None = None
    root: tuple[int, int]
    mounts: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        try:
            return cls.model_validate_json(text)
        except pydantic.ValidationError as error:
            raise ValidationError(
                f"The cursor {text[:80]!r} is not one of a folder connector of this version, and the mounts that it knew cannot be told: "
                "see that all disks are mounted, end the connector with `headwater connector remove NAME --keep-sources`, and sync "
                "the folder again under its name."
            ) from error


class FolderPass:
    """The files behind a cursor. Takes over the open folder ``root`` and closes it when it is over or dropped."""

    def __init__(self, root: int, cursor: Cursor | None, *, hidden: bytes | None) -> None:
        seen = os.fstat(root)
        here = (seen.st_dev, seen.st_ino)
        self._is_elsewhere = cursor is not None and cursor.root != here
        self._has_listed = cursor is not None and cursor.at is not None
        if cursor is None or cursor.at is None:
            self._root = here
            self._walk = FolderWalk(root, expected=_decoded(cursor.mounts if cursor else ()))
        else:
            self._root = cursor.root
            self._walk = FolderWalk(root, expected=_decoded(cursor.expected), mounts=set(_decoded(cursor.mounts)))
            if self._is_elsewhere:
                self._walk.unlisted.append(Unlisted("", "The folder was replaced or unmounted while it was listed."))
        after = decode_path(cursor.at) if cursor and cursor.at else None
        # No method of this object: a dropped pass would wait for the collector of cycles to close its folders.
        self._files = (found for found in self._walk.files(after) if found[0] != hidden)
        self._device = here[0]
        self._last = after
        self._ahead: Found | None = next(self._files, None)  # so that the last page knows that it is the last

    def take(self, limit: int) -> list[Found]:
        """The next files, at most ``limit``."""
        if self._ahead is None:
            return []
        taken = [self._ahead, *islice(self._files, limit - 1)]
        self._ahead = next(self._files, None)
        self._has_listed = True
        self._last = taken[-1][0]
        return taken

    def mount_of(self, found: Found) -> bytes | None:
        """The mount point below the root under which the file lies."""
        path, seen = found
        if seen.st_dev == self._device:
            return None
        return max((mount for mount in self._walk.mounts if path.startswith(mount + b"/")), key=len, default=None)

    @property
    def is_done(self) -> bool:
        return self._ahead is None

    @property
    def looks_unmounted(self) -> bool:
        """Whether the pass ended with nothing, in a folder that is not the one of the pass before."""
        return self.is_done and self._is_elsewhere and not self._has_listed

    def take_unlisted(self) -> list[Unlisted]:
        """What could not be listed since this was last asked."""
        unlisted = list(self._walk.unlisted)
        self._walk.unlisted.clear()
        return unlisted

    def cursor(self) -> Cursor:
        """Where to go on after the files that were taken, or where the next pass begins."""
        mounts = _encoded(self._walk.mounts)
        if self.is_done:
            return Cursor(root=self._root, mounts=mounts)
        return Cursor(
            at=encode_path(self._last) if self._last else None,
            root=self._root,
            mounts=mounts,
            expected=_encoded(self._walk.expected),
        )


def _decoded(paths: tuple[str, ...]) -> frozenset[bytes]:
    return frozenset(map(decode_path, paths))


def _encoded(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted(map(encode_path, paths)))
