"""One parser process as the worker sees it: started, asked, and killed."""

import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.parsers import Extraction, ParseFailure, wire
from headwater.errors import TransientError

_SCRIPT: Final = Path(__file__).resolve().with_name("child.py")
_FOLDER: Final = Path(__file__).resolve().parents[2]
_START_S: Final = 60.0
# PATH is empty so that no library runs a program on a document: pypdf would call jbig2dec. One arena of malloc, or the
# address space that threads merely reserve would count against the memory limit.
_ENVIRONMENT: Final = {"PATH": "", "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"}
# What a document's own doing brings about. Of any other end the document may be innocent.
_CRASHES: Final = frozenset(
    (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGSYS)
)


@dataclass(frozen=True, slots=True)
class Death:
    """The process is gone and the document is not read. ``certain``: it would go the same way again."""

    reason: str
    certain: bool


class ParserProcess:
    """A warm process that reads one document at a time, for one thread. Only `kill` may be called from another."""

    def __init__(self, *, parse: str, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._served = 0
        self._channel, theirs = socket.socketpair()
        try:
            # In a session of its own: the terminal's Ctrl-C is not for it. No preexec_fn, which is unsafe beside threads.
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-I", str(_SCRIPT), str(_FOLDER), parse, str(memory_bytes)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            self._channel.close()
            raise TransientError(
                f"No parser process could be started ({error.strerror}): free memory or processes."
            ) from error
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_gone(self) -> bool:
        return self._process.poll() is not None

    def wait_until_ready(self) -> None:
        """Return when it waits for documents. An installation that cannot start one is no document's fault."""
        with suppress(TimeoutError):
            if wire.read_ready(self._channel, time.monotonic() + _START_S):
                return
        self.discard()
        raise TransientError(
            f"A parser process could not start (status {self._process.returncode}): run `headwater doctor`, "
            "and look for a memory limit that is too low."
        )

    def ask(self, request: wire.Request, *, wall_s: float) -> Extraction | ParseFailure | Death:
        """What the process makes of the document, or how it came to its end."""
        deadline = time.monotonic() + wall_s
        first = self._served == 0
        self._served += 1
        try:
            self._channel.settimeout(wall_s)
            self._channel.sendall(wire.encode_request(request))
            answer = wire.read_answer(self._channel, request.max_chars, deadline)
        except TimeoutError:
            self.kill()
            return Death(f"Reading it took longer than {wall_s:g} s.", certain=True)
        except wire.Malformed:
            self.kill()
            return Death("Its parser process gave an answer that cannot be right.", certain=True)
        except OSError:  # it ended before it had read the request
            answer = None
        match answer:
            case None:
                return self._post_mortem(request)
            case wire.OutOfMemory():
                # What is left in a process after a lack of memory is nobody's guess. A process that has read much
                # before may lack it only for that reason: then a new one must agree.
                self.kill()
                return Death(f"Reading it needs more than {self._memory_bytes >> 20} MiB of memory.", certain=first)
            case _:
                return answer

    def kill(self) -> None:
        """End it at once. A thread that waits for its answer sees the channel close. Safe twice."""
        self._process.kill()
        self._process.wait()

    def discard(self) -> None:
        """End it and let go of the channel, which no other thread may be using: its number may be another file's next."""
        self.kill()
        self._channel.close()

    def _post_mortem(self, request: wire.Request) -> Death:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)  # it has closed the channel: its end is near
        self.kill()
        status = self._process.returncode
        if status >= 0:
            return Death(f"Its parser process ended by itself (status {status}).", certain=True)
        if -status == signal.SIGXCPU:
            return Death(f"Reading it took more than {request.cpu_s} s of processor time.", certain=True)
        name = signal.Signals(-status).name
        if -status in _CRASHES:
            return Death(f"It crashes the parser ({name}).", certain=True)
        return Death(f"Its parser process was killed twice ({name}), perhaps for want of memory.", certain=False)
