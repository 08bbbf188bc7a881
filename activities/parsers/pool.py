"""Parsing in processes of their own: a document that loops, hogs or crashes costs itself and nothing else."""

import queue
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from activities.parsers import Extraction, ParsedDocument, ParseFailure
from activities.parsers.process import ParserProcess
from activities.parsers.wire import Request
from headwater.chunking import Heading
from headwater.errors import TransientError

MEMORY_BYTES: Final = 1 << 30
_TITLE_MAX: Final = 256  # of a heading: it is copied into every chunk below it


class ParserPool:
    """At most ``size`` parser processes, started when first needed and kept warm. Any number of threads may share it.

    ``memory_bytes`` bounds the address space of each process, ``wall_s`` and ``cpu_s`` the time of each document.
    ``parse`` is what the processes run, as ``module:function``.
    """

    def __init__(
        self,
        size: int,
        *,
        memory_bytes: int = MEMORY_BYTES,
        wall_s: float = 30.0,
        cpu_s: int = 30,
        parse: str = "activities.parsers:parse",
    ) -> None:
        self._memory_bytes = memory_bytes
        self._wall_s = wall_s
        self._cpu_s = cpu_s
        self._parse = parse
        self._closed = False
        self._lock = threading.Lock()
        self._running: set[ParserProcess] = set()
        # Last in, first out: a thread alone always meets the same warm process. ``None`` is a place without one.
        self._places: queue.LifoQueue[ParserProcess | None] = queue.LifoQueue()
        for _ in range(size):
            self._places.put(None)

    def parse(self, name: str, data: bytes, media_type: str | None, max_chars: int) -> ParsedDocument | ParseFailure:
        """The document, or why it cannot be read. Waits for a free process.

        Raises `TransientError` when the pool is closed or no process can start: then nothing is known of the document.
        """
        request = Request(name, media_type, max_chars, self._cpu_s, data)
        process = self._places.get()
        try:
            for is_last in (False, True):
                if process is not None and process.is_gone:
                    self._forget(process)
                    process = None
                if process is None:
                    process = self._start()
                answer = process.ask(request, wall_s=self._wall_s)
                if isinstance(answer, Extraction):
                    return _document(answer)
                if isinstance(answer, ParseFailure):
                    return answer
                self._forget(process)
                process = None
                if answer.certain or is_last:
                    return ParseFailure("failed", answer.reason)
            raise AssertionError("the last attempt always has an answer")
        finally:
            if process is not None and self._closed:
                process.discard()
                process = None
            self._places.put(process)

    def close(self) -> None:
        """Kill every process. A `parse` that runs or waits raises `TransientError`."""
        with self._lock:
            self._closed = True
        for process in self._running:  # nobody adds to it any more
            process.kill()
        idle = []
        with suppress(queue.Empty):
            while True:
                idle.append(self._places.get_nowait())
        for waiting in idle:
            if waiting is not None:
                waiting.discard()
            self._places.put(None)  # whoever waits for a place learns that the pool is closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> ParserProcess:
        with self._lock:
            self._check_open()
            process = ParserProcess(parse=self._parse, memory_bytes=self._memory_bytes)
            self._running.add(process)
        try:
            process.wait_until_ready()
        except TransientError:
            self._forget(process)
            raise
        return process

    def _forget(self, process: ParserProcess) -> None:
        process.discard()
        with self._lock:
            self._check_open()  # the death was our doing: it says nothing about the document
            self._running.discard(process)

    def _check_open(self) -> None:
        if self._closed:
            raise TransientError(
                "The parsers were stopped while they read: the document is read again at the next sync."
            )


def _document(extraction: Extraction) -> ParsedDocument:
    text = extraction.text
    return ParsedDocument(
        text=text,
        title=extraction.title,
        is_markdown=extraction.is_markdown,
        headings=None
        if extraction.headings is None
        else [
            Heading(start, level, text[start : min(end, start + _TITLE_MAX)])
            for start, end, level in extraction.headings
        ],
        page_starts=extraction.page_starts,
        state="partial" if extraction.missing else "indexed",
        reason=extraction.missing,
    )
