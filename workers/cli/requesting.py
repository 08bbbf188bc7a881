"""One run of a public workflow: started once, found again after an outage of Temporal, and awaited."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from workers.cli.absences import ASK_AGAIN_S, answered, is_absence, is_own_cancellation
from workers.cli.errors import CommandFailed
from workers.cli.own_run import RUN_TIMEOUT, OwnRun
from workers.cli.question import Answer, Question
from workers.cli.waiting import Words
from workflows.queues import CONTROL


@dataclass(frozen=True)
class Request(Generic[Answer]):
    """A question that is asked, under an id of its own: asking again after an outage asks the same one."""

    client: Client
    question: Question[Answer]
    say: Callable[[str], None]
    ask_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def words(self) -> Words:
        what = self.question.what
        return Words(
            what=what,
            absent=f"no {what} is running: it has ended, or it never began",
            stopping=f"Stopping the {what}.",
            stopped="run the command again to have it done",
        )

    @property
    def run(self) -> OwnRun:
        return OwnRun(self.client, self.question.workflow_id, self.ask_id)

    async def result(self) -> Answer:
        """The workflow's answer. Temporal's absences are waited out."""
        begun = await self._begun()
        return self.question.answer.model_validate(await answered(begun.result))

    async def _begun(self) -> WorkflowHandle[Any, Any]:
        """Our run: started now, or by an earlier attempt whose answer was lost."""
        was_away = False
        while True:
            try:
                return (await self.run.find() if was_away else None) or await self._start()
            except WorkflowAlreadyStartedError:
                own = await answered(self.run.find)
                if own is not None:
                    return own
                await self._wait_for_others()
            except RPCError as error:
                if is_own_cancellation() or not is_absence(error):
                    raise
                was_away = True
                await asyncio.sleep(ASK_AGAIN_S)

    async def _start(self) -> WorkflowHandle[Any, Any]:
        return await self.client.start_workflow(
            self.question.workflow,
            self.question.wanted.model_dump(mode="json", by_alias=True, exclude_unset=True),
            id=self.question.workflow_id,
            task_queue=CONTROL,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            execution_timeout=RUN_TIMEOUT,
            memo=self.run.memo,
        )

    async def _wait_for_others(self) -> None:
        what, scope = self.question.what, self.question.wanted.scope
        if not self.question.waits_its_turn:
            raise CommandFailed(
                f"Another {what} of {scope} is running: wait for its end, or cancel {self.question.workflow_id} in "
                "Temporal's web page."
            )
        self.say(f"Another {what} of {scope} is running: waiting for its end.")
        await self.run.ended()
