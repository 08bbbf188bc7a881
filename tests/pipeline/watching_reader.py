"""A host that asks all the while, and knows what every answer must hold."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Self

from headwater import Authorization, Retriever, StoreError
from headwater.embedders import Embedder
from tests.pipeline.editions import DOCUMENTS, TOGETHER, look
from tests.pipeline.harness import SCOPE


class WatchingReader:
    """Asks for every document by itself, and for some of a page together, over and over in a thread of its own.

    ``faults`` are the answers that no reader may get. While Postgres is away there is no answer, which is counted.
    """

    def __init__(self, dsn: str, embedder: Embedder) -> None:
        self._retriever = Retriever.connect(dsn, embedder=embedder)
        self._asked = {f"only-{document:02}": [document] for document in range(DOCUMENTS)}
        self._asked |= {name: list(some) for name, some in TOGETHER.items()}
        self._newest: dict[str, int] = defaultdict(int)
        self._rounds = 0
        self._stopping = threading.Event()
        self._round_over = threading.Condition()
        self._thread = threading.Thread(target=self._watch, name="reader")
        self.faults: list[str] = []
        self.outages = 0

    @property
    def editions(self) -> set[int]:
        """The editions that the newest round saw."""
        return {self._newest[name] for name in self._asked}

    async def rounds(self, count: int, *, within_s: float = 30) -> None:
        """Returns when ``count`` more rounds were begun and ended."""
        wanted = self._rounds + count + 1
        await asyncio.to_thread(self._await_round, wanted, within_s)

    def _await_round(self, wanted: int, within_s: float) -> None:
        with self._round_over:
            assert self._round_over.wait_for(lambda: self._rounds >= wanted, within_s), "the reader stands still"

    def _watch(self) -> None:
        while not self._stopping.is_set():
            try:
                for name, documents in self._asked.items():
                    self._ask(name, documents)
            except StoreError:
                self.outages += 1
            except Exception as error:  # noqa: BLE001 whatever it is, the test that waits for us must hear of it
                self.faults.append(f"{type(error).__name__}: {error}")
            with self._round_over:
                self._rounds += 1
                self._round_over.notify_all()

    def _ask(self, name: str, documents: Sequence[int]) -> None:
        result = self._retriever.retrieve(
            "what does the chapter say",
            scope=SCOPE,
            authorization=Authorization(principal_id=name, tenant_id=SCOPE.tenant_id),
            top_k=32,
            candidates=64,
            max_context_tokens=8_000,
        )
        sighting = look([hit.text for hit in result.hits], documents)
        self.faults += [f"{name}: {fault}" for fault in sighting.faults]
        if sighting.edition < self._newest[name]:
            self.faults.append(f"{name}: edition {sighting.edition} after {self._newest[name]}")
        self._newest[name] = sighting.edition

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._retriever.close()
