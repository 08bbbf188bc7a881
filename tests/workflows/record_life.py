"""Records what happens to a source after its first sync into `tests/histories/`: ``python -m tests.workflows.record_life``.

Real servers, real workers, one small corpus. Like `record.py`, it is run when a workflow was changed on purpose and its
recorded histories still replay; the new ones are kept beside the old.
"""

import asyncio
import datetime
import json
import os
from collections.abc import Sequence
from typing import Any

from temporalio.client import Client, WorkflowFailureError
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.store import Store
from headwater.workflow_ids import request_workflow_id, scope_workflow_id
from tests.pipeline.harness import SCOPE, SPEC, running_pipeline
from tests.pipeline.own_servers import own_postgres, own_temporal
from tests.workflows.record import FOLDER, impersonal
from workers.options import WorkerOptions
from workflows import queues

TENANT = SCOPE.tenant_id
AGNES = {"principal_id": "agnes", "tenant_id": TENANT}
ROBOT = {"principal_id": "robot", "tenant_id": TENANT}
OPTIONS = WorkerOptions(max_document_bytes=1 << 20, embedder=SPEC, service_principals={(TENANT, "robot")})
EVERYONE = {"everyone": True, "access_version": 1}

# What is asked for, in order: a name, a workflow and its input. A request is named by its place.
STORY: Sequence[tuple[str, str, dict[str, Any]]] = (
    (
        "pushes",
        "IngestSources",
        {
            "sources": [
                {"source_id": "doc:a", "text": "Alpha, the first letter.", "grants": EVERYONE},
                {"source_id": "doc:b", "text": "Beta, the second.", "grants": EVERYONE},
                {"source_id": "note:a", "text": "A note on alpha.", "grants": EVERYONE, "lineage": ["doc:a"]},
            ]
        },
    ),
    (
        "grants",
        "SetSourceAccess",
        {"grants": [{"source_id": "doc:b", "access_version": 2, "principal_ids": ["agnes"]}]},
    ),
    ("refused", "PropagateDeletion", {"source_id": "doc:b", "authorization": {**AGNES, "principal_id": "bob"}}),
    ("moves", "RepointSource", {"from": "doc:a", "to": "doc:c", "authorization": ROBOT}),
    ("renames", "RenameSources", {"renames": [{"from": "doc:c", "to": "doc:d"}], "authorization": ROBOT}),
    ("renames_prefix", "RenameSources", {"prefix": {"from": "note:", "to": "memo:"}, "authorization": ROBOT}),
    ("rolls_back", "SetGeneration", {"generation": 1}),
    ("pins", "SetGeneration", {"pin": True}),
    ("unpins", "SetGeneration", {"pin": False}),
    ("reindexes", "ReindexCorpus", {"embedder": "hash:32", "retire_after_s": 0}),
    ("propagates", "PropagateDeletion", {"source_id": "doc:d", "authorization": ROBOT}),
    ("deletes", "DeleteSources", {"source_ids": ["doc:b", "doc:unknown"]}),
    ("collects", "CollectGarbage", {"keep_generations": 0, "older_than_s": 0}),
)
REFUSED = {"refused"}


async def main() -> None:
    with own_postgres() as postgres, own_temporal() as temporal:
        client = await Client.connect(temporal.address, data_converter=pydantic_data_converter)
        with Store.open(postgres.new_database()) as store:
            async with running_pipeline(store, client, options=OPTIONS):
                for number, (name, kind, fields) in enumerate(STORY):
                    await _record(client, name, kind, fields, f"r{number}")
                await _record_started(client, "retires", "RetireBuild")
                tick = await client.start_workflow("CollectTick", {}, id="tick", task_queue=queues.CONTROL)
                await tick.result()
                await _write(client, "CollectTick", "ticks", tick.id, tick.result_run_id)


async def _record(client: Client, name: str, kind: str, fields: dict[str, Any], request_id: str) -> None:
    is_request = kind not in {"SetGeneration", "ReindexCorpus", "CollectGarbage"}
    request = {"request_id": request_id} if is_request else {}
    workflow_id = request_workflow_id(kind, SCOPE, request_id) if is_request else scope_workflow_id(kind, SCOPE)
    handle = await client.start_workflow(
        kind, {"scope": SCOPE.model_dump(), **request, **fields}, id=workflow_id, task_queue=queues.CONTROL
    )
    try:
        await handle.result()
        assert name not in REFUSED
    except WorkflowFailureError as error:
        assert name in REFUSED, f"{name}: {error.cause}"
    await _write(client, kind, name, handle.id, handle.result_run_id)


async def _record_started(client: Client, name: str, kind: str) -> None:
    """One that another workflow started."""
    async for found in client.list_workflows(f"WorkflowType = '{kind}'"):
        await client.get_workflow_handle(found.id, run_id=found.run_id).result()
        await _write(client, kind, name, found.id, found.run_id)


async def _write(client: Client, kind: str, name: str, workflow_id: str, run_id: str | None) -> None:
    history = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
    day = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d")
    told = json.dumps(impersonal(json.loads(history.to_json())), indent=1)
    stem = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind).lstrip("_")
    (FOLDER / f"{stem}-{name}-0-{day}.json").write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
    # The SDK's threads may still log while the interpreter ends, which aborts it: everything is written, so leave.
    os._exit(0)
