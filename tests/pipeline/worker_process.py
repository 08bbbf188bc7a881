"""The workers as a program of their own, to be killed. It ends by itself when the test's process does."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.store import Store
from tests.pipeline.harness import running_pipeline
from tests.pipeline.heard_embedder import counting

_READY = b"ready\n"


class WorkerProcess:
    """A running worker whose embedder counts in ``journal``."""

    def __init__(self, dsn: str, temporal: str, journal: Path) -> None:
        self._command = [sys.executable, "-m", "tests.pipeline.worker_process", dsn, temporal, str(journal)]
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Returns when it polls."""
        said = await asyncio.to_thread(self._start)
        assert said == _READY, f"the worker did not start: {said!r}"

    def _start(self) -> bytes:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def kill(self) -> None:
        """``kill -9``; returns when it is gone."""
        if self._process is not None:
            process, self._process = self._process, None
            process.send_signal(signal.SIGKILL)
            process.communicate()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.kill()


async def _main(dsn: str, temporal: str, journal: str) -> None:
    client = await Client.connect(temporal, data_converter=pydantic_data_converter)
    with Store.open(dsn) as store:
        async with running_pipeline(store, client, resolve=counting(Path(journal))):
            sys.stdout.buffer.write(_READY)
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
