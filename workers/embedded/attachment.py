"""How a command comes to the servers of its home, and leaves them."""

import contextlib
import fcntl
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workers
from workers.embedded.errors import EmbeddedError
from workers.guard.binaries import postgres_programs, temporal_program
from workers.guard.errors import ServiceError, from_os_error, shown
from workers.guard.home import Home, is_locked, locked, open_lock, read_json, try_lock
from workers.guard.processes import CLEAN_ENVIRONMENT

_ANSWER_PATIENCE_S = 180.0  # crash recovery and a cold disk included; a guard that dies ends the wait at once
_UP_PATIENCE_S = 0.5

# Without site-packages the guard starts faster and stays smaller; it needs the standard library only.
_GUARD = "import sys; sys.path.insert(0, sys.argv[1]); from workers.guard.main import main; main(*sys.argv[2:])"


@dataclass(frozen=True)
class Services:
    """Where the servers of a home are, for as long as one is attached."""

    home: Path
    database_url: str
    reader_url: str
    temporal_address: str | None
    temporal_ui: str | None

    @property
    def has_running_up(self) -> bool:
        """Whether `headwater up` runs on this home now, so that its workers do the work."""
        return is_locked(Home(self.home).lock_file("up"), by_anyone=False)

    def trouble(self) -> str | None:
        """Why a server that died does not come back, in a sentence; None while all is well."""
        condition = read_json(Home(self.home).condition)
        return (condition or {}).get("trouble") or None


@contextlib.contextmanager
def attach(
    home: Path, *, temporal: bool = True, on_message: Callable[[str], None] = lambda message: None
) -> Iterator[Services]:
    """The servers of ``home``, started if they do not run. The last one to leave returns when they are gone.

    They end also if this process is killed: its lock ends with it, and the guard waits for just that.
    """
    place = Home(Path(os.path.abspath(home)))
    users = _open_lock(place, "users")
    guard: subprocess.Popen[bytes] | None = None
    try:
        with _in_one_sentence(place), locked(place.lock_file("start")):
            fcntl.flock(users, fcntl.LOCK_SH)  # waits while a guard is stopping
            if not _has_ready_guard(place):
                guard = _start_guard(place, temporal=temporal, on_message=on_message)
            services = _services(place, temporal=temporal)
        yield services
    finally:
        _leave(place, users, guard)


@contextlib.contextmanager
def mark_up(home: Path) -> Iterator[None]:
    """Says to other commands that `headwater up` runs on this home. At most one does."""
    place = Home(Path(os.path.abspath(home)))
    lock = _open_lock(place, "up")
    try:
        deadline = time.monotonic() + _UP_PATIENCE_S
        while not try_lock(lock):  # a command that looks holds it for an instant
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"`headwater up` already runs on {shown(place.path)}: use it, or stop it with Ctrl-C first."
                )
            time.sleep(0.02)
        yield
    finally:
        os.close(lock)


def _open_lock(home: Home, name: str) -> int:
    with _in_one_sentence(home):
        home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_lock(home.lock_file(name))


def _has_ready_guard(home: Home) -> bool:
    """Whether a living guard says where its servers are. Waits for one whose starter was killed, or that is ending."""
    deadline = time.monotonic() + _ANSWER_PATIENCE_S
    while is_locked(home.lock_file("guard")):
        if home.services.exists():
            return True
        if time.monotonic() > deadline:
            raise EmbeddedError(
                f"The guard of {shown(home.path)} neither starts nor ends; see {shown(home.log_file('guard'))}."
            )
        time.sleep(0.02)
    return False


