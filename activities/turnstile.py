"""A lock that many share or one has alone: who must be alone in its process waits for the others, and they for it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turnstile:
    """Shared by those who pass together, until somebody wants to pass alone: then nobody else enters before."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._alone = 0  # who is inside alone, and those who wait for it

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._alone == 0)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._changed:
            self._alone += 1
            self._changed.wait_for(lambda: self._inside == 0)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._alone -= 1
                self._changed.notify_all()
