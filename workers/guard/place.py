"""Where PostgreSQL's data and programs are: in the home, unless root has to lend them to another account."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from workers.guard.account import Account, can_reach, server_account
from workers.guard.binaries import PostgresPrograms, copy_postgres
from workers.guard.errors import ServiceError, shown
from workers.guard.home import Home, write_private

SHARED = Path("/var/lib/headwater")
_DATA = "postgres"


@dataclass(frozen=True)
class Place:
    """What PostgreSQL is started with. ``notice`` is a sentence for the person, the first time only."""

    data: Path
    programs: PostgresPrograms
    account: Account | None
    notice: str | None = None


def place_of(home: Home, programs: PostgresPrograms, *, shared: Path = SHARED) -> Place:
    """The data folder of this home and programs that its account can run."""
    data, is_new = _data_folder(home, shared)
    account = server_account(data)
    if account is None:
        return Place(data, programs, None)
    if not can_reach(account, programs.install):
        _open_folder(shared)
        programs = copy_postgres(programs, shared / f"programs-{_key_of(programs)}")
    notice = None
    if is_new:
        notice = (
            f"PostgreSQL does not run as root: its data are in {shown(data)}, owned by {account.name}, "
            f"because {account.name} cannot enter {shown(home.path)}."
        )
    return Place(data, programs, account, notice)


def _data_folder(home: Home, shared: Path) -> tuple[Path, bool]:
    data = _told_location(home, shared)
    if data is not None:
        if not data.parent.exists():
            raise ServiceError(
                f"The data of {shown(home.path)} were in {shown(data)} and are gone: bring that folder back, "
                f"or delete {shown(home.location)} to begin with an empty corpus."
            )
        return data, False
    data = home.path / _DATA
    account = server_account(data)
    if account is None or can_reach(account, home.path):
        return data, False
    if data.exists():
        raise ServiceError(
            f"The account {account.name} can no longer enter {shown(home.path)}, where PostgreSQL's data are: "
            f"`chmod 711` that folder and its parents."
        )
    try:
        return _lend(home, shared), True
    except OSError as error:
        raise ServiceError(
            f"PostgreSQL does not run as root, {account.name} cannot enter {shown(home.path)}, and {shown(shared)} cannot be "
            f"made ({error.strerror}): `chmod 711` the home and its parents, or run Headwater as another user."
        ) from error


def _told_location(home: Home, shared: Path) -> Path | None:
    """Where the home says that its data are. A power cut may have shortened that; they are where this home's always are."""
    try:
        told = Path(os.fsdecode(home.location.read_bytes()).rstrip("\n"))
    except FileNotFoundError:
        return None
    if told.is_absolute() and told.name == _DATA:
        return told
    data = lent_folder(home, shared) / _DATA
    write_private(home.location, str(data), lasting=True)
    return data


def lent_folder(home: Home, shared: Path = SHARED) -> Path:
    """Where root puts the data of this home when they cannot be in it: named after the home's place, so nobody else's."""
    return shared / hashlib.sha256(os.fsencode(os.path.realpath(home.path))).hexdigest()[:16]


def _lend(home: Home, shared: Path) -> Path:
    """A folder for this home under /var/lib. One that is there already was a deleted home's: the last such is kept."""
    folder = lent_folder(home, shared)
    _open_folder(shared)
    if folder.exists():
        former = folder.with_name(folder.name + ".former")
        shutil.rmtree(former, ignore_errors=True)
        folder.rename(former)
    _open_folder(folder)
    write_private(home.location, str(folder / _DATA), lasting=True)
    return folder / _DATA


def _open_folder(folder: Path) -> None:
    """A folder that every account may pass through, as may those that are made above it, whatever the umask says."""
    made = [each for each in folder.parents if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in (folder, *made):
        each.chmod(0o755)


def _key_of(programs: PostgresPrograms) -> str:
    """Another installation, or another release in the same place, has another key."""
    status = programs.program("postgres").stat()
    told = os.fsencode(programs.install) + f" {status.st_size} {status.st_mtime_ns}".encode()
    return hashlib.sha256(told).hexdigest()[:16]
