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
