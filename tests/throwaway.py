"""Folders for what tests write and throw away at once: in memory, where there is room for it.

A database of a test is 400 files. On ext4 making them takes 14 times as much of a processor (0.35 s instead of 0.025 s), because
every new file looks past all that were just deleted; and most tests have a database of their own.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MEMORY: Final = Path("/dev/shm")
# Several processes run tests, and each has a server or two with some 100 MB.
_ROOM: Final = 2 << 30


@contextlib.contextmanager
def throwaway_folder(prefix: str) -> Iterator[Path]:
    """An empty folder, whose name begins with ``prefix``; gone at the end. No place for programs: they may be forbidden there."""
    place = _MEMORY if _has_room(_MEMORY) else Path(tempfile.gettempdir())
    _sweep(place, prefix)
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _has_room(place: Path) -> bool:
    try:
        volume = os.statvfs(place)
    except OSError:  # there is no such place on this system
        return False
    return os.access(place, os.W_OK) and volume.f_bavail * volume.f_frsize >= _ROOM


def _sweep(place: Path, prefix: str) -> None:
    """Takes away what tests left that were killed: nothing else would, and here it takes up memory."""
    for left in place.glob(f"{prefix}*"):
        owner = re.match(r"(\d+)-", left.name.removeprefix(prefix))
        if owner is not None and not _is_alive(int(owner[1])):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
