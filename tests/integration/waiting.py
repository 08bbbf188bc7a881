"""Waiting for what others do to a database, without sleeping for a time that is guessed."""

import threading
from collections.abc import Callable

import psycopg


def is_blocked(database: str, waiters: int = 1) -> bool:
    """Whether somebody waits for a lock there, or so many."""
    with psycopg.connect(database) as connection:
        waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return len(connection.execute(waiting).fetchall()) >= waiters


def until(is_so: Callable[[], bool]) -> None:
    """Returns once it is so."""
    deadline = threading.Event()
    timer = threading.Timer(30, deadline.set)
    timer.start()
    try:
        while not is_so():
            assert not deadline.is_set(), "it did not come about within 30 s"
    finally:
        timer.cancel()
