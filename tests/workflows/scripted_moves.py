"""The activities of a move, under their real names, that follow a script."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from activities.contracts import BeginRequest, BegunRequest, Done, EndRequest
from activities.contracts.deletion import Handler
from activities.contracts.repoint import MovedPage, MovePage, NoteFailedMove
from headwater.contracts import FailedRename
from workflows import queues
from workflows.rename_sources import RenameSources
from workflows.repoint_source import RepointSource

WIKI = Handler(kind="wiki", task_queue="my-wiki", activity="rename_wiki_pages")
MOVED = MovedPage(moved_sources=1, moved_chunks=3, rewritten_edges=2)


@dataclass
class MoveScript:
    """What each origin's pages do, in turn (an exception is raised); every other origin moves in one page."""

    pages: dict[str, list[Any]] = field(default_factory=dict)
    wiki: list[Any] = field(default_factory=list)  # answers of the host's handler, if it has one
    calls: list[str] = field(default_factory=list)  # "from after", in order
    told: list[dict[str, Any]] = field(default_factory=list)  # to the handler
    wanted: list[MovePage] = field(default_factory=list)
    failures: list[FailedRename] = field(default_factory=list)
    begun: list[BeginRequest] = field(default_factory=list)
    ended: list[EndRequest] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)  # also of an answer "wait"
    held: str | None = None  # the page of this origin waits at the gate

    @activity.defn(name="begin_request")
    async def begin_request(self, wanted: BeginRequest) -> BegunRequest:
        self.begun.append(wanted)
        return BegunRequest(request_no=1)

    @activity.defn(name="end_request")
    async def end_request(self, ended: EndRequest) -> Done:
        self.ended.append(ended)
        return Done()

    @activity.defn(name="move_page")
    async def move_page(self, wanted: MovePage) -> MovedPage:
        self.wanted.append(wanted)
        self.calls.append(f"{wanted.from_id} {wanted.after or ''}".strip())
        if wanted.from_id == self.held:
            self.reached.set()
            await self.gate.wait()
        pages = self.pages.get(wanted.from_id, [MOVED])
        page = pages.pop(0) if len(pages) > 1 else pages[0]
        if isinstance(page, Exception):
            raise page
        assert isinstance(page, MovedPage)
        return page.model_copy(update={"handlers": (WIKI,) if self.wiki else ()})

    @activity.defn(name="note_failed_move")
    async def note_failed_move(self, noted: NoteFailedMove) -> Done:
        self.failures.append(noted.failure)
        return Done()

    @activity.defn(name="rename_wiki_pages")
    async def rename_wiki_pages(self, told: dict[str, Any]) -> Any:
        self.told.append(told)
        answer = self.wiki.pop(0) if len(self.wiki) > 1 else self.wiki[0]
        if answer == "wait":
            self.reached.set()
            await self.gate.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    @contextlib.asynccontextmanager
    async def served(self, client: Client) -> AsyncIterator[None]:
        """Workers for every queue, playing this script."""
        own: list[Callable[..., Any]] = [
            self.begin_request,
            self.end_request,
            self.move_page,
            self.note_failed_move,
        ]
        async with (
            Worker(client, task_queue=queues.CONTROL, workflows=[RepointSource, RenameSources]),
            Worker(client, task_queue=queues.DB, activities=own),
            Worker(client, task_queue="my-wiki", activities=[self.rename_wiki_pages]),
        ):
            try:
                yield
            finally:
                self.gate.set()
