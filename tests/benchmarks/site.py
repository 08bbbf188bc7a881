"""Everything that a sync needs, running as it does for a user, with a process for each that is measured."""

import contextlib
import itertools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.connectors import AccessRule, folder_config
from activities.store import Store
from activities.store.connectors import ensure_connector
from activities.store.migrate import migrate
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.chunking.profile import ChunkingProfile
from headwater.contracts import SyncResult
from headwater.contracts.reindex import ReindexCorpusResult, ReindexProgress
from headwater.models import Scope
from headwater.workflow_ids import scope_workflow_id, sync_workflow_id
from tests.acceptance.home_processes import postgres_of, temporal_of
from tests.benchmarks.documents import write
from tests.benchmarks.measuring import Spent, cpu_s
from tests.benchmarks.worker_process import resolve
from workers.embedded import Services, attach
from workflows import queues

SCHEMA: Final = "headwater"
EVERYONE: Final = AccessRule.from_grants(["everyone"])
CHECKOUT: Final = Path(__file__).parents[2]


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder that every account may pass through: for root, PostgreSQL's data then stay in it."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-bench-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Site:
    """A database, and workers in a process of their own that serve it. One at a time: all poll the same queues."""

    store: Store
    database_url: str
    client: Client
    worker_pid: int
    engine_pid: int
    postgres_pid: int

    def spent(self) -> Spent:
        """CPU used so far. Parsers belong to the client, and every process of the server to Postgres."""
        return Spent(cpu_s(self.worker_pid), cpu_s(self.engine_pid), cpu_s(self.postgres_pid))

    def register(self, documents: Path, scope: Scope, *, embedder: str) -> None:
        """``scope`` as a corpus of ``documents``, for everyone to read."""
        model = resolve(embedder)
        space = SpaceSpec(
            embedder_spec=embedder,
            embedder_identity=model.identity,
            dimensions=model.dimensions,
            max_tokens=model.max_tokens,
            chunker=ChunkingProfile.for_embedder(model).fingerprint,
        )
        build = ensure_scope(self.store, scope, space)
        config = folder_config(documents, access=EVERYONE, access_file=None)
        ensure_connector(self.store, build.scope_id, "folder", "folder", config, new_rule=True)

    async def warm_up(self, scratch: Path, *, embedder: str) -> None:
        """Syncs a small folder of its own twice: everything is loaded, connected and planned afterwards."""
        for number in range(20):
            write(scratch / "warm-up", number, paragraphs=3)
        scope = Scope(tenant_id="t1", resource_id="bench", corpus_id="warm-up")
        self.register(scratch / "warm-up", scope, embedder=embedder)
        await self.sync(scope)
        await self.sync(scope)

    async def sync(self, scope: Scope) -> SyncResult:
        """One sync, to its end."""
        result: SyncResult = await self.client.execute_workflow(
            "SyncCorpus",
            {"scope": scope.model_dump(), "connector": "folder"},
            id=sync_workflow_id(scope, "folder"),
            task_queue=queues.CONTROL,
            result_type=SyncResult,
        )
        return result

    async def measured_sync(self, scope: Scope) -> tuple[SyncResult, Spent]:
        """One sync, and what it cost. What earlier ones left to be written to disk is written before."""
        self.checkpoint()
        before = self.spent()
        result = await self.sync(scope)
        return result, self.spent().since(before)

    async def measured_reindex(self, scope: Scope, **fields: str) -> tuple[ReindexProgress, Spent]:
        """One re-index to the flip, and what it cost."""
        self.checkpoint()
        before = self.spent()
        handle: WorkflowHandle[Any, ReindexCorpusResult] = await self.client.start_workflow(
            "ReindexCorpus",
            {"scope": scope.model_dump(), **fields},
            id=scope_workflow_id("ReindexCorpus", scope),
            task_queue=queues.CONTROL,
            result_type=ReindexCorpusResult,
        )
        await handle.result()
        spent = self.spent().since(before)
        progress: ReindexProgress = await handle.query("progress", result_type=ReindexProgress)
        return progress, spent

    def checkpoint(self) -> None:
        with self.store.connection() as connection:
            connection.execute("CHECKPOINT")


@dataclass(frozen=True)
class Servers:
    """The embedded PostgreSQL and Temporal of a fresh home."""

    home: Path
    services: Services
    client: Client

    @contextlib.contextmanager
    def site(self) -> Iterator[Site]:
        """An empty database, and workers of its own."""
        name = f"bench_{next(_numbers)}"
        with psycopg.connect(self.services.database_url, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = f"{self.services.database_url.rpartition('/')[0]}/{name}"
        migrate(url, SCHEMA)
        engine, postgres = temporal_of(self.home), postgres_of(self.home)
        assert engine is not None and postgres is not None and self.services.temporal_address is not None
        with (
            Store.open(url, schema=SCHEMA) as store,
            _workers(url, self.services.temporal_address) as worker,
        ):
            yield Site(store, url, self.client, worker, engine, postgres)


@contextlib.asynccontextmanager
async def running_servers() -> AsyncIterator[Servers]:
    """Servers as a user has them; gone without a trace afterwards."""
    with scratch_folder() as home, attach(home) as services:
        assert services.temporal_address is not None
        client = await Client.connect(services.temporal_address, data_converter=pydantic_data_converter)
        yield Servers(home, services, client)


@contextlib.contextmanager
def _workers(database_url: str, temporal_address: str) -> Iterator[int]:
    """The process id of running workers."""
    command = [sys.executable, "-m", "tests.benchmarks.worker_process", database_url, temporal_address]
    process = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        if process.stdout.readline() != b"ready\n":
            raise ChildProcessError("The workers did not start; what they said is above.")
        yield process.pid
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


_numbers = itertools.count(1)
