"""The removal of a connector, for which a sync of it is ended first: it may wait for its origin for days, and then be of no use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.contracts.connectors import RemovedConnector
from headwater.models import Scope
from headwater.workflow_ids import sync_workflow_id
from workers.cli.absences import answered, is_not_found
from workers.cli.own_run import OwnRun
from workers.cli.requesting import Request
from workers.cli.waiting import Words

# A schedule may begin the next sync in between.
TURNS: Final = 5
BUSY: Final = "AlreadyRunning"


@dataclass(frozen=True)
class Removal:
    """A removal that is asked for, as often as a sync comes in between."""

    client: Client
    request: Request[RemovedConnector]
    scope: Scope
    connector: str
    say: Callable[[str], None]

    @property
    def words(self) -> Words:
        return self.request.words

    @property
    def run(self) -> OwnRun:
        return self.request.run

    async def result(self) -> RemovedConnector:
        """What became of the connector's documents."""
        for _ in range(TURNS - 1):
            await self._end_sync()
            try:
                return await self.request.result()
            except WorkflowFailureError as error:
                if not (isinstance(error.cause, ApplicationError) and error.cause.type == BUSY):
                    raise
        await self._end_sync()
        return await self.request.result()

    async def _end_sync(self) -> None:
        """Cancels the connector's sync, if one is running, and returns when it has given the lease back."""
        sync = OwnRun(self.client, sync_workflow_id(self.scope, self.connector), self.request.ask_id)
        try:
            run = await answered(sync.handle.describe)
            if run.status != WorkflowExecutionStatus.RUNNING:
                return
            self.say(f"A sync of connector {self.connector} of {self.scope} is running: it is ended first.")
            await answered(sync.handle.cancel)
        except RPCError as error:
            if is_not_found(error):
                return  # it never was, or ended before it heard
            raise
        await sync.ended()
