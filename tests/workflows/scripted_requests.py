"""Workflows under public names that do what the request says: answer, fail, or wait until they are let go."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from temporalio import workflow
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from headwater.workflow_ids import TASK_QUEUE


@workflow.defn(name="DeleteSources", sandboxed=False)
class ScriptedDeletion:
    """``fail:TYPE`` fails with that type, ``wait`` waits; all other ids are deleted."""

    def __init__(self) -> None:
        self._may_end = False

    @workflow.run
    async def run(self, raw: Any) -> Any:
        for source_id in raw["source_ids"]:
            if source_id.startswith("fail:"):
                raise ApplicationError(f"What {source_id} says.", type=source_id[5:] or None, non_retryable=True)
            if source_id == "wait":
                await workflow.wait_condition(lambda: self._may_end)
        return {
            "sources": [{"source_id": source_id, "deleted": True} for source_id in raw["source_ids"]],
            "generation": len(workflow.info().run_id),
            "run_id": workflow.info().run_id,
        }

    @workflow.signal
    def let_go(self) -> None:
        self._may_end = True


@workflow.defn(name="ReindexCorpus", sandboxed=False)
class ScriptedReindex:
    """Waits until it is aborted, and then says so by its counts."""

    def __init__(self) -> None:
        self._is_aborted = False

    @workflow.run
    async def run(self, _raw: Any) -> Any:
        await workflow.wait_condition(lambda: self._is_aborted)
        return {"build": 1, "generation": 7, "sources": 0, "chunks": 0, "failed": 0}

    @workflow.update
    def abort(self) -> None:
        self._is_aborted = True

    @workflow.query
    def progress(self) -> Any:
        return {"phase": "aborted" if self._is_aborted else "building", "sources": 3, "unheard_of": 1}


@workflow.defn(name="SyncCorpus", sandboxed=False)
class ScriptedSync:
    """Goes on in a new run before its first answer. A full one fails while it is asked."""

    @workflow.init
    def __init__(self, raw: Any, runs: int = 0) -> None:
        self._is_asked = False
        self._runs = runs

    @workflow.run
    async def run(self, raw: Any, runs: int = 0) -> Any:
        await workflow.wait_condition(lambda: self._is_asked)
        if raw.get("full"):
            raise ApplicationError("The folder is gone.", type="PermanentError", non_retryable=True)
        await workflow.wait_condition(workflow.all_handlers_finished)
        if not runs:
            workflow.continue_as_new(args=[raw, 1])
        return None

    @workflow.update(unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def sync_now(self, ask: Any) -> Any:
        self._is_asked = True
        if ask["full"]:
            await workflow.wait_condition(lambda: False)
        if not self._runs:
            return {"ticket": 1, "result": None}
        return {"ticket": ask["ticket"], "result": {"corpus": "c", "connector": "shelf", "pages": ask["ticket"]}}


@contextlib.asynccontextmanager
async def served(client: Client) -> AsyncIterator[None]:
    """A worker for all of them."""
    workflows = [ScriptedDeletion, ScriptedReindex, ScriptedSync]
    async with Worker(client, task_queue=TASK_QUEUE, workflows=workflows):
        yield
