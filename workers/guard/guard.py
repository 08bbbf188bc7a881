"""One process per home owns its servers: starts them, restarts one that dies, stops them after the last user."""

import contextlib
import fcntl
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from workers.guard.addresses import database_url, reader_url
from workers.guard.binaries import TEMPORAL_IS_MISSING, PostgresPrograms
from workers.guard.errors import ServiceError, from_os_error
from workers.guard.home import Home, new_password, open_lock, read_json, read_password, write_private
from workers.guard.place import place_of
from workers.guard.postgres import Postgres
from workers.guard.temporal import TemporalServer

_LOG_LIMIT_BYTES = 10_000_000
_LOOK_AT_LOGS_S = 600.0
_LONGEST_PAUSE_S = 30.0


class Server(Protocol):
    """What the guard does with PostgreSQL and Temporal alike."""

    def start(self) -> None: ...
    def is_running(self) -> bool: ...
    def ask_to_stop(self) -> None: ...
    def stop(self) -> None: ...


class Guard:
    """Owns the servers of one home. Its main thread starts them, because they are to die with that thread."""

    def __init__(
        self, home: Home, programs: PostgresPrograms, temporal: Path | None, *, tell: Callable[[str], None]
    ) -> None:
        self._home = home
        self._programs = programs
        self._temporal_program = temporal
        self._tell = tell
        self._postgres: Postgres | None = None
        self._temporal: TemporalServer | None = None
        self._password = ""
        self._requests = -1
        self._trouble: dict[str, str] = {}
        self._answer: tuple[str, str] = ("", "")
        self._pause_s = 0.0
        self._next_try = 0.0
        self._is_over = False

    def start(self, *, wants_temporal: bool) -> None:
        """Starts what is wanted, and says in the home where it is."""
        self._home.requests.unlink(missing_ok=True)
        os.mkfifo(self._home.requests, 0o600)
        self._requests = os.open(
            self._home.requests, os.O_RDWR | os.O_NONBLOCK
        )  # also writing: it never reads as closed
        self._start_postgres()
        if wants_temporal:
            self._start_temporal()
        self._publish()

    def serve(self) -> None:
        """Answers, and keeps the servers up, until no command holds the users' lock or we are told to end."""
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # it wakes us: a server died
        signal.signal(signal.SIGTERM, lambda *_: self._end(wake))
        threading.Thread(target=self._await_last_user, args=(wake,), daemon=True).start()
        while not self._is_over:
            patience_s = max(0.0, self._next_try - time.monotonic()) if self._trouble else _LOOK_AT_LOGS_S
            ready, _, _ = select.select([woken, self._requests], [], [], patience_s)
            if woken in ready:
                os.read(woken, 4096)
            if self._requests in ready:
                self._answer_requests(os.read(self._requests, 4096).decode().split())
            if not self._is_over:
                self._revive()
            self._cap_logs()

    def stop(self) -> None:
        """Ends both servers side by side and takes the addresses away. Safe whatever was started."""
        for path in (self._home.services, self._home.condition, self._home.requests):
            path.unlink(missing_ok=True)
        servers = self._servers()
        for server in servers.values():
            server.ask_to_stop()
        for server in servers.values():
            server.stop()

    def _servers(self) -> dict[str, Server]:
        known: dict[str, Server | None] = {"postgres": self._postgres, "temporal": self._temporal}
        return {name: server for name, server in known.items() if server is not None}

    def _start_postgres(self) -> None:
        place = place_of(self._home, self._programs)
        if place.notice:
            self._tell(place.notice)
        postgres = Postgres(place.programs, place.data, log=self._home.log_file("postgres"), account=place.account)
        password = read_password(self._home.password)
        if password is None:
            password = new_password()
            if postgres.is_initialised():
                postgres.change_password(password)
            write_private(self._home.password, password, lasting=True)
        self._password = password
        postgres.initialise(self._password)
        self._postgres = postgres
        postgres.port = self._former_ports().get("postgres", 0)
        postgres.start()

    def _start_temporal(self) -> None:
        if self._temporal_program is None:
            raise ServiceError(TEMPORAL_IS_MISSING)
        temporal = TemporalServer(self._temporal_program, self._home)
        ports = self._former_ports()
        temporal.port, temporal.ui_port = ports.get("temporal", 0), ports.get("temporal_ui", 0)
        temporal.start()
        self._temporal = temporal

    def _former_ports(self) -> dict[str, int]:
        written = read_json(self._home.ports) or {}
        return {name: port for name, port in written.items() if isinstance(port, int) and 0 < port < 65_536}

    def _publish(self) -> None:
        """Writes the addresses for hosts, and for commands the last answer and what ails the servers."""
        assert self._postgres is not None
        owner = database_url(self._postgres.port, self._password)
        services = {
            "reader_url": reader_url(owner),
            "database_url": owner,
            "temporal_address": self._temporal.address if self._temporal else None,
            "temporal_ui": self._temporal.ui if self._temporal else None,
        }
        condition = {
            "answered": self._answer[0],
            "refusal": self._answer[1],
            "trouble": " ".join(self._trouble.values()),
        }
        write_private(self._home.condition, json.dumps(condition))
        ports = {"postgres": self._postgres.port}
        if self._temporal:
            ports |= {"temporal": self._temporal.port, "temporal_ui": self._temporal.ui_port}
        write_private(self._home.ports, json.dumps(self._former_ports() | ports))
        write_private(self._home.services, json.dumps(services, indent=2) + "\n")

    def _answer_requests(self, tickets: list[str]) -> None:
        """Starts Temporal for a command that came while only PostgreSQL ran."""
        refusal = ""
        if self._temporal is None:
            try:
                self._start_temporal()
            except (ServiceError, OSError) as error:
                refusal = self._sentence(error)
        for ticket in tickets:  # one at a time: a command asks while it holds start.lock
            self._answer = (ticket, refusal)
        self._publish()

    def _revive(self) -> None:
        """Starts a server that died, on the port it had. Waiting can help (a full disk), so it never gives up."""
        if time.monotonic() < self._next_try:  # the failed server's own end has woken us
            return
        dead = {name: server for name, server in self._servers().items() if not server.is_running()}
        for name, server in dead.items():
            self._note(f"{name} ended; it is started again")
            try:
                server.start()
                self._trouble.pop(name, None)
            except (ServiceError, OSError) as error:
                self._trouble[name] = self._sentence(error)
                self._note(self._trouble[name])
        self._pause_s = min(max(1.0, 2 * self._pause_s), _LONGEST_PAUSE_S) if self._trouble else 0.0
        self._next_try = time.monotonic() + self._pause_s
        if dead:
            with contextlib.suppress(OSError):  # the disk may be full; the next round writes it
                self._publish()

    def _cap_logs(self) -> None:
        """A server appends, so that an emptied log goes on at its beginning."""
        for name in ("postgres", "temporal", "guard"):
            with contextlib.suppress(FileNotFoundError):
                if self._home.log_file(name).stat().st_size > _LOG_LIMIT_BYTES:
                    os.truncate(self._home.log_file(name), 0)

    def _await_last_user(self, wake: int) -> None:
        """Blocks in the kernel until the users' lock is ours alone, however its holders ended; it is never given back."""
        fcntl.flock(open_lock(self._home.lock_file("users")), fcntl.LOCK_EX)
        self._end(wake)

    def _end(self, wake: int) -> None:
        self._is_over = True
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes us too
            os.write(wake, b"\0")

    def _sentence(self, error: ServiceError | OSError) -> str:
        return str(from_os_error(error, self._home.path) if isinstance(error, OSError) else error)

    def _note(self, sentence: str) -> None:
        """A line in guard.log."""
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), sentence, file=sys.stderr, flush=True)
