"""Sign-ins and connections are kept for the next connector, and never by two threads at once or after they were refused."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier

import pytest

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.credentials import CredentialSource
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.service import DriveService
from activities.connectors.drive.sessions import ACCOUNTS_KEPT, IDLE_KEPT, DriveSessions
from headwater.connectors import SourceUnavailable
from headwater.errors import TransientError
from tests.unit.raw_drive import RawDrive, person, refuses, running_raw_drive, says, token_reply

ABOUT = "/drive/v3/about"


@pytest.fixture
def drive() -> Iterator[RawDrive]:
    with running_raw_drive() as running:
        running.script("/token", token_reply("ya29.first"), token_reply("ya29.second"))
        running.script(ABOUT, says({"user": {"emailAddress": "ada@a.test"}}))
        yield running


@pytest.fixture
def source(drive: RawDrive, tmp_path: Path) -> CredentialSource:
    return named(tmp_path, "person.json", drive)


def named(folder: Path, name: str, drive: RawDrive) -> CredentialSource:
    file = folder / name
    file.write_text(json.dumps(person(drive)))
    return CredentialSource(str(file))


@pytest.fixture
def sessions() -> Iterator[DriveSessions]:
    made = DriveSessions()
    yield made
    made.close()


def test_one_token_and_one_connection_serve_one_connector_after_the_other(
    drive: RawDrive, source: CredentialSource, sessions: DriveSessions
) -> None:
    seen = set()
    for _ in range(5):
        with sessions.lent(source, root_url=drive.url) as calls:
            calls.about()
            seen.add(id(calls))
    assert len(seen) == 1
    assert len(drive.asked("/token")) == 1


def test_two_threads_never_have_the_same_connection_and_share_the_token(
    drive: RawDrive, source: CredentialSource, sessions: DriveSessions
) -> None:
    together = Barrier(IDLE_KEPT + 2)

    def ask() -> int:
        with sessions.lent(source, root_url=drive.url) as calls:
            together.wait(10)
            calls.about()
            return id(calls)

    with ThreadPoolExecutor(IDLE_KEPT + 2) as pool:
        asked = [pool.submit(ask) for _ in range(IDLE_KEPT + 2)]
    assert len({each.result() for each in asked}) == IDLE_KEPT + 2
    assert len(drive.asked("/token")) == 1


def test_a_connection_comes_back_after_a_failure_that_passes(
    drive: RawDrive, source: CredentialSource, sessions: DriveSessions
) -> None:
    drive.script(ABOUT, refuses(500, "backendError"), says({"user": {}}))
    with pytest.raises(TransientError), sessions.lent(source, root_url=drive.url) as first:
        first.about()
    with sessions.lent(source, root_url=drive.url) as second:
        second.about()
    assert first is second
    assert len(drive.asked("/token")) == 1


def test_refused_credentials_are_read_again_the_next_time(
    drive: RawDrive, source: CredentialSource, sessions: DriveSessions
) -> None:
    drive.script(ABOUT, refuses(403, "accessNotConfigured"), says({"user": {}}))
    with pytest.raises(SourceUnavailable), sessions.lent(source, root_url=drive.url) as calls:
        calls.about()
    with sessions.lent(source, root_url=drive.url) as calls:
        calls.about()
    assert [asked.token for asked in drive.asked(ABOUT)] == ["Bearer ya29.first", "Bearer ya29.second"]


def test_a_shared_drive_that_is_gone_is_no_reason_to_sign_in_again(
    drive: RawDrive, source: CredentialSource, sessions: DriveSessions
) -> None:
    drive.script("/drive/v3/drives/0AbC", refuses(404, "notFound"))
    for _ in range(3):
        with pytest.raises(SharedDriveGone), sessions.lent(source, root_url=drive.url) as calls:
            calls.shared_drive("0AbC")
    assert len(drive.asked("/token")) == 1


def test_a_replaced_file_is_read_at_once_and_what_it_replaced_is_let_go(
    drive: RawDrive, source: CredentialSource, tmp_path: Path
) -> None:
    closed = []

    class Noting(DriveService):
        def close(self) -> None:
            closed.append(self)
            super().close()

    sessions = DriveSessions(connect=Noting)
    with sessions.lent(source, root_url=drive.url) as calls:
        calls.about()
    assert source.file is not None
    os.replace(str(named(tmp_path, "other.json", drive).file), source.file)
    with sessions.lent(source, root_url=drive.url) as calls:
        calls.about()
    assert len(drive.asked("/token")) == 2
    assert len(closed) == 1
    sessions.close()
    assert len(closed) == 2


def test_two_accounts_and_two_servers_are_told_apart(
    drive: RawDrive, source: CredentialSource, sessions: DriveSessions, tmp_path: Path
) -> None:
    with running_raw_drive() as elsewhere:
        elsewhere.script(ABOUT, says({"user": {}}))
        for one, url in ((source, drive.url), (named(tmp_path, "b.json", drive), drive.url), (source, elsewhere.url)):
            for _ in range(2):
                with sessions.lent(one, root_url=url) as calls:
                    calls.about()
        assert len(drive.asked("/token")) == 3
        assert len(elsewhere.asked(ABOUT)) == 2
        sessions.close()


def test_unusable_credentials_are_said_when_drive_is_lent(sessions: DriveSessions, tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="does not exist"), sessions.lent(CredentialSource(str(tmp_path / "x"))):
        raise AssertionError("lent without credentials")


def test_what_is_kept_is_bounded(drive: RawDrive, sessions: DriveSessions, tmp_path: Path) -> None:
    *sources, last = [named(tmp_path, f"{n}.json", drive) for n in range(ACCOUNTS_KEPT + 1)]
    first: dict[CredentialSource, DriveCalls] = {}
    for each in (*sources, sources[0], last):
        with sessions.lent(each, root_url=drive.url) as calls:
            first.setdefault(each, calls)
    for each in (last, sources[0]):
        with sessions.lent(each, root_url=drive.url) as calls:
            assert calls is first[each]
    with sessions.lent(sources[1], root_url=drive.url) as calls:
        assert calls is not first[sources[1]], "the account that was not used for longest was forgotten"


def test_what_was_lent_when_all_was_closed_is_not_kept(
    drive: RawDrive, source: CredentialSource, sessions: DriveSessions
) -> None:
    with ExitStack() as lent:
        calls = lent.enter_context(sessions.lent(source, root_url=drive.url))
        calls.about()
        sessions.close()
        calls.about()
    with sessions.lent(source, root_url=drive.url) as other:
        assert other is not calls
