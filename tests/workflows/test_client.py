"""What a Python host gets from the workflows: typed answers, and errors of the library."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from headwater import Authorization, HeadwaterError, Scope
from headwater.client import HeadwaterClient
from headwater.contracts import DeletedSource, IngestSource
from headwater.errors import (
    AccessError,
    EmbedderMismatch,
    LimitError,
    PermanentError,
    ScopeError,
    StoreError,
    TransientError,
    ValidationError,
)
from headwater.workflow_ids import request_workflow_id, scope_workflow_id, sync_workflow_id
from tests.workflows.scripted_requests import served

ALICE = Authorization(principal_id="alice", tenant_id="t1")


@pytest.fixture
def scope() -> Scope:
    """A corpus that no other test names: workflow ids are made of it."""
    return Scope(tenant_id="t1", resource_id="docs", corpus_id=uuid.uuid4().hex)


@pytest.fixture
async def headwater(temporal_client: Client) -> AsyncIterator[HeadwaterClient]:
    async with served(temporal_client):
        yield await HeadwaterClient.connect(None, client=temporal_client)


async def running(client: Client, workflow_id: str) -> None:
    """Returns when a run of this id goes on."""
    async with asyncio.timeout(20):
        while True:
            try:
                await client.get_workflow_handle(workflow_id).describe()
                return
            except RPCError:
                await asyncio.sleep(0.01)  # the server tells nobody of a start: it is asked again, others in between


async def test_an_answer_has_its_type(headwater: HeadwaterClient, scope: Scope) -> None:
    answer = await headwater.delete_sources(scope, ["a", "b"], request_id="r1")

    assert answer.sources == (DeletedSource(source_id="a", deleted=True), DeletedSource(source_id="b", deleted=True))


async def test_what_a_workflow_fails_with_is_an_error_of_the_library(headwater: HeadwaterClient, scope: Scope) -> None:
    classes: dict[str, type[HeadwaterError]] = {
        "InvalidInput": ValidationError,
        "ValidationError": ValidationError,
        "LimitError": LimitError,
        "ScopeError": ScopeError,
        "AccessError": AccessError,
        "EmbedderMismatch": EmbedderMismatch,
        "StoreError": StoreError,
        "AlreadyRunning": TransientError,
        "ApplicationError": PermanentError,
        "": PermanentError,
    }
    for number, (kind, expected) in enumerate(classes.items()):
        with pytest.raises(HeadwaterError) as raised:
            await headwater.delete_sources(scope, [f"fail:{kind}"], request_id=f"r{number}")
        assert type(raised.value) is expected, kind
        assert str(raised.value) == f"What fail:{kind} says."


async def test_what_cannot_be_asked_starts_nothing(
    headwater: HeadwaterClient, temporal_client: Client, scope: Scope
) -> None:
    with pytest.raises(ValidationError, match=r"^source_ids\.0: source_id 'no space' must be"):
        await headwater.delete_sources(scope, ["no space"], request_id="r1")
    with pytest.raises(ValidationError, match=r"^request_id: "):
        await headwater.delete_sources(scope, ["a"], request_id="")
    with pytest.raises(ScopeError, match=r"^Authorization is of tenant t1"):
        await headwater.propagate_deletion(
            Scope(tenant_id="t2", resource_id="docs", corpus_id="c"), "a", authorization=ALICE, request_id="r1"
        )
    texts = [IngestSource(source_id=f"s{number}", text="x" * 60_000) for number in range(9)]
    with pytest.raises(LimitError, match=r"^Text of all sources holds 540,000 bytes"):
        await headwater.ingest_sources(scope, texts, request_id="r1")
    with pytest.raises(RPCError, match="not found"):
        await temporal_client.get_workflow_handle(request_workflow_id("DeleteSources", scope, "r1")).describe()


async def test_a_request_that_is_under_way_is_awaited(
    headwater: HeadwaterClient, temporal_client: Client, scope: Scope
) -> None:
    workflow_id = request_workflow_id("DeleteSources", scope, "r1")
    first = asyncio.create_task(headwater.delete_sources(scope, ["wait"], request_id="r1"))
    await running(temporal_client, workflow_id)
    second = asyncio.create_task(headwater.delete_sources(scope, ["other"], request_id="r1"))
    done, _ = await asyncio.wait((first, second), timeout=0.3)
    assert not done

    await temporal_client.get_workflow_handle(workflow_id).signal("let_go")

    assert [source.source_id for source in (await first).sources] == ["wait"]
    # It was not taken for the answer to something else: in the real workflow the request's row refuses that.
    assert [source.source_id for source in (await second).sources] == ["other"]


async def test_a_cancelled_request_may_be_sent_again(
    headwater: HeadwaterClient, temporal_client: Client, scope: Scope
) -> None:
    workflow_id = request_workflow_id("DeleteSources", scope, "r1")
    asked = asyncio.create_task(headwater.delete_sources(scope, ["wait"], request_id="r1"))
    await running(temporal_client, workflow_id)
    await temporal_client.get_workflow_handle(workflow_id).cancel()

    with pytest.raises(TransientError, match="was cancelled: ask again"):
        await asked


async def test_a_reindex_is_joined_by_who_wants_the_same(
    headwater: HeadwaterClient, temporal_client: Client, scope: Scope
) -> None:
    assert await headwater.reindex_progress(scope) is None
    assert not await headwater.abort_reindex(scope)
    first = asyncio.create_task(headwater.reindex_corpus(scope, embedder="hash:64"))
    await running(temporal_client, scope_workflow_id("ReindexCorpus", scope))
    second = asyncio.create_task(headwater.reindex_corpus(scope, embedder="hash:64"))

    with pytest.raises(TransientError, match="runs already, for something else"):
        await headwater.reindex_corpus(scope, embedder="hash:32")
    progress = await headwater.reindex_progress(scope)
    assert progress is not None and (progress.phase, progress.sources) == ("building", 3)
    assert await headwater.abort_reindex(scope)
    assert (await first).generation == (await second).generation == 7


async def test_a_sync_is_followed_into_its_next_run(headwater: HeadwaterClient, scope: Scope) -> None:
    assert (await headwater.sync_corpus(scope, "shelf")).pages == 1


async def test_a_sync_that_fails_while_it_is_asked_says_why(headwater: HeadwaterClient, scope: Scope) -> None:
    with pytest.raises(PermanentError, match=r"^The folder is gone\.$"):
        await headwater.sync_corpus(scope, "shelf", full=True)


async def test_who_asks_is_told(headwater: HeadwaterClient, temporal_client: Client, scope: Scope) -> None:
    await headwater.on_behalf_of("admin@example.com").delete_sources(scope, ["a"], request_id="r1")

    run = temporal_client.get_workflow_handle(request_workflow_id("DeleteSources", scope, "r1"))
    (started,) = [event async for event in run.fetch_history_events(page_size=1) if event.event_id == 1]
    (payload,) = started.workflow_execution_started_event_attributes.input.payloads
    (said,) = await temporal_client.data_converter.decode([payload])
    assert said == {
        "scope": scope.model_dump(),
        "requested_by": "admin@example.com",
        "request_id": "r1",
        "source_ids": ["a"],
    }


async def test_a_client_is_of_one_server(temporal_client: Client) -> None:
    for wrong in ({}, {"temporal_address": "a:1", "client": temporal_client}):
        with pytest.raises(ValidationError, match="either temporal_address or client"):
            await HeadwaterClient.connect(None, **wrong)  # type: ignore[arg-type]  # what hosts may do at run time
    with pytest.raises(ValidationError, match="leave them out"):
        await HeadwaterClient.connect(None, client=temporal_client, namespace="mine")
    with pytest.raises(TransientError, match=r"Temporal at 127\.0\.0\.1:1 does not answer"):
        await HeadwaterClient.connect(None, "127.0.0.1:1")
    client = await HeadwaterClient.connect(None, client=temporal_client)
    with pytest.raises(ValidationError, match="without a dsn"):
        await client.stage(Scope(tenant_id="t", resource_id="r", corpus_id="c"), "text/plain", b"")


async def test_a_namespace_that_is_not_there_is_named(temporal_server: str, scope: Scope) -> None:
    client = await HeadwaterClient.connect(None, temporal_server, namespace="nowhere")
    with pytest.raises(PermanentError, match="nowhere"):
        await client.delete_sources(scope, ["a"], request_id="r1")


async def test_ids_are_those_of_the_contract(scope: Scope) -> None:
    assert sync_workflow_id(scope, "shelf") == f"sync:{scope}:shelf"


async def test_a_client_does_not_show_its_password(temporal_client: Client) -> None:
    client = await HeadwaterClient.connect("postgresql://me:hidden@127.0.0.1/db", client=temporal_client)
    assert "hidden" not in repr(client)
