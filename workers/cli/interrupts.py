"""Ctrl-C and SIGTERM: the first one asks a command to stop, the second one ends it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from workers.cli.errors import EXIT_INTERRUPTED


@asynccontextmanager
async def interrupts(before_leaving: Callable[[], None]) -> AsyncIterator[asyncio.Event]:
    """An event that the first Ctrl-C or SIGTERM sets. The second one leaves at once: a blocked thread must not hold it up."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def received() -> None:
        if stop.is_set():
            before_leaving()
            os._exit(EXIT_INTERRUPTED)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, received)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
