"""Which processes serve a home, looked up in /proc: what `ps` would show."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from workers.guard.place import SHARED

PATIENCE_S = 15.0


def guard_of(home: Path) -> int | None:
    return _only(home, lambda words: any(b"workers.guard.main" in word for word in words))


def postgres_of(home: Path) -> int | None:
    return _only(home, lambda words: words[0].endswith(b"/postgres") and b"-D" in words)


def temporal_of(home: Path) -> int | None:
    return _only(home, lambda words: b"start-dev" in words and words[0].endswith(b"/temporal"))


def lent_folders(place: Path) -> list[Path]:
    """Where root put PostgreSQL's data of the homes at this place, or up to two folders below it.

    Tests delete what this returns, and also spoil the records: only what can be such a folder is believed.
    """
    records = [record for pattern in ("", "*/", "*/*/") for record in place.glob(f"{pattern}postgres.location")]
    told = [Path(record.read_text()).parent for record in records]
    return [folder for folder in told if folder.parent == SHARED and re.fullmatch("[0-9a-f]{16}", folder.name)]


def processes_of(home: Path) -> dict[int, list[bytes]]:
    """All that name the home, or the folder it was lent for PostgreSQL's data, or work in one of them."""
    places = {os.fsencode(folder) for folder in (home, *lent_folders(home))}
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            folder = os.fsencode(os.readlink(entry / "cwd"))
        except OSError:
            continue
        if any(place == folder or folder.startswith(place + b"/") or place in b" ".join(words) for place in places):
            found[int(entry.name)] = words
    return found


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Returns when it is so; a failed test says what was not."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S:.0f} s: {what}"
        time.sleep(0.02)  # between two looks: /proc tells nobody that a process ended


def _only(home: Path, is_it: Callable[[list[bytes]], bool]) -> int | None:
    """The one that looks like it. Its children do too, for an instant: until they have retitled or replaced themselves."""
    found = {pid for pid, words in processes_of(home).items() if words and is_it(words)}
    eldest = [pid for pid in found if _parent_of(pid) not in found]
    assert len(eldest) <= 1, f"several: {eldest}"
    return eldest[0] if eldest else None


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it is gone
        return 0
