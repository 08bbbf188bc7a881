"""What becomes of a request that a command made: answered once, interrupted, and asked again after an outage."""

import asyncio
import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
from temporalio.client import Client, Interceptor, OutboundInterceptor, StartWorkflowInput, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from headwater.contracts import DeleteSourcesInput, DeleteSourcesResult, ReindexCorpusInput, ReindexCorpusResult
from headwater.models import Scope
from tests.workflows.scripted_requests import served
from workers.cli.errors import CommandFailed, Interrupted, WrongUsage
from workers.cli.own_run import Starter
from workers.cli.question import Question, fresh_request_id
from workers.cli.requesting import Request
from workers.cli.waiting import wait_for


@dataclass
class LostAnswers(Interceptor):
    """A connection on which some starts are carried out and never answered."""

    starts: int = 0
    lost: int = 0

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _Losing(next, self)

    def on(self, client: Client) -> Client:
        config = client.config()
        config["interceptors"] = [self]
        return Client(**config)


class _Losing(OutboundInterceptor):
    def __init__(self, next: OutboundInterceptor, answers: LostAnswers) -> None:
        super().__init__(next)
        self._answers = answers

    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        started = await super().start_workflow(input)
        self._answers.starts += 1
        if self._answers.lost:
            self._answers.lost -= 1
            raise RPCError("the line is cut", RPCStatusCode.UNAVAILABLE, b"")
        return started


@dataclass
class Command:
    """A command that waits for its request, and what it said."""

    client: Client
    question: Question[Any]
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    said: list[str] = field(default_factory=list)
    spoke: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.request = Request(self.client, self.question, self._say)

    async def result(self) -> Any:
        return await wait_for(self.request, stop=self.stop, trouble=_no_trouble(), on_stopping=self._say)

    def _say(self, sentence: str) -> None:
        self.said.append(sentence)
        self.spoke.set()

    async def is_running(self) -> None:
        """Returns when a run of this command's own goes on."""
        async with asyncio.timeout(20):
            while await self.request.run.starter() is not Starter.WE:
                pass


async def _no_trouble() -> str:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


def scope() -> Scope:
    return Scope(tenant_id="t1", resource_id="docs", corpus_id=uuid.uuid4().hex)


def deletion(client: Client, *source_ids: str) -> Command:
    wanted = DeleteSourcesInput(scope=scope(), request_id=fresh_request_id(), source_ids=source_ids)
    return Command(client, Question("DeleteSources", wanted, DeleteSourcesResult, what="deletion"))


def reindex(client: Client, corpus: Scope, *, waits_its_turn: bool) -> Command:
    wanted = ReindexCorpusInput(scope=corpus)
    question = Question(
        "ReindexCorpus", wanted, ReindexCorpusResult, what="re-index", waits_its_turn=waits_its_turn
    )  # fmt: skip
    return Command(client, question)


async def test_a_request_whose_answer_was_lost_is_made_once(temporal_client: Client) -> None:
    answers = LostAnswers(lost=1)
    command = deletion(answers.on(temporal_client), "a")
    async with served(temporal_client):
        result = await command.result()
    assert [source.source_id for source in result.sources] == ["a"]
    assert answers.starts == 1


async def test_ones_own_run_is_cancelled_by_an_interruption(temporal_client: Client) -> None:
    command = deletion(temporal_client, "wait")
    async with served(temporal_client):
        running = asyncio.create_task(command.result())
        await command.is_running()
        command.stop.set()
        with pytest.raises(Interrupted, match=r"^Interrupted; run the command again to have it done\.$"):
            await running
    assert command.said == ["Stopping the deletion. Ctrl-C again leaves at once."]
    assert await command.request.run.starter() is Starter.NOBODY


async def test_a_run_that_others_started_is_left_alone(temporal_client: Client) -> None:
    corpus = scope()
    first = reindex(temporal_client, corpus, waits_its_turn=True)
    second = reindex(temporal_client, corpus, waits_its_turn=True)
    async with served(temporal_client):
        running = asyncio.create_task(first.result())
        await first.is_running()
        waiting = asyncio.create_task(second.result())
        await asyncio.wait_for(second.spoke.wait(), 20)
        assert second.said == [f"Another re-index of {corpus} is running: waiting for its end."]
        second.stop.set()
        with pytest.raises(Interrupted, match="was started elsewhere and goes on"):
            await waiting
        await first.request.run.handle.execute_update("abort")
        assert (await running).generation == 7


async def test_whoever_does_not_wait_is_told_of_the_other_run(temporal_client: Client) -> None:
    corpus = scope()
    first = reindex(temporal_client, corpus, waits_its_turn=False)
    async with served(temporal_client):
        running = asyncio.create_task(first.result())
        await first.is_running()
        with pytest.raises(CommandFailed, match=f"^Another re-index of {corpus} is running: wait for its end"):
            await reindex(temporal_client, corpus, waits_its_turn=False).result()
        await first.request.run.handle.execute_update("abort")
        await running


async def test_whoever_waited_asks_for_a_run_of_their_own(temporal_client: Client) -> None:
    corpus = scope()
    first = reindex(temporal_client, corpus, waits_its_turn=True)
    second = reindex(temporal_client, corpus, waits_its_turn=True)
    async with served(temporal_client):
        running = asyncio.create_task(first.result())
        await first.is_running()
        waiting = asyncio.create_task(second.result())
        await asyncio.wait_for(second.spoke.wait(), 20)
        await first.request.run.handle.execute_update("abort")
        await running
        await second.is_running()
        await second.request.run.handle.execute_update("abort")
        assert (await waiting).generation == 7


async def test_what_is_wrong_with_the_input_is_wrong_usage(temporal_client: Client) -> None:
    async with served(temporal_client):
        with pytest.raises(WrongUsage, match=r"^What fail:InvalidInput says\.$"):
            await deletion(temporal_client, "fail:InvalidInput").result()
        with pytest.raises(CommandFailed, match=r"^What fail:AccessError says\.$"):
            await deletion(temporal_client, "fail:AccessError").result()


async def test_a_request_that_somebody_else_cancelled_is_said_to_be(temporal_client: Client) -> None:
    command = deletion(temporal_client, "wait")
    async with served(temporal_client):
        running = asyncio.create_task(command.result())
        await command.is_running()
        await command.request.run.handle.cancel()
        with pytest.raises(CommandFailed, match=r"^The deletion was cancelled by somebody else: run it again\.$"):
            await running
