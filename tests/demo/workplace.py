"""The folder a demo works in, and all that it leaves: emptied by the next demo, deleted by `python -m tests.demo.workplace`.

Other people's folders must survive this whatever lies in the workplace, so nothing that is written there is believed: a
folder outside of it is deleted only if it is where this very home's data would be, and looks like them. Nothing but the
standard library is imported, because `make clean` also works where there is no environment.
"""

import fcntl
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tests.demo.failure import DemoFailure
from workers.guard.home import Home
from workers.guard.place import SHARED, lent_folder

LOCK: Final = "demo.lock"
FORMER_SERVERS_S: Final = 15.0
_LENT: Final = re.compile(r"[0-9a-f]{16}(\.former)?")
_DATA: Final = re.compile(r"postgres(\.[0-9]+\.new)?")


@contextmanager
def empty_workplace(workplace: Path, *, shared: Path = SHARED) -> Iterator[Path]:
    """The folder, emptied, and nobody else's until the end."""
    _check_ours(workplace)
    workplace.mkdir(parents=True, exist_ok=True)
    with _alone(workplace / LOCK):
        _empty(workplace, shared)
        # PostgreSQL does not run as root: where its account may pass through the home, the data stay in it, and
        # whoever deletes the folder has deleted all of the demo.
        home = home_in(workplace)
        home.mkdir()
        home.chmod(0o711 if os.geteuid() == 0 else 0o700)
        yield workplace


def forget(workplace: Path, *, shared: Path = SHARED) -> None:
    """Delete the workplace, and what its home was lent elsewhere."""
    if not workplace.is_dir():
        return
    _check_ours(workplace)
    with _alone(workplace / LOCK):
        _empty(workplace, shared)
        (workplace / LOCK).unlink()
    with suppress(OSError):  # a link to a folder on another disk stays, as does that folder, empty
        workplace.rmdir()


def home_in(workplace: Path) -> Path:
    return workplace / "home"


def lent_to(home: Path, *, shared: Path = SHARED) -> Path | None:
    """The folder outside of ``home`` where root keeps PostgreSQL's data for it, if there is one."""
    # A link leads to somebody's home, and what that was lent is not the demo's.
    if home.is_symlink() or not home.is_dir():
        return None
    folder = lent_folder(Home(home), shared)
    # The record only confirms what the home's own path says: it may have been moved here, or tampered with.
    return folder if _content(Home(home).location) == os.fsencode(folder / "postgres") else None


def _check_ours(workplace: Path) -> None:
    """Only what is empty, or bears the mark of a demo, is ever emptied."""
    if workplace.is_dir() and any(workplace.iterdir()) and _content(workplace / LOCK) is None:
        raise DemoFailure(f"{workplace} holds something that no demo made: choose an empty folder.")


def _empty(workplace: Path, shared: Path) -> None:
    home = home_in(workplace)
    # A demo that was killed leaves servers that stop by themselves; a living command is not ours to stop.
    for lock in ("users.lock", "guard.lock"):
        if (home / lock).exists():
            with _alone(home / lock, patience_s=FORMER_SERVERS_S):
                pass
    try:
        for folder in _lent_folders(home, shared):
            shutil.rmtree(folder)
        for entry in workplace.iterdir():
            if entry.name != LOCK:
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    except PermissionError as error:
        raise DemoFailure(
            f"{error.filename} cannot be deleted ({error.strerror}): do it as the user who ran the demo."
        ) from error


def _lent_folders(home: Path, shared: Path) -> list[Path]:
    """What the home was lent, and what the home before it at the same place was. Says what is left alone."""
    lent = lent_to(home, shared=shared)
    if lent is None:
        if os.path.lexists(Home(home).location):
            _say(f"{Home(home).location} does not name the place that this home's data would have: it is not followed.")
        return []
    found = [folder for folder in (lent, lent.with_name(lent.name + ".former")) if os.path.lexists(folder)]
    for folder in found:
        if not is_lent(folder, shared=shared):
            _say(f"{folder} does not look like data that Headwater put there as this user: it is left alone.")
    return [folder for folder in found if is_lent(folder, shared=shared)]


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def is_lent(folder: Path, *, shared: Path = SHARED) -> bool:
    """Whether ``folder`` is one that root lends to a home, holding PostgreSQL's data and nothing else."""
    if folder.parent != shared or not _LENT.fullmatch(folder.name):
        return False
    return _is_own_folder(folder) and all(_DATA.fullmatch(each.name) and _is_folder(each) for each in folder.iterdir())


def _is_own_folder(path: Path) -> bool:
    return _is_folder(path) and path.stat().st_uid == os.geteuid()


def _is_folder(path: Path) -> bool:
    """Whether it is one itself: neither a link to one nor another disk."""
    return path.is_dir() and not path.is_symlink() and not path.is_mount()


def _content(path: Path) -> bytes | None:
    """What is in that file, if it is one: neither a link nor a pipe."""
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None


@contextmanager
def _alone(lock: Path, *, patience_s: float = 0) -> Iterator[None]:
    held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    deadline = time.monotonic() + patience_s
    try:
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise DemoFailure(
                        f"another demo, or a command that it left behind, is at work in {lock.parent}: stop it first."
                    ) from None
            time.sleep(0.1)  # between two tries: flock itself would wait without end
        yield
    finally:
        os.close(held)


if __name__ == "__main__":
    try:
        forget(Path(sys.argv[1]).absolute())
    except DemoFailure as failure:
        sys.exit(f"Nothing was deleted, or not all: {failure}")
