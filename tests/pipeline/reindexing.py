"""Asking for a re-index, and looking at what it made."""

from typing import Any

from temporalio.client import WorkflowHandle

from activities.store import Store
from headwater.contracts.reindex import ReindexCorpusResult
from headwater.models import Authorization, Scope
from headwater.retriever import Retriever
from headwater.workflow_ids import scope_workflow_id
from tests.pipeline.harness import SCOPE, Pipeline
from workflows import queues


async def start_reindex(
    pipeline: Pipeline, *, scope: Scope = SCOPE, **fields: Any
) -> WorkflowHandle[Any, ReindexCorpusResult]:
    """By name and with raw JSON, as a host in any language would."""
    handle: WorkflowHandle[Any, ReindexCorpusResult] = await pipeline.client.start_workflow(
        "ReindexCorpus",
        {"scope": scope.model_dump(), **fields},
        id=scope_workflow_id("ReindexCorpus", scope),
        task_queue=queues.CONTROL,
        result_type=ReindexCorpusResult,
    )
    return handle


async def reindex(pipeline: Pipeline, *, scope: Scope = SCOPE, **fields: Any) -> ReindexCorpusResult:
    """One re-index, to its end."""
    return await (await start_reindex(pipeline, scope=scope, **fields)).result()


def answers(dsn: str, query: str, *, spec: str, reader: str = "anybody") -> list[tuple[str, str]]:
    """Chunk ids and texts of an answer, as the library gives it to ``reader``."""
    who = Authorization(principal_id=reader, tenant_id=SCOPE.tenant_id)
    with Retriever.connect(dsn, embedder=spec) as retriever:
        result = retriever.retrieve(query, scope=SCOPE, authorization=who)
    return [(hit.chunk_id, hit.text) for hit in result.hits]


def builds(store: Store) -> list[tuple[int, str, int]]:
    """Id, state and partition of each build."""
    with store.connection() as connection:
        sql = f'SELECT build_id, state, slab FROM "{store.schema}".build ORDER BY build_id'
        return connection.execute(sql.encode()).fetchall()


def count(store: Store, table: str, where: str = "true") -> int:
    with store.connection() as connection:
        row = connection.execute(f'SELECT count(*) FROM "{store.schema}".{table} WHERE {where}'.encode()).fetchone()
    assert row is not None
    return int(row[0])
