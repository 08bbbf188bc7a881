"""What lies in a home, and the locks that order its processes."""

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PASSWORD = re.compile(rb"[A-Za-z0-9_-]{32}")


@dataclass(frozen=True)
class Home:
    """The folder of one set of embedded servers.

    users.lock    shared by every command, as long as it runs; the guard waits for it alone and so sees the last one go
    start.lock    one command comes or leaves at a time
    guard.lock    held by a living guard
    up.lock       held by a running `headwater up`
    temporal.lock held by a living Temporal server, because two on one file would both start
    """

    path: Path

    @property
    def services(self) -> Path:
        """For hosts: where the servers are, passwords included."""
        return self.path / "services.json"

    @property
    def condition(self) -> Path:
        """For commands: what the guard answered last, and what ails its servers."""
        return self.path / "guard.json"

    @property
    def ports(self) -> Path:
        """The ports of the last time, which are asked for again: addresses that a host has noted stay right."""
        return self.path / "ports.json"

    @property
    def requests(self) -> Path:
        """The pipe on which a command asks the guard for Temporal."""
        return self.path / "guard.requests"

    @property
    def password(self) -> Path:
        return self.path / "postgres.password"

    @property
    def location(self) -> Path:
        """Says where PostgreSQL's data are when they are not here."""
        return self.path / "postgres.location"

    def lock_file(self, name: str) -> Path:
        return self.path / f"{name}.lock"

    def log_file(self, name: str) -> Path:
        return self.path / f"{name}.log"


def open_lock(path: Path) -> int:
    """A file to lock. The caller closes it, which gives the lock up; so does the end of the process."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """The lock, if it can be had at once."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path, *, by_anyone: bool = True) -> bool:
    """Whether some process holds that lock (``by_anyone=False``: holds it alone)."""
    descriptor = open_lock(path)
    try:
        return not try_lock(descriptor, shared=not by_anyone)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits for the lock and holds it."""
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str, *, lasting: bool = False) -> None:
    """Replaces the file at once, readable by its owner alone: a reader sees the old text or the new one.

    ``lasting`` returns when the text has reached the disk. Without, a power cut may leave less than what was written.
    """
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as output:
        output.write(text)
        if lasting:
            output.flush()
            os.fsync(descriptor)
    unfinished.rename(path)
    if lasting:
        _sync_folder(path.parent)


def read_json(path: Path) -> dict[str, Any] | None:
    """What the guard wrote there. None when there is nothing, or no longer what was written: a power cut shortens files."""
    try:
        written = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return dict(written) if isinstance(written, dict) else None


def new_password() -> str:
    """What `read_password` knows again."""
    return secrets.token_urlsafe(24)


def read_password(path: Path) -> str | None:
    """The whole password in that file, or None: a part of one opens nothing."""
    try:
        written = path.read_bytes()
    except FileNotFoundError:
        return None
    return written.decode("ascii") if _PASSWORD.fullmatch(written) else None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # a file system that knows no such thing for folders
            raise
    finally:
        os.close(descriptor)
