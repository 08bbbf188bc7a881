"""Ports on loopback: a free one, and whether it is our child that listens there."""

import os
import socket
import sys
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LISTENING = "0A"


def free_port() -> int:
    """A port nobody holds at this moment. Whoever binds it next may find it taken and asks again."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def listens(pid: int, port: int) -> bool:
    """Whether that process itself takes connections on the port.

    A health check would also succeed against somebody else's server. Only Linux tells who it is; elsewhere an
    answer has to do, and the caller sees its child die of the taken port.
    """
    if sys.platform != "linux":
        with socket.socket() as probe:
            return probe.connect_ex((LOOPBACK, port)) == 0
    wanted = f"0100007F:{port:04X}"
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    sockets = {f"socket:[{row[9]}]" for row in rows if row[1] == wanted and row[3] == _LISTENING}
    return bool(sockets) and not sockets.isdisjoint(_open_files(pid))


def _open_files(pid: int) -> set[str]:
    found = set()
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            found.add(os.readlink(entry))
    except OSError:  # the process, or one of its files, is gone meanwhile
        pass
    return found
