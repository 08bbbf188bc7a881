"""What may be said of a connection string whose server was not reached. It holds a password, and maybe not where it seems.

A password with an ``@``, ``/`` or ``?`` that is not percent-encoded ends early: libpq takes the rest of it for a host, a
port or a database, and repeats that in its error.
"""

import re
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

_URI: Final = re.compile(r"postgres(?:ql)?://(?:[^@/?]*@)?[^@]*\Z")
_KEYWORD: Final = re.compile(r"(\w+)\s*=")
_PORTS: Final = re.compile(r"[0-9,]*\Z")


def not_reached(error: Exception, dsn: str) -> str:
    """Why there is no connection to ``dsn``, in words that hold no part of a password."""
    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return "it did not answer in time"
    if not is_quotable(dsn):
        return "its address may hold a part of the password: write @, / and ? in a password as %40, %2F and %3F"
    # After the last attempt come all attempts again, and after each of them a hint that our own sentence gives better.
    said = str(error).partition("\nMultiple connection attempts failed")[0]
    lines = [line.strip() for line in said.splitlines() if not line.strip().startswith("Is the server running")]
    words = " ".join(lines).removeprefix("connection failed: ").removeprefix("connection is bad: ")
    return words[:300] if words and isinstance(error, psycopg.OperationalError) else type(error).__name__


def is_quotable(dsn: str) -> bool:
    """Host, port, user and database of ``dsn`` are surely these, so that an error may repeat them."""
    try:
        ports = str(conninfo_to_dict(dsn).get("port", ""))
    except psycopg.Error:
        return False
    if not _PORTS.match(ports):
        return False
    if "://" in dsn:
        return _URI.match(dsn) is not None
    keywords: list[str] = _KEYWORD.findall(dsn)
    return "@" not in dsn and len(keywords) == len(set(keywords))
