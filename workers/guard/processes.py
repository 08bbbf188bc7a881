"""Starting a server so that it never outlives us, and stopping it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from workers.guard.account import Account

# Runs between fork and the server, in a fresh interpreter, so that nothing of ours is forked without an exec.
# The wish to die with the parent is made after the user is changed, because the change would erase it (prctl(2)).
# The imports come first: the other user may not be able to read this Python.
# The wish outlives the exec, and the parent may be gone before it is made: hence the look at the parent's id.
_SHIM = """
import ctypes, os, sys
parent, on_death, uid, gid = map(int, sys.argv[1:5])
libc = ctypes.CDLL(None)
if uid >= 0:
    os.setgroups([]); os.setgid(gid); os.setuid(uid)
if sys.platform == "linux":
    libc.prctl(1, on_death)
if os.getppid() != parent:
    sys.exit(9)
os.execv(sys.argv[5], sys.argv[5:])
"""

# Nothing of the user's shell decides how a server behaves: no locale, no TEMPORAL_*, no PG*.
CLEAN_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def start(
    command: Sequence[str | Path],
    *,
    log: Path,
    signal_on_death: signal.Signals,
    account: Account | None = None,
    cwd: Path = Path("/"),
    keep_open: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """The server as our direct child, in a session of its own (Ctrl-C does not reach it), its words in ``log``."""
    uid, gid = (account.uid, account.gid) if account else (-1, -1)
    shim = [sys.executable, "-SIc", _SHIM, *map(str, (os.getpid(), int(signal_on_death), uid, gid))]
    with open(log, "ab") as output:
        return subprocess.Popen(
            [*shim, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=cwd,
            env=dict(CLEAN_ENVIRONMENT),
            pass_fds=tuple(keep_open),
        )


def stop(process: subprocess.Popen[bytes], signals: Sequence[tuple[signal.Signals, float]]) -> None:
    """Each signal in turn until the process is gone, waiting the given seconds; then it is killed."""
    for number, patience_s in signals:
        process.send_signal(number)
        try:
            process.wait(patience_s)
            return
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    process.wait()


def command_of(pid: int) -> list[bytes]:
    """The command line of a living process, else nothing."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return []
    told = subprocess.run(["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
    return told.stdout.strip().split(b" ") if told.stdout.strip() else []


@contextlib.contextmanager
def words_from_here(log: Path, *, limit: int = 400) -> Iterator[Callable[[], str]]:
    """Gives what the server has written since, on one line, for the sentence that says why it did not start."""
    with open(log, "a+b") as words:
        begin = words.seek(0, os.SEEK_END)

        def said() -> str:
            words.seek(max(begin, words.seek(0, os.SEEK_END) - limit))
            return " ".join(words.read().decode("utf-8", "replace").split())

        yield said
