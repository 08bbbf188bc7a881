"""The workers as a process of their own, so that their CPU can be told from everybody else's.

`python -m tests.benchmarks.worker_process DATABASE_URL TEMPORAL_ADDRESS` says ``ready`` on stdout and works until its
standard input ends.
"""

import asyncio
import sys
from collections.abc import Callable

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.embedder_source import EmbedderSource
from activities.store import Store
from headwater.embedders import Embedder, resolve_embedder
from tests.benchmarks.kept_vectors import KEPT, KeptEmbedder
from tests.benchmarks.table_embedder import TABLE, TableEmbedder
from workers.options import WorkerOptions
from workers.telemetry import configure_logging
from workers.worker import running_workers

MAX_DOCUMENT_BYTES = 50_000_000


def resolve(spec: str) -> Embedder:
    """Embedders by their spec, the one without a model, and the one that remembers."""
    ours: dict[str, Callable[[], Embedder]] = {TABLE: TableEmbedder, KEPT: KeptEmbedder}
    return ours[spec]() if spec in ours else resolve_embedder(spec)


async def work(database_url: str, temporal_address: str) -> None:
    client = await Client.connect(temporal_address, data_converter=pydantic_data_converter)
    options = WorkerOptions(max_document_bytes=MAX_DOCUMENT_BYTES)
    with Store.open(database_url) as store:
        async with running_workers(client, store, options, embedders=EmbedderSource(resolve)):
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    configure_logging("json")
    asyncio.run(work(*sys.argv[1:]))
