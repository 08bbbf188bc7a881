"""PostgreSQL refuses to run as root: which account it gets instead, and what that account can reach."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Account:
    """An unprivileged user a server runs as."""

    name: str
    uid: int
    gid: int


def server_account(data: Path) -> Account | None:
    """None when we are not root: the server is then simply ours.

    Data made by an ordinary user stays that user's when root comes by, because PostgreSQL wants to own its folder.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(f"user {owner.st_uid}", owner.st_uid, owner.st_gid)  # it may have no name in this container
    for name in ("headwater", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    return Account("nobody", 65534, 65534)


def can_reach(account: Account, path: Path) -> bool:
    """Whether the account may pass through every folder down to ``path`` itself, by the permission bits.

    An access list may allow more than the bits say; then a copy is made that was not needed.
    """
    real = Path(os.path.realpath(path))
    return all(_may_pass(account, os.stat(folder)) for folder in (real, *real.parents))


def _may_pass(account: Account, status: os.stat_result) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