def _start_guard(home: Home, *, temporal: bool, on_message: Callable[[str], None]) -> subprocess.Popen[bytes]:
    """A guard that has said it is ready."""
    home.services.unlink(missing_ok=True)  # a killed guard's: whoever sees the file may believe it
    home.condition.unlink(missing_ok=True)
    programs, temporal_path = postgres_programs(), temporal_program()
    with open(home.log_file("guard"), "ab") as log:
        guard = subprocess.Popen(
            [
                sys.executable, "-SIc", _GUARD, Path(workers.__path__[0]).parent, home.path,
                programs.install, programs.libraries, str(programs.major), temporal_path or "",
                "temporal" if temporal else "",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # the terminal's Ctrl-C is for the commands
            cwd="/",
            env=dict(CLEAN_ENVIRONMENT),
        )  # fmt: skip
    try:
        return _hear_out(home, guard, on_message)
    except BaseException:  # Ctrl-C too: it takes down what it has started
        guard.terminate()
        guard.wait()
        raise


def _hear_out(home: Home, guard: subprocess.Popen[bytes], on_message: Callable[[str], None]) -> subprocess.Popen[bytes]:
    """The guard, once it has said that it is ready."""
    assert guard.stdout is not None
    with guard.stdout as words:
        for line in words:
            kind, sentence = json.loads(line)
            if kind == "ready":
                return guard
            if kind == "error":
                raise EmbeddedError(sentence)
            on_message(sentence)
    raise EmbeddedError(f"The embedded servers did not start; {shown(home.log_file('guard'))} says why.")


def _services(home: Home, *, temporal: bool) -> Services:
    """What the living guard wrote, after it has started Temporal if that is wanted and was not."""
    written = _await(home, home.services, lambda services: True)
    trouble = (read_json(home.condition) or {}).get("trouble")
    if trouble:
        raise EmbeddedError(trouble)
    if temporal and not written["temporal_address"]:
        _ask_for_temporal(home)
        written = _await(home, home.services, lambda services: services["temporal_address"] is not None)
    return Services(
        home=home.path,
        database_url=written["database_url"],
        reader_url=written["reader_url"],
        temporal_address=written["temporal_address"],
        temporal_ui=written["temporal_ui"],
    )


def _ask_for_temporal(home: Home) -> None:
    """One line into the guard's pipe. A pipe that nobody reads refuses, so no stranger is ever told anything."""
    ticket = secrets.token_hex(8)
    try:
        with open(os.open(home.requests, os.O_WRONLY | os.O_NONBLOCK), "wb", buffering=0) as pipe:
            pipe.write(ticket.encode() + b"\n")
    except OSError as error:
        raise _ended_meanwhile(home) from error

    refusal = _await(home, home.condition, lambda condition: condition["answered"] == ticket)["refusal"]
    if refusal:
        raise EmbeddedError(refusal)


def _await(home: Home, file: Path, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the guard writes there in the end, as long as it lives."""
    deadline = time.monotonic() + _ANSWER_PATIENCE_S
    while (written := read_json(file)) is None or not is_it(written):
        if not is_locked(home.lock_file("guard")) or time.monotonic() > deadline:
            raise _ended_meanwhile(home)
        time.sleep(0.02)
    return written


def _ended_meanwhile(home: Home) -> EmbeddedError:
    return EmbeddedError(
        f"The embedded servers of {shown(home.path)} ended meanwhile: run the command again. "
        f"{shown(home.log_file('guard'))} says more."
    )


def _leave(home: Home, users: int, guard: subprocess.Popen[bytes] | None) -> None:
    """Gives our share of the users' lock up, and waits for the guard's end if we were the last.

    Under start.lock nobody comes or leaves meanwhile. If the users' lock is then free or the guard's alone, we were
    the last; if another command shares it, that one will wait.
    """
    os.close(users)
    with contextlib.suppress(OSError), locked(home.lock_file("start")):  # the home may have been deleted
        if not is_locked(home.lock_file("users")) or is_locked(home.lock_file("users"), by_anyone=False):
            with locked(home.lock_file("guard")), locked(home.lock_file("users")):  # in the order it gives them up
                pass
            if guard is not None:
                guard.wait()
    if guard is not None and guard.poll() is None:
        guard.returncode = 0  # it lives on for others; Popen would warn of a child that is left


@contextlib.contextmanager
def _in_one_sentence(home: Home) -> Iterator[None]:
    try:
        yield
    except ServiceError as error:
        raise EmbeddedError(str(error)) from error
    except OSError as error:
        raise EmbeddedError(str(from_os_error(error, home.path))) from error
