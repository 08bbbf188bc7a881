"""Everybody who asks all the while a Drive and its syncs go on, held against what each was ever allowed since the last sync."""

import threading
from collections.abc import Mapping
from typing import Self

from headwater import Retriever
from tests.drive.world import World
from tests.pipeline.drive_shelf import found_texts
from tests.pipeline.harness import SPEC

Truth = Mapping[str, Mapping[str, str]]
"""By person, the texts they are to find, by file id."""


class Window:
    """What may be shown to each person since the last sync that completed: what they were allowed at any moment since.

    Whoever has lost a document may see what it becomes until a sync tells of the loss, and nothing of what it was before
    they were let in: a text that is taken out of a document before it is shared stays with those who had it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._allowed: dict[str, set[tuple[str, str]]] = {}

    def note(self, truth: Truth, texts: Mapping[str, str]) -> None:
        """This is allowed now too, and these are the texts of all documents now."""
        with self._lock:
            for email, allowed in truth.items():
                shown = self._allowed.setdefault(email, set())
                shown |= set(allowed.items())
                shown |= {(file_id, texts[file_id]) for file_id, _ in tuple(shown) if file_id in texts}

    def close(self, truth: Truth) -> None:
        """A sync has completed: this is allowed, and no more what was before."""
        with self._lock:
            self._allowed = {email: set(texts.items()) for email, texts in truth.items()}

    def allowed(self, email: str) -> set[tuple[str, str]]:
        with self._lock:
            return set(self._allowed.get(email, ()))


class Watch:
    """Asks as each of the people in turn, over and over in a thread of its own. ``faults`` are what nobody may find."""

    def __init__(self, dsn: str, world: World, window: Window) -> None:
        self._retriever = Retriever.connect(dsn, embedder=SPEC)
        self._world = world
        self._window = window
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch")
        self.faults: list[str] = []
        self.rounds = 0

    def _watch(self) -> None:
        people = list(self._world.users)
        while not self._stopping.is_set():
            try:
                for email in people:
                    self._ask(email)
            except Exception as error:  # noqa: BLE001 whatever it is, the test that waits for us must hear of it
                self.faults.append(f"{type(error).__name__}: {error}")
            self.rounds += 1

    def _ask(self, email: str) -> None:
        # What was allowed as the question began, or was allowed since: a sync may complete in between.
        before = self._window.allowed(email)
        found = set(found_texts(self._retriever, self._world, email).items())
        leaked = found - before - self._window.allowed(email)
        self.faults += [f"{email} found {text!r} in {file_id}" for file_id, text in leaked]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._retriever.close()
