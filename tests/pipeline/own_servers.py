"""Servers of a test's own: they may be killed, and come back with their data and on their port."""

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

from activities.store import migrate
from tests.throwaway import throwaway_folder
from workers.guard.account import can_reach, server_account
from workers.guard.binaries import TEMPORAL_IS_MISSING, copy_postgres, postgres_programs, temporal_program
from workers.guard.home import Home
from workers.guard.postgres import Postgres
from workers.guard.temporal import TemporalServer

# The machine lives on when the server is killed, so nothing must reach the disk. All else is as it is in earnest: with
# synchronous_commit off, a kill would cost the last commits.
_SETTINGS = ("fsync=off", "full_page_writes=off")
_PATIENCE_S = 20.0


class OwnPostgres:
    """A server with a migrated database for each test that asks for one."""

    def __init__(self, server: Postgres, data: Path) -> None:
        self._server = server
        self._data = data
        self._databases = 0

    def new_database(self) -> str:
        """The address of an empty, migrated database."""
        self._databases += 1
        name = f"own_{self._databases}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as admin:
            admin.execute(f'CREATE DATABASE "{name}"'.encode())
        migrate.migrate(self._address(name), "headwater")
        return self._address(name)

    def kill(self) -> None:
        """``kill -9`` of the main process; the others end themselves when they notice."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        _kill(pid, self._server.is_running)

    def start(self) -> None:
        self._server.start()

    def _address(self, database: str) -> str:
        return f"postgresql://headwater:test@127.0.0.1:{self._server.port}/{database}"


class OwnTemporal:
    """A dev server, as the embedded default starts it."""

    def __init__(self, server: TemporalServer, home: Home) -> None:
        self._server = server
        self._home = home

    @property
    def address(self) -> str:
        return self._server.address

    def kill(self) -> None:
        _kill(int(self._home.lock_file("temporal").read_text()), self._server.is_running)

    def start(self) -> None:
        self._server.start()


@contextlib.contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    with throwaway_folder("headwater-tests-") as place, tempfile.TemporaryDirectory(prefix="headwater-tests-") as named:
        folder = Path(named)
        programs, account = postgres_programs(), server_account(folder)
        if account:
            for each in (place, folder):
                each.chmod(0o711)
            if not can_reach(account, programs.install):
                programs = copy_postgres(programs, folder / "programs")
        server = Postgres(programs, place / "data", log=folder / "log", account=account, settings=_SETTINGS)
        server.initialise("test")
        server.start()
        try:
            yield OwnPostgres(server, place / "data")
        finally:
            server.stop()


@contextlib.contextmanager
def own_temporal() -> Iterator[OwnTemporal]:
    program = temporal_program()
    assert program is not None, TEMPORAL_IS_MISSING
    with throwaway_folder("headwater-tests-") as folder:
        home = Home(folder)
        server = TemporalServer(program, home)
        server.start()
        try:
            yield OwnTemporal(server, home)
        finally:
            server.stop()


def _kill(pid: int, is_running: Callable[[], bool]) -> None:
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE_S
    while is_running():
        assert time.monotonic() < deadline, f"process {pid} outlived SIGKILL"
        time.sleep(0.01)  # between two looks: it may be no child of ours to wait for
