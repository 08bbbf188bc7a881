"""A folder, a corpus and running workers: what a test of the whole pipeline starts from, without the command line."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from temporalio.client import Client, WorkflowHandle

from activities.connectors import AccessRule, folder_config
from activities.embedder_source import EmbedderSource
from activities.store import Store
from activities.store.connectors import ensure_connector
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.chunking.profile import ChunkingProfile
from headwater.contracts import SyncResult
from headwater.embedders import Embedder, resolve_embedder
from headwater.models import Scope
from headwater.workflow_ids import sync_workflow_id
from workers.options import WorkerOptions
from workers.worker import running_workers
from workflows import queues

SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")
SPEC = "hash:64"
EVERYONE = AccessRule.from_grants(["everyone"])


class Synced(Protocol):
    """What a connector of the corpus reads."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Shelf:
    """A folder that is synced as connector ``name``."""

    root: Path
    name: str = "shelf"

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def id_of(self, path: str) -> str:
        return f"folder:{self.name}/{path}"


@dataclass(frozen=True)
class Pipeline:
    """Workers that run, and a client to ask them."""

    store: Store
    client: Client

    def register(
        self,
        shelf: Shelf,
        *,
        access: AccessRule | None = EVERYONE,
        scope: Scope = SCOPE,
        chunking: ChunkingProfile | None = None,
    ) -> int:
        """The connector's row, with ``access`` as a new rule if there is one."""
        return register(self.store, shelf, access=access, scope=scope, chunking=chunking)

    async def start(self, shelf: Synced, *, scope: Scope = SCOPE, **fields: Any) -> WorkflowHandle[Any, SyncResult]:
        handle: WorkflowHandle[Any, SyncResult] = await self.client.start_workflow(
            "SyncCorpus",
            {"scope": scope.model_dump(), "connector": shelf.name, **fields},
            id=sync_workflow_id(scope, shelf.name),
            task_queue=queues.CONTROL,
            result_type=SyncResult,
        )
        return handle

    async def sync(self, shelf: Synced, *, scope: Scope = SCOPE, **fields: Any) -> SyncResult:
        """One sync, to its end."""
        return await (await self.start(shelf, scope=scope, **fields)).result()

    def visible(self, scope: Scope = SCOPE) -> dict[str, str]:
        """See `visible`."""
        return visible(self.store, scope)

    def states(self) -> dict[str, tuple[str, str | None]]:
        """See `states`."""
        return states(self.store)


def register(
    store: Store,
    shelf: Shelf,
    *,
    access: AccessRule | None = EVERYONE,
    scope: Scope = SCOPE,
    chunking: ChunkingProfile | None = None,
) -> int:
    """The connector's row, with ``access`` as a new rule if there is one. A new corpus is cut by ``chunking``."""
    embedder = resolve_embedder(SPEC)
    space = SpaceSpec(
        embedder_spec=SPEC,
        embedder_identity=embedder.identity,
        dimensions=embedder.dimensions,
        max_tokens=embedder.max_tokens,
        chunker=(chunking or ChunkingProfile.for_embedder(embedder)).fingerprint,
    )
    build = ensure_scope(store, scope, space)
    config = folder_config(shelf.root, access=access, access_file=None)
    return ensure_connector(
        store, build.scope_id, shelf.name, "folder", config, new_rule=access is not None
    ).connector_id  # fmt: skip


def visible(store: Store, scope: Scope = SCOPE) -> dict[str, str]:
    """The text of each source at the live pointer, chunk bodies joined: what the store would let readers see."""
    sql = f"""
      SELECT s.source_id, coalesce(string_agg(c.body, E'\\n--\\n' ORDER BY c.chunk_no), '')
        FROM "{store.schema}".scope sc
        JOIN "{store.schema}".span sp ON sp.build_id = sc.live_build AND sp.gen_from <= sc.live_gen AND sp.gen_to > sc.live_gen
        JOIN "{store.schema}".source s ON s.source_pk = sp.source_pk AND sp.gen_from > s.fence_gen
        LEFT JOIN "{store.schema}".chunk c ON c.rev_id = sp.rev_id
       WHERE (sc.tenant_id, sc.resource_id, sc.corpus_id) = (%s, %s, %s) GROUP BY 1"""
    with store.connection() as conn:
        rows = conn.execute(sql.encode(), (scope.tenant_id, scope.resource_id, scope.corpus_id)).fetchall()
    return dict(rows)


def states(store: Store) -> dict[str, tuple[str, str | None]]:
    """State and reason of each source."""
    sql = f"""SELECT s.source_id, i.state, i.reason FROM "{store.schema}".ingestion i
                JOIN "{store.schema}".source s USING (source_pk)"""
    with store.connection() as conn:
        return {row[0]: (row[1], row[2]) for row in conn.execute(sql.encode())}


@contextlib.asynccontextmanager
async def running_pipeline(
    store: Store,
    client: Client,
    *,
    resolve: Callable[[str], Embedder] = resolve_embedder,
    options: WorkerOptions | None = None,
) -> AsyncIterator[Pipeline]:
    """All four workers in this process."""
    chosen = options or WorkerOptions(max_document_bytes=1 << 20)
    async with running_workers(client, store, chosen, embedders=EmbedderSource(resolve)):
        yield Pipeline(store, client)
