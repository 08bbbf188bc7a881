"""Records what `SyncCorpus` and `SyncTick` do into `tests/histories/`, for `test_replay.py`: ``python -m tests.workflows.record``.

Run it when the workflow was changed on purpose and the recorded histories still replay (the change is patched or
versioned): the new ones are then kept beside the old, never instead of them.
"""

import asyncio
import contextlib
import datetime
import json
import os
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from temporalio.client import Client, WithStartWorkflowOperation, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from headwater.contracts import SyncNow, SyncResult
from headwater.models import Scope
from headwater.workflow_ids import sync_workflow_id
from tests.workflows.scripted_activities import Script
from workflows import queues
from workflows.sync_corpus import PAGES_A_RUN
from workflows.sync_tick import SyncTick

FOLDER = Path(__file__).parent.parent / "histories"
INPUT = {"scope": {"tenant_id": "t1", "resource_id": "docs", "corpus_id": "handbook"}, "connector": "shelf"}


async def _record(client: Client, name: str, script: Script, *, cancel: bool = False) -> None:
    """One run of the script, asked for as the command line asks, with every run of its chain written down."""
    workflow_id = f"{name}-{uuid.uuid4()}"
    started: WithStartWorkflowOperation[object, SyncResult] = WithStartWorkflowOperation(
        "SyncCorpus", INPUT, id=workflow_id, task_queue=queues.CONTROL, id_conflict_policy=WorkflowIDConflictPolicy.FAIL
    )
    reached = script.hold("embed_batch 1.0")[0] if cancel else None
    async with script.served(client):
        asked = asyncio.create_task(
            client.execute_update_with_start_workflow(
                "sync_now", {}, start_workflow_operation=started, result_type=SyncNow
            )
        )
        handle: WorkflowHandle[object, SyncResult] = await started.workflow_handle()
        if reached is not None:
            await reached.wait()
            await handle.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        with contextlib.suppress(WorkflowFailureError):
            await handle.result()
    runs = [found async for found in client.list_workflows(f"WorkflowId = '{workflow_id}'")]
    day = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d")
    for number, found in enumerate(sorted(runs, key=lambda run: run.start_time)):
        history = await client.get_workflow_handle(workflow_id, run_id=found.run_id).fetch_history()
        told = json.dumps(impersonal(json.loads(history.to_json())), indent=1)
        (FOLDER / f"sync_corpus-{name}-{number}-{day}.json").write_text(told + "\n", encoding="utf-8")


def impersonal(event: Any) -> Any:
    """The same without what names the machine that it was recorded on."""
    if isinstance(event, dict):
        return {key: impersonal(value) for key, value in event.items() if key not in {"stackTrace", "identity"}}
    if isinstance(event, str):
        return re.sub(r"^\d+@.*", "worker", event)  # queues of one worker are named by its process and host
    return [impersonal(each) for each in event] if isinstance(event, list) else event


async def _record_tick(client: Client, name: str, script: Script, *, nudges: bool) -> None:
    """A tick that begins a sync, or one that finds it under way."""
    reached, go_on = script.hold("embed_batch 1.0")
    async with script.served(client), Worker(client, task_queue=queues.TICKS, workflows=[SyncTick]):
        for number in range(1 + nudges):
            await client.execute_workflow("SyncTick", INPUT, id=f"{name}-{number}", task_queue=queues.TICKS)
            await reached.wait()
        go_on.set()
        await client.get_workflow_handle(sync_workflow_id(Scope.model_validate(INPUT["scope"]), "shelf")).result()
    history = await client.get_workflow_handle(f"{name}-{int(nudges)}").fetch_history()
    day = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d")
    told = json.dumps(impersonal(json.loads(history.to_json())), indent=1)
    (FOLDER / f"sync_tick-{name}-0-{day}.json").write_text(told + "\n", encoding="utf-8")


async def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    fault = ApplicationError("The folder is gone.", type="SourceUnavailable")
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(Path(sys.executable).parent / "temporal"), data_converter=pydantic_data_converter
    ) as server:
        await _record(server.client, "three_pages", Script(pages=3))
        await _record(server.client, "nothing_new", Script(pages=1, items=0))
        await _record(server.client, "long", Script(pages=PAGES_A_RUN + 2, batches=1))
        await _record(server.client, "fails", Script(pages=2, failures={"list_page 2": [fault]}))
        lost = ApplicationError("The origin does not know the cursor.", type="InvalidCursor")
        await _record(server.client, "begins_anew", Script(pages=2, failures={"list_page 2": [lost]}))
        await _record(server.client, "cancelled", Script(pages=2), cancel=True)
        await _record_tick(server.client, "starts", Script(pages=1), nudges=False)
        await _record_tick(server.client, "nudges", Script(pages=1), nudges=True)


if __name__ == "__main__":
    asyncio.run(main())
    # The SDK's threads may still log while the interpreter ends, which aborts it: everything is written, so leave.
    os._exit(0)
