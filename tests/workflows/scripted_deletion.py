"""The activities of a propagation, under their real names, that follow a script."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from activities.contracts import BeginRequest, BegunRequest, Done, EndRequest
from activities.contracts.deletion import Handler, NoteLayer, Propagate, Propagated, RemovedLayer, RemoveRag
from workflows import queues
from workflows.propagate_deletion import PropagateDeletion

WIKI = Handler(kind="wiki", task_queue="my-wiki", activity="remove_wiki_pages")
NOTES = Handler(kind="notes", task_queue="my-wiki", activity="remove_notes")


@dataclass
class DeletionScript:
    """What was hidden, and how each handler of the host answers: in turn, the last answer again and again."""

    hidden: Propagated
    answers: dict[str, list[Any]] = field(default_factory=dict)  # by activity; an exception is raised
    calls: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    noted: dict[str, int] = field(default_factory=dict)
    ended: list[EndRequest] = field(default_factory=list)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)  # set when an answer is "wait"

    @activity.defn(name="begin_request")
    async def begin_request(self, _wanted: BeginRequest) -> BegunRequest:
        return BegunRequest(request_no=1)

    @activity.defn(name="end_request")
    async def end_request(self, ended: EndRequest) -> Done:
        self.ended.append(ended)
        return Done()

    @activity.defn(name="propagate_deletion")
    async def propagate_deletion(self, _wanted: Propagate) -> Propagated:
        self.calls.append("hide")
        return self.hidden.model_copy(update={"layers": dict(self.noted)})

    @activity.defn(name="remove_rag")
    async def remove_rag(self, _wanted: RemoveRag) -> RemovedLayer:
        self.calls.append("rag")
        return RemovedLayer(count=7)

    @activity.defn(name="note_layer")
    async def note_layer(self, layer: NoteLayer) -> Done:
        self.noted[layer.kind] = layer.count
        return Done()

    @activity.defn(name="remove_wiki_pages")
    async def remove_wiki_pages(self, asked: dict[str, Any]) -> Any:
        self.asked.append(asked)
        return await self._answer("wiki")

    @activity.defn(name="remove_notes")
    async def remove_notes(self, _asked: dict[str, Any]) -> Any:
        return await self._answer("notes")

    async def _answer(self, kind: str) -> Any:
        self.calls.append(kind)
        answers = self.answers.get(kind, [0])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "wait":
            self.waiting.set()
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    @contextlib.asynccontextmanager
    async def served(self, client: Client) -> AsyncIterator[None]:
        """Workers for every queue, playing this script."""
        own: list[Callable[..., Any]] = [
            self.begin_request,
            self.end_request,
            self.propagate_deletion,
            self.remove_rag,
            self.note_layer,
        ]
        async with (
            Worker(client, task_queue=queues.CONTROL, workflows=[PropagateDeletion]),
            Worker(client, task_queue=queues.DB, activities=own),
            Worker(client, task_queue="my-wiki", activities=[self.remove_wiki_pages, self.remove_notes]),
        ):
            yield
