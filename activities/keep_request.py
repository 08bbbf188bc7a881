"""Activities `begin_request` and `end_request`: the frame around whatever a host asks for once."""

import asyncio
from typing import Final

from temporalio import activity
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.containment import contained_async
from activities.contracts import BeginRequest, BegunRequest, Done, EndRequest
from activities.store import Store, requests
from activities.store.requests import Owner, Request, RequestRunning

# Of a server that does not say which chain a run belongs to, a run that was handed over counts as going on.
GOING_ON: Final = (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW)


class RequestKeeper:
    """Gives each request to one workflow, and keeps its answer."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @activity.defn(name="begin_request")
    @contained_async
    async def begin_request(self, wanted: BeginRequest) -> BegunRequest:
        me = Owner(wanted.workflow_id, wanted.run_id)
        request = await asyncio.to_thread(self._claim, wanted, me)
        if request.result is None and request.owner != me:
            if await self._is_running(request.owner, me):
                raise RequestRunning(f"Workflow {request.workflow_id} is carrying this request out.")
            if not await asyncio.to_thread(requests.take_over, self._store, request, me):
                raise RequestRunning("Another workflow has taken this request over.")
        return BegunRequest(
            request_no=request.request_no, result=None if request.result is None else dict(request.result)
        )

    def _claim(self, wanted: BeginRequest, me: Owner) -> Request:
        return requests.claim_request(
            self._store,
            wanted.scope,
            workflow=wanted.workflow,
            request_id=wanted.request_id,
            payload_sha256=bytes.fromhex(wanted.payload_sha256),
            owner=me,
            makes_corpus=wanted.makes_corpus,
        )

    async def _is_running(self, owner: Owner | None, me: Owner) -> bool:
        """Whether the workflow that has the request still lives. Of one workflow id Temporal runs one at a time."""
        if owner is None or owner.workflow_id == me.workflow_id:
            return False
        latest = await _described(owner.workflow_id)
        if latest is None or latest.status is not WorkflowExecutionStatus.RUNNING:
            return False
        # The id may have been given to another workflow since: what counts is the chain of runs that has the request.
        first_run = latest.raw_info.first_run_id or latest.run_id
        if first_run == owner.run_id:
            return True
        owners = await _described(owner.workflow_id, owner.run_id)
        return owners is not None and not latest.raw_info.first_run_id and owners.status in GOING_ON

    @activity.defn(name="end_request")
    @contained_async
    async def end_request(self, ended: EndRequest) -> Done:
        if ended.result is None:
            await asyncio.to_thread(requests.release_request, self._store, ended.request_no)
        else:
            await asyncio.to_thread(requests.finish_request, self._store, ended.request_no, ended.result)
        return Done()


async def _described(workflow_id: str, run_id: str | None = None) -> WorkflowExecutionDescription | None:
    """The run, or the latest one of that id; None if Temporal does not know it, any more or at all."""
    try:
        return await activity.client().get_workflow_handle(workflow_id, run_id=run_id).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise RequestRunning("Temporal does not say whether the request is being carried out.") from error
