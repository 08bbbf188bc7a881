"""A run of a workflow that a command asked for, and whether it is the command's own: only that one is ever cancelled."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Final

from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.service import RPCError

from workers.cli.absences import answered, is_not_found

STARTED_FOR: Final = "started_for"
# Outages are waited out without end; this bounds a run that nobody looks at.
RUN_TIMEOUT: Final = timedelta(days=7)


class Starter(Enum):
    """Who started a run."""

    WE = "this command"
    OTHERS = "somebody else"
    NOBODY = "there is none"


@dataclass(frozen=True)
class OwnRun:
    """The run of a workflow id. One that a command starts carries the command's ``ask_id`` in its memo."""

    client: Client
    workflow_id: str
    ask_id: str

    @property
    def handle(self) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(self.workflow_id)

    @property
    def memo(self) -> dict[str, str]:
        """What the run has to be started with."""
        return {STARTED_FOR: self.ask_id}

    async def find(self) -> WorkflowHandle[Any, Any] | None:
        """The last run of this id, ended or not, if this command started it. Raises `RPCError`."""
        try:
            run = await self.handle.describe()
        except RPCError as error:
            if is_not_found(error):
                return None
            raise
        return self.client.get_workflow_handle(self.workflow_id, run_id=run.run_id) if await self.is_of(run) else None

    async def is_of(self, run: WorkflowExecutionDescription) -> bool:
        """Whether ``run`` is one that this command started."""
        return bool(await run.memo_value(STARTED_FOR, None) == self.ask_id)

    async def starter(self) -> Starter:
        """Who started the run that goes on now. Raises `RPCError` where Temporal does not say."""
        try:
            run = await self.handle.describe()
        except RPCError as error:
            if is_not_found(error):
                return Starter.NOBODY
            raise
        if run.status != WorkflowExecutionStatus.RUNNING:
            return Starter.NOBODY
        return Starter.WE if await self.is_of(run) else Starter.OTHERS

    async def cancel_own(self) -> Starter:
        """Cancel the run that goes on, if this command started it. Temporal's absences are waited out."""
        starter = await answered(self.starter)
        if starter is Starter.WE:
            try:
                await answered(self.handle.cancel)
            except RPCError as error:
                if is_not_found(error):
                    return Starter.NOBODY  # it ended before it heard
                raise
        return starter

    async def ended(self) -> None:
        """Return when the run is over, however it ended."""
        try:
            await self.handle.result()
        except (WorkflowFailureError, RPCError):
            return
