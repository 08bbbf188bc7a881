"""How a running sync is shown: a bar on a terminal, a line now and then elsewhere. Beside JSON only what it waits for is said."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from types import TracebackType
from typing import Final, Protocol, Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from headwater.errors import HeadwaterError
from workers.cli.console import Output

BAR_EVERY_S: Final = 0.3
BAR_WIDTH: Final = 12  # with the longest step and counts of four digits, a line has 80 columns
LOOK_EVERY_S: Final = 0.5
LINE_EVERY_S: Final = 5.0


class Counts(Protocol):
    """What the store counts of a pass: `activities.store.progress.Progress`."""

    @property
    def step(self) -> str: ...
    @property
    def listed(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def prepared(self) -> int: ...
    @property
    def read(self) -> int: ...
    @property
    def published(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    @property
    def embedded(self) -> int: ...
    @property
    def waits_for(self) -> str | None: ...


class Display(Protocol):
    """Something that shows counts until it is left."""

    every_s: float

    def show(self, counts: Counts, *, is_last: bool = False) -> None: ...


def display_for(output: Output, *, quiet: bool) -> AbstractContextManager[Display | None]:
    """The right way to show progress on these streams."""
    if quiet:
        return nullcontext(None)
    return Bar(output) if output.is_interactive else Lines(output)


async def follow(display: Display | None, read: Callable[[], Counts], *, say: Callable[[str], None]) -> None:
    """Show what ``read`` counts, again and again until cancelled, and ``say`` each time the sync begins to wait."""
    before: Counts | None = None
    is_waiting = False
    while True:
        # A store that is away for a moment is no reason to end.
        with suppress(HeadwaterError):
            counts = await asyncio.to_thread(read)
            before = before or counts
            # Until our pass begins, the newest one is that of the sync before: finished, and nothing to look at.
            if display is not None and (counts != before or done(counts) < counts.listed):
                display.show(counts)
            if counts.waits_for is not None and not is_waiting:
                say(f"The sync waits, and tries again: {counts.waits_for}")
            is_waiting = counts.waits_for is not None
        await asyncio.sleep(LOOK_EVERY_S if display is None else display.every_s)


class Bar:
    """The work on the bar, documents and chunks beside it."""

    every_s = BAR_EVERY_S

    def __init__(self, output: Output) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=BAR_WIDTH),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=output.err,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None, counts="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, counts: Counts, *, is_last: bool = False) -> None:
        self._progress.update(
            self._task,
            description=counts.step,
            total=counts.listed or None,
            completed=advance(counts),
            counts=sentence(counts),
        )


class Lines:
    """A line as soon as there is something to count, then one now and then, and where it ended: for logs and pipes."""

    every_s = LOOK_EVERY_S

    def __init__(self, output: Output) -> None:
        self._output = output
        self._last = ""
        self._silent_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        return

    def show(self, counts: Counts, *, is_last: bool = False) -> None:
        line = f"{counts.step}: {sentence(counts)}"
        if counts.listed and line != self._last and (is_last or time.monotonic() >= self._silent_until):
            self._output.note(line)
            self._last, self._silent_until = line, time.monotonic() + LINE_EVERY_S


def done(counts: Counts) -> int:
    """Documents that need nothing more: the unchanged and the published."""
    return min(counts.listed, counts.skipped + counts.published)


def looked_into(counts: Counts) -> int:
    """Documents that were looked into, or need not be."""
    return min(counts.listed, counts.skipped + counts.prepared)


def advance(counts: Counts) -> float:
    """How far a bar stands that ends at the number of documents: first they are read, then their chunks embedded."""
    return looked_into(counts) * (counts.embedded / counts.chunks if counts.chunks else 1)


def sentence(counts: Counts) -> str:
    documents = f"{looked_into(counts):,} of {counts.listed:,} documents, {counts.read:,} read"
    return f"{documents}, {counts.embedded:,} of {counts.chunks:,} chunks" if counts.chunks else documents
