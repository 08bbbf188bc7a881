"""What the first command of a home starts: the guard, as a process of its own."""

import json
import os
import signal
import sys
from pathlib import Path

from workers.guard.binaries import PostgresPrograms
from workers.guard.errors import ServiceError, from_os_error
from workers.guard.guard import Guard
from workers.guard.home import Home, open_lock, try_lock


def main(home_path: str, install: str, libraries: str, major: str, temporal: str, wish: str) -> None:
    """Serves until the last user is gone. Empty ``temporal``: there is none; ``wish`` is "temporal" or empty."""
    os.umask(0o077)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # a handler, not SIG_IGN, which the servers would inherit
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # until it serves: what was started is stopped on the way out
    home = Home(Path(home_path))
    lock = open_lock(home.lock_file("guard"))
    if not try_lock(lock):
        return _tell("error", "Another guard serves this home already; run the command again.")
    programs = PostgresPrograms(Path(install), Path(libraries), int(major))
    guard = Guard(home, programs, Path(temporal) if temporal else None, tell=lambda notice: _tell("notice", notice))
    try:
        guard.start(wants_temporal=bool(wish))
        _tell("ready", "")
        guard.serve()
    except ServiceError as error:
        _tell("error", str(error))
    except OSError as error:
        _tell("error", str(from_os_error(error, home.path)))
    finally:
        guard.stop()
        # This lock first, the users' lock by our end: whoever waits to come in finds no guard, or a ready one.
        os.close(lock)


def _tell(kind: str, sentence: str) -> None:
    """One line to the command that started us, if it is still there."""
    try:
        os.write(sys.stdout.fileno(), json.dumps([kind, sentence]).encode() + b"\n")
    except BrokenPipeError:
        pass
