"""The order of a push, and that a request is carried out once: on a real store, with the other activities scripted."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.contracts import BatchRef, EmbeddedBatch, PageRef, PreparedPage, PublishedPage
from activities.contracts.ingest import AcceptedIngest, AcceptIngest, EndIngest
from activities.keep_request import RequestKeeper
from activities.store import Store
from activities.store.requests import Owner, claim_request
from headwater.contracts import IngestOutcome, IngestSourcesInput, IngestSourcesResult
from headwater.models import Scope
from workflows import queues
from workflows.ingest_sources import IngestSources
from workflows.once import payload_hash

SCOPE = {"tenant_id": "t1", "resource_id": "docs", "corpus_id": "handbook"}
INPUT: dict[str, Any] = {"scope": SCOPE, "request_id": "r1", "sources": [{"source_id": "a", "text": "Alpha"}]}
_ids = (f"ingest:{number}" for number in itertools.count(1))

Handle = WorkflowHandle[Any, IngestSourcesResult]


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.open(database) as opened:
        yield opened


@dataclass
class Script:
    """A page of ``batches`` batches, staged ``stale`` times for a build that is gone by then."""

    store: Store
    batches: int = 2
    stale: int = 0
    calls: list[str] = field(default_factory=list)
    failures: dict[str, list[ApplicationError]] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    reached: dict[str, asyncio.Event] = field(default_factory=dict)

    def hold(self, call: str) -> tuple[asyncio.Event, asyncio.Event]:
        """Makes ``call`` wait: the event that it was reached, and the one that lets it go on."""
        self.reached[call], self.gates[call] = asyncio.Event(), asyncio.Event()
        return self.reached[call], self.gates[call]

    def count(self, name: str) -> int:
        return Counter(call.split()[0] for call in self.calls)[name]

    async def _call(self, call: str, page: PageRef | None = None) -> None:
        assert page is None or (page.page_id, page.tenant_id) == (7, "t1")
        self.calls.append(call)
        if call in self.gates:
            self.reached[call].set()
            while not self.gates[call].is_set():
                activity.heartbeat()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.gates[call].wait(), 0.1)
        if self.failures.get(call):
            raise self.failures[call].pop(0)

    @activity.defn(name="accept_ingest")
    async def accept_ingest(self, asked: AcceptIngest) -> AcceptedIngest:
        assert asked.sources[0].text == "Alpha"
        await self._call("accept_ingest")
        return AcceptedIngest(page_id=7)

    @activity.defn(name="prepare_page")
    async def prepare_page(self, page: PageRef) -> PreparedPage:
        await self._call("prepare_page", page)
        return PreparedPage(batches=self.batches)

    @activity.defn(name="embed_batch")
    async def embed_batch(self, batch: BatchRef) -> EmbeddedBatch:
        await self._call(f"embed_batch {batch.batch_no}", batch)
        return EmbeddedBatch(embedded=1)

    @activity.defn(name="publish_page")
    async def publish_page(self, page: PageRef) -> PublishedPage:
        await self._call("publish_page", page)
        self.stale -= 1
        return PublishedPage(is_stale_build=self.stale >= 0, generation=5)

    @activity.defn(name="restage_page")
    async def restage_page(self, page: PageRef) -> PreparedPage:
        await self._call("restage_page", page)
        return PreparedPage(batches=1)

    @activity.defn(name="end_ingest")
    async def end_ingest(self, ended: EndIngest) -> IngestSourcesResult:
        await self._call("end_ingest", ended)
        outcome = IngestOutcome(source_id="a", revision=self.count("end_ingest"), state="indexed")
        return IngestSourcesResult(sources=(outcome,), generation=ended.generation)

    @contextlib.asynccontextmanager
    async def served(self, client: Client) -> AsyncIterator[None]:
        keeper = RequestKeeper(self.store)
        db: list[Callable[..., Any]] = [
            keeper.begin_request, keeper.end_request, self.publish_page, self.end_ingest
        ]  # fmt: skip
        io: list[Callable[..., Any]] = [self.accept_ingest, self.prepare_page, self.restage_page]
        async with (
            Worker(client, task_queue=queues.CONTROL, workflows=[IngestSources]),
            Worker(client, task_queue=queues.IO, activities=io),
            Worker(client, task_queue=queues.EMBED, activities=[self.embed_batch]),
            Worker(client, task_queue=queues.DB, activities=db),
        ):
            try:
                yield
            finally:
                for gate in self.gates.values():
                    gate.set()


async def start(client: Client, request: Any = INPUT, **options: Any) -> Handle:
    """By name and with raw JSON, under an id of its own."""
    handle: Handle = await client.start_workflow(
        "IngestSources", request, id=next(_ids), task_queue=queues.CONTROL, result_type=IngestSourcesResult, **options
    )
    return handle


async def failure_of(handle: Handle) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


def requests(store: Store) -> list[tuple[Any, ...]]:
    """Of each request, its id, whether it has an answer, and whether somebody carries it out."""
    with store.connection() as connection:
        return connection.execute(
            "SELECT request_id, result IS NOT NULL, workflow_id IS NOT NULL FROM headwater.request ORDER BY 1"
        ).fetchall()


async def test_a_request_goes_step_by_step_and_is_answered_alike_ever_after(
    skipping: WorkflowEnvironment, store: Store
) -> None:
    script = Script(store, failures={"publish_page": [ApplicationError("Away.", type="StoreUnavailable")] * 20})
    async with script.served(skipping.client):
        result = await (await start(skipping.client)).result()
        first = script.calls.copy()
        again = await (
            await start(skipping.client, {**INPUT, "requested_by": "somebody else", "colour": "blue"})
        ).result()
        other = await failure_of(
            await start(skipping.client, {**INPUT, "sources": [{"source_id": "a", "text": "Beta"}]})
        )
    assert first[:2] == ["accept_ingest", "prepare_page"]
    assert sorted(first[2:4]) == ["embed_batch 0", "embed_batch 1"]
    assert first[4:] == ["publish_page"] * 21 + ["end_ingest"]
    assert (result.generation, result.sources[0].revision) == (5, 1)
    assert (again, script.calls) == (result, first)
    assert (other.type, other.message[:27]) == ("InvalidInput", "request_id r1 was used for ")
    assert requests(store) == [("r1", True, True)]


async def test_a_page_is_staged_again_as_often_as_its_build_is_replaced(
    skipping: WorkflowEnvironment, store: Store
) -> None:
    script = Script(store, batches=0, stale=2)
    async with script.served(skipping.client):
        await (await start(skipping.client)).result()
    assert script.calls == [
        "accept_ingest", "prepare_page",
        "publish_page", "restage_page", "embed_batch 0",
        "publish_page", "restage_page", "embed_batch 0",
        "publish_page", "end_ingest",
    ]  # fmt: skip


async def test_whoever_sends_the_same_request_meanwhile_gets_its_answer(temporal_client: Client, store: Store) -> None:
    script = Script(store)
    embedding, go_on = script.hold("embed_batch 0")
    async with script.served(temporal_client):
        first = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        second = await start(temporal_client)
        await until_it_waits(second)
        go_on.set()
        assert await second.result() == await first.result()
    assert (script.count("accept_ingest"), script.count("publish_page")) == (1, 1)


async def until_it_waits(handle: Handle) -> None:
    """Until the request was refused to that workflow once, because another one carries it out."""
    async with asyncio.timeout(10):
        while True:
            pending = (await handle.describe()).raw_description.pending_activities
            if any(each.last_failure.application_failure_info.type == "RequestRunning" for each in pending):
                return


@pytest.mark.parametrize("end", ["terminated", "cancelled", "failed"])
async def test_a_request_whose_workflow_is_gone_is_taken_over(temporal_client: Client, store: Store, end: str) -> None:
    script = Script(store)
    embedding, go_on = script.hold("embed_batch 0")
    async with script.served(temporal_client):
        first = await start(temporal_client)
        await asyncio.wait_for(embedding.wait(), 10)
        second = await start(temporal_client)
        await until_it_waits(second)
        if end == "terminated":
            await first.terminate()
        elif end == "cancelled":
            await first.cancel()
        else:
            script.failures["embed_batch 0"] = [ApplicationError("Bring it back.", type="EmbedderMismatch")]
        go_on.set()
        result = await second.result()
        if end == "failed":
            assert (await failure_of(first)).type == "EmbedderMismatch"
        elif end == "cancelled":
            with pytest.raises(WorkflowFailureError) as cancelled:
                await first.result()
            assert isinstance(cancelled.value.cause, CancelledError)
            assert (await first.describe()).status is WorkflowExecutionStatus.CANCELED
    assert result.sources[0].state == "indexed"
    assert script.count("accept_ingest") == 2
    assert requests(store) == [("r1", True, True)]


async def test_an_id_that_was_given_to_another_workflow_keeps_no_request(temporal_client: Client, store: Store) -> None:
    # The run that had the request is gone, and its workflow id runs again, with something else.
    script = Script(store)
    embedding, go_on = script.hold("embed_batch 0")
    async with script.served(temporal_client):
        other = await start(temporal_client, {**INPUT, "request_id": "r2"})
        await asyncio.wait_for(embedding.wait(), 10)
        digest = bytes.fromhex(payload_hash(IngestSourcesInput.model_validate(INPUT)))
        claim_request(
            store, Scope(**SCOPE), workflow="IngestSources", request_id="r1", payload_sha256=digest,
            owner=Owner(other.id, "0195f3a0-0000-7000-8000-000000000000"),
        )  # fmt: skip
        go_on_with = await start(temporal_client)
        async with asyncio.timeout(10):
            while script.count("accept_ingest") < 2:
                await go_on_with.describe()
        go_on.set()
        await go_on_with.result()
        await other.result()


async def test_a_request_that_failed_before_it_did_anything_is_forgotten(
    skipping: WorkflowEnvironment, store: Store
) -> None:
    script = Script(store, failures={"accept_ingest": [ApplicationError("sources.0.staged: no.", type="InvalidInput")]})
    async with script.served(skipping.client):
        refused = await failure_of(await start(skipping.client))
        assert (refused.type, refused.message) == ("InvalidInput", "sources.0.staged: no.")
        assert requests(store) == []
        await (await start(skipping.client)).result()
        for request, where in (
            ({**INPUT, "request_id": "a/b"}, "request_id"),
            ({**INPUT, "sources": [{"source_id": "drive:x", "text": "A"}]}, "sources.0.source_id"),
            (
                {**INPUT, "sources": [{"source_id": "a", "text": "A", "staged": None, "content_hash": "no"}]},
                "sources.0.",
            ),
            ([INPUT], "input"),
        ):
            malformed = await failure_of(await start(skipping.client, request))
            assert (malformed.type, malformed.message.startswith(where)) == ("InvalidInput", True), malformed.message
    assert script.count("accept_ingest") == 2
