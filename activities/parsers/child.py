"""A parser process: reads the documents its worker sends, one after the other, within limits, until the worker is gone.

`pool.py` starts it as a script: ``python -I child.py FOLDER MODULE:FUNCTION MEMORY_BYTES``. Isolated mode keeps modules
of the environment and of the current folder out; FOLDER is where the packages of this checkout are.
"""

import os
import resource
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from activities.parsers import Extraction, ParseFailure
    from activities.parsers.wire import Request

    Parse = Callable[[str, bytes, str | None, int], Extraction | ParseFailure]


def main() -> None:
    """Take the channel, accept the limits, and answer until the worker closes its end."""
    folder, entry, memory_bytes = sys.argv[1:]
    channel = _take_channel()
    _end_with_worker(channel)
    _limit(int(memory_bytes))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module, _, function = entry.partition(":")
    _serve(channel, getattr(import_module(module), function))


def _take_channel() -> socket.socket:
    """The socket that came as standard input, moved out of reach of anything that reads or prints."""
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)
    return channel


def _end_with_worker(channel: socket.socket) -> None:
    """Be gone when the worker is, however it died and whatever a document does here at that moment."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the worker's to handle

    def watch() -> None:
        # No event is asked for: poll reports a hang-up all the same, and wakes for nothing else.
        hang_up = select.poll()
        hang_up.register(channel.fileno(), 0)
        hang_up.poll()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    # PR_SET_PDEATHSIG would fire when the *thread* that started us ends, in the middle of another thread's document.
    # A document that never lets the watcher run ends at its processor limit.
    # Where the kernel must kill something for want of memory, it should be us.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def _limit(memory_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold the document


def _allow_cpu(seconds: int) -> None:
    """Let this process use ``seconds`` more of processor time; then the kernel ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + seconds + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until if hard == resource.RLIM_INFINITY else min(until, hard), hard))


def _serve(channel: socket.socket, parse: "Parse") -> None:
    from activities.parsers import wire

    channel.sendall(wire.READY)
    while (request := wire.read_request(channel)) is not None:
        _allow_cpu(request.cpu_s)
        channel.sendall(_answer(parse, request))


def _answer(parse: "Parse", request: "Request") -> bytes:
    from activities.parsers import ParseFailure, wire

    try:
        return wire.encode_answer(parse(request.name, request.data, request.media_type, request.max_chars))
    except MemoryError:
        return wire.encode_answer(wire.OutOfMemory())
    except Exception as error:  # noqa: BLE001 - any of any library; its message might hold the document, its class does not
        return wire.encode_answer(ParseFailure("failed", f"The parser could not read it ({type(error).__name__})."))


if __name__ == "__main__":
    main()
