"""Records the end and the trial of connectors into `tests/histories/`: ``python -m tests.workflows.record_connectors``.

Scripted, and to be run as `record.py` is: the new histories are kept beside the old.
"""

import asyncio
import contextlib
import datetime
import json
import os
import sys
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowFailureError
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from tests.workflows.record import FOLDER, INPUT, impersonal
from tests.workflows.scripted_connectors import ConnectorScript
from workflows import queues


async def main() -> None:
    fault = ApplicationError("The connector is broken.", type="StoreError")
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(Path(sys.executable).parent / "temporal"), data_converter=pydantic_data_converter
    ) as server:
        removes, failing = "RemoveConnector", ConnectorScript(pages=2, failures={"publish_page": [fault]})
        await _record(server.client, removes, "deletes", ConnectorScript(pages=2, stale_builds=1), sources="delete")
        await _record(server.client, removes, "keeps", ConnectorScript(pages=2), sources="keep")
        await _record(server.client, removes, "fails", failing, sources="delete")
        await _record(server.client, "TryConnector", "reaches", ConnectorScript())


async def _record(client: Client, workflow: str, name: str, script: ConnectorScript, **fields: Any) -> None:
    async with script.served(client):
        handle = await client.start_workflow(
            workflow, {**INPUT, **fields}, id=f"{workflow}-{name}", task_queue=queues.CONTROL
        )
        with contextlib.suppress(WorkflowFailureError):
            await handle.result()
    told = json.dumps(impersonal(json.loads((await handle.fetch_history()).to_json())), indent=1)
    day = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d")
    stem = "remove_connector" if workflow == "RemoveConnector" else "try_connector"
    (FOLDER / f"{stem}-{name}-0-{day}.json").write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
    # The SDK's threads may still log while the interpreter ends, which aborts it: everything is written, so leave.
    os._exit(0)
