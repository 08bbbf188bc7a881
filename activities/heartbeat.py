"""Heartbeats that go on while an activity waits for something long: a model that loads, a slow text, a big document."""

import contextvars
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from temporalio import activity

EVERY_S: Final = 2.0


@contextmanager
def heartbeating(*, every_s: float = EVERY_S) -> Iterator[None]:
    """Tells Temporal every ``every_s`` seconds that this process is alive, until the block is left.

    What a heartbeat watches for is a dead process. One that hangs is ended by its start-to-close timeout.
    """
    stop = threading.Event()
    context = contextvars.copy_context()  # an activity is known by its context, and threads begin without one

    def beat() -> None:
        while not stop.wait(every_s):
            context.run(activity.heartbeat)

    beating = threading.Thread(target=beat, name="heartbeat", daemon=True)
    beating.start()
    try:
        yield
    finally:
        stop.set()
        beating.join()
