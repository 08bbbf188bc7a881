"""Temporal's dev server on one SQLite file."""

import os
import signal
import subprocess
import time
from pathlib import Path

from workers.guard import processes
from workers.guard.errors import ServiceError, full_disk, shown
from workers.guard.home import Home, open_lock, try_lock
from workers.guard.ports import LOOPBACK, free_port, listens

_NAMESPACE = "default"
_RETENTION = "7d"  # the server's own is one day, too short for looking at what happened last weekend
_SEARCH_ATTRIBUTES = ("HeadwaterTenant", "HeadwaterCorpus", "HeadwaterPhase")
_START_PATIENCE_S = 60.0
_RETRY_S = 15.0
_PORT_TAKEN = "address already in use"


class TemporalServer:
    """One server, with its web page. Everything it listens on is loopback, and anybody on this machine may use it.

    It runs as whoever runs us, root included: unlike PostgreSQL it has no objection, and its program (150 MB) is
    often where no other account can reach it.
    """

    def __init__(self, program: Path, home: Home) -> None:
        self._program = program
        self._home = home
        self._log = home.log_file("temporal")
        self._lock = home.lock_file("temporal")
        self._lock_held: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.ui_port = 0

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def ui(self) -> str:
        return f"http://{LOOPBACK}:{self.ui_port}"

    def start(self) -> None:
        """Starts the server, where it was before if the ports are still free, and returns when it serves."""
        if self._lock_held is None:
            self._lock_held = self._take_lock()
        deadline = time.monotonic() + _RETRY_S
        while True:
            if not self.port:
                self.port, self.ui_port = free_port(), free_port()
            with processes.words_from_here(self._log) as words:
                if self._started(self._lock_held):
                    return
                said = words()
            if _PORT_TAKEN not in said or time.monotonic() > deadline:
                raise self._refusal(said)
            self.port = 0

    def ask_to_stop(self) -> None:
        """``stop`` waits for it: about a second."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Asks, and returns when the server is gone and another may take the file."""
        if self._process is not None:
            processes.stop(self._process, [(signal.SIGTERM, 10.0)])
        if self._lock_held is not None:
            os.close(self._lock_held)
            self._lock_held = None

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _take_lock(self) -> int:
        """The lock of the database file; the server inherits it, so that it is held as long as any server lives.

        A server that outlived its guard is told to end, by the number it left in the file. That number is still
        its own: it holds the lock.
        """
        lock = open_lock(self._lock)
        deadline = time.monotonic() + 15
        told = 0
        while not try_lock(lock):
            if time.monotonic() > deadline:
                os.close(lock)
                raise ServiceError(
                    f"An old Temporal server (process {told}) in {shown(self._home.path)} does not end; end it and try again."
                )
            pid = int(os.pread(lock, 20, 0) or b"0")
            if pid and pid != told:
                told = pid
                os.kill(pid, signal.SIGTERM)
            time.sleep(0.02)
        return lock

    def _started(self, lock: int) -> bool:
        """Whether the server came up; False when it ended at once, as it does when a port was taken meanwhile."""
        os.truncate(lock, 0)  # never a number that another process may have by now
        self._process = processes.start(
            [
                self._program, "server", "start-dev", "--ip", LOOPBACK,
                "--port", str(self.port), "--ui-port", str(self.ui_port), "--ui-disable-news-fetch",
                # Relative, with the home as working folder: a path with `?` or `#` would end the database's address.
                "--db-filename", "temporal.db",
                "--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal",
                # A small tenant's task behind a big one's queue: position 40 with it, 164 without.
                "--dynamic-config-value", "matching.enableFairness=true",
                # Nothing of ours asks another machine for anything unless somebody said so.
                "--dynamic-config-value", "frontend.enableServerVersionCheck=false",
                *(part for name in _SEARCH_ATTRIBUTES for part in ("--search-attribute", f"{name}=Keyword")),
                "--log-level", "error",
            ],
            log=self._log,
            signal_on_death=signal.SIGTERM,
            cwd=self._home.path,
            keep_open=[lock],
        )  # fmt: skip
        os.pwrite(lock, str(self._process.pid).encode(), 0)
        deadline = time.monotonic() + _START_PATIENCE_S
        while self.is_running():
            if listens(self._process.pid, self.port) and self._keeps_a_week():
                return True
            if time.monotonic() > deadline:
                self.stop()
                return False
            time.sleep(0.02)
        return False

    def _keeps_a_week(self) -> bool:
        """Sets how long finished workflows are kept; succeeds only when the namespace is being served."""
        update = ("operator", "namespace", "update", "-n", _NAMESPACE, "--retention", _RETENTION)
        done = subprocess.run(
            [self._program, *update, "--address", self.address],
            capture_output=True,
            check=False,
            cwd="/",
            env=dict(processes.CLEAN_ENVIRONMENT),
        )
        return done.returncode == 0

    def _refusal(self, words: str) -> ServiceError:
        if "database or disk is full" in words or "no space left on device" in words.lower():
            return full_disk(self._home.path)
        return ServiceError(f"Temporal did not start in {shown(self._home.path)} (log: {shown(self._log)}): {words}")
