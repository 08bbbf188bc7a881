"""What a document could make of the process that reads it. The pool's tests run this in place of the parsers."""

import ctypes
import os
import signal
import sys
import time

from activities.parsers import Extraction, ParseFailure

_served = 0


def parse(name: str, data: bytes, media_type: str | None, max_chars: int) -> Extraction | ParseFailure:
    """Do what ``name`` says; answer with how many documents this process has read, its id, and the first bytes."""
    global _served
    _served += 1
    match name:
        case "loop":
            while True:
                pass
        case "sleep":
            time.sleep(600)  # it hangs: that is its part
        case "memory":
            hoard = []
            while True:
                hoard.append(bytearray(8 << 20))
        case "crash":
            ctypes.string_at(0)
        case "recursion":
            parse(name, data, media_type, max_chars)
        case "exit":
            os._exit(3)
        case "raise":
            raise ValueError("a secret of the document")
        case "noise":
            print("to standard output")
            os.write(1, b"and past Python")
            os.write(2, b"and to the other one")
        case "stdin":
            sys.stdin.read()
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "killed once":  # as by the kernel, for what another document left behind
            if _served > 1:
                os.kill(os.getpid(), signal.SIGKILL)
        case "memory once":
            if _served > 1:
                raise MemoryError
        case "lie":
            return Extraction(data.decode(), headings=[(0, 1 << 40, 1)])
        case "echo":
            return Extraction(data.decode())
    return Extraction(f"{_served} {os.getpid()} {data[:16].decode()}")
