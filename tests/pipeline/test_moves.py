"""Moves as hosts ask for them: workflows by name and JSON, on a real store, with a handler of the host's own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.contracts.deletion import Handler
from activities.store import Store
from headwater.models import Scope
from headwater.workflow_ids import TASK_QUEUE, request_workflow_id
from tests.integration.asked import grant
from tests.integration.moving import ALICES, audits, hosts, many_rows, parents_of
from tests.integration.seen import of_schema, seen, table
from tests.integration.staging_factory import Corpus, Document, make_corpus
from tests.integration.waiting import is_blocked, until
from tests.pipeline.harness import Pipeline, running_pipeline
from workers.options import WorkerOptions

WIKI = Handler(kind="wiki", task_queue="renaming-wiki", activity="rename_wiki_pages")
OPTIONS = WorkerOptions(max_document_bytes=1 << 20, service_principals={("acme", "mover")}, repoint_handlers=[WIKI])
ALICE, MOVER = ({"principal_id": name, "tenant_id": "acme"} for name in ("alice", "mover"))


class Wiki:
    """A host's own records, which name sources."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    @activity.defn(name="rename_wiki_pages")
    async def rename(self, told: dict[str, Any]) -> int:
        self.told.append((told["from"], told["to"]))
        return 1


@pytest.fixture
async def wiki(temporal_client: Client) -> AsyncIterator[Wiki]:
    wiki = Wiki()
    async with Worker(temporal_client, task_queue=WIKI.task_queue, activities=[wiki.rename]):
        yield wiki


@pytest.fixture
async def running(store: Store, temporal_client: Client) -> AsyncIterator[Pipeline]:
    async with running_pipeline(store, temporal_client, options=OPTIONS) as pipeline:
        yield pipeline


@pytest.fixture
def corpus(store: Store) -> Corpus:
    corpus = make_corpus(store)
    for name in "abc":
        hosts(store, corpus, Document(f"doc:{name}", [f"text {name}"], grants=ALICES))
    many_rows(store, corpus, [f"new:{name}" for name in "abc"])
    return corpus


async def start(pipeline: Pipeline, workflow: str, request_id: str, **fields: Any) -> Any:
    scope = Scope.parse("acme/library/handbook")
    return await pipeline.client.start_workflow(
        workflow,
        {"scope": scope.model_dump(), "request_id": request_id, "authorization": ALICE, **fields},
        id=request_workflow_id(workflow, scope, request_id),
        task_queue=TASK_QUEUE,
    )


async def ask(pipeline: Pipeline, workflow: str, request_id: str, **fields: Any) -> Any:
    return await (await start(pipeline, workflow, request_id, **fields)).result()


async def failure(pipeline: Pipeline, workflow: str, request_id: str, **fields: Any) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await ask(pipeline, workflow, request_id, **fields)
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


async def test_a_source_is_moved_by_json_in_pages(running: Pipeline, store: Store, corpus: Corpus, wiki: Wiki) -> None:
    hosts(store, corpus, *(Document(each, lineage=["doc:a"]) for each in ("x", "y", "z")))
    pair = {"from": "doc:a", "to": "new:a"}
    first = await ask(running, "RepointSource", "m1", **pair, page_size=2)
    cursor = first.pop("cursor")
    assert first == {
        **pair, "moved_sources": 1, "moved_chunks": 1, "rewritten_edges": 2, "layers": {"wiki": 1}, "batched": True,
    }  # fmt: skip
    assert await ask(running, "RepointSource", "m1", **pair, page_size=2) == {**first, "cursor": cursor}
    second = await ask(running, "RepointSource", "m2", **pair, cursor=cursor)
    assert (second["moved_sources"], second["rewritten_edges"], second["cursor"]) == (0, 1, None)
    third = await ask(running, "RepointSource", "m3", **pair, cursor=cursor)
    assert (third["rewritten_edges"], third["layers"]) == (0, {})
    assert wiki.told == [("doc:a", "new:a")] * 2, "not for a cursor that finds nothing"
    assert set(seen(store, corpus, "alice")) == {"doc:b", "doc:c", "new:a"} and parents_of(store, "z") == ["new:a"]
    assert [(each["from"], each["moved_chunks"], each["rewritten_edges"]) for each in audits(store)] == [
        ("doc:a", 1, 3)
    ]


async def test_a_move_of_what_only_a_host_knows_reaches_its_handler(
    running: Pipeline, store: Store, corpus: Corpus, wiki: Wiki
) -> None:
    moved = await ask(running, "RepointSource", "m1", **{"from": "page:a", "to": "page:b", "authorization": MOVER})
    assert (moved["moved_sources"], moved["moved_chunks"], moved["layers"]) == (0, 0, {"wiki": 1})


async def test_what_is_refused_is_audited_and_writes_nothing(running: Pipeline, store: Store, corpus: Corpus) -> None:
    before = table(store, "source")
    grant(store, corpus, "new:a", 2, principal_ids=("bob",))
    refused = await failure(running, "RepointSource", "m1", **{"from": "doc:a", "to": "new:a"})
    assert refused.type == "AccessError" and "alice has no grant for new:a" in refused.message
    hosts(store, corpus, Document("x", lineage=["doc:b"]))
    pair = {"from": "doc:b", "to": "new:b", "authorization": MOVER}
    assert (await failure(running, "RepointSource", "m2", **pair, max_records=1)).type == "LimitError"
    assert [(each["from"], each["code"]) for each in audits(store, "repoint_failed")] == [
        ("doc:a", "ERR_HEADWATER_ACCESS"),
        ("doc:b", "ERR_HEADWATER_LIMIT"),
    ]
    names = {row["source_pk"]: row["source_id"] for row in table(store, "source")}
    assert all(names[row["source_pk"]] == row["source_id"] for row in before)


async def test_of_three_pairs_the_middle_one_fails(running: Pipeline, store: Store, corpus: Corpus, wiki: Wiki) -> None:
    grant(store, corpus, "new:b", 2, principal_ids=("bob",))
    renames = [{"from": f"doc:{name}", "to": f"new:{name}"} for name in "abc"]
    refused = await failure(running, "RenameSources", "r1", renames=renames)
    assert refused.type == "AccessError"
    assert set(seen(store, corpus)) == {"new:a", "doc:b", "doc:c"}
    assert [each["from"] for each in audits(store)] == ["doc:a"]
    assert [each["from"] for each in audits(store, "repoint_failed")] == ["doc:b"]
    grant(store, corpus, "new:b", 3, principal_ids=("alice",))
    answer = await ask(running, "RenameSources", "r1", renames=renames)  # the same request goes on
    assert [each["moved_sources"] for each in answer["results"]] == [1, 1, 1] and not answer["failures"]
    assert sorted(each["from"] for each in audits(store)) == ["doc:a", "doc:b", "doc:c"]
    assert set(seen(store, corpus, "alice")) == {"new:a", "new:b", "new:c"}


async def test_a_prefix_is_renamed_by_json_and_goes_on_past_what_it_cannot_move(
    running: Pipeline, store: Store, corpus: Corpus, wiki: Wiki
) -> None:
    hosts(store, corpus, Document("new:b", ["theirs"]))
    answer = await ask(running, "RenameSources", "r1", prefix={"from": "doc:", "to": "new:"}, continue_on_error=True)
    assert [(each["from"], each["moved_sources"]) for each in answer["results"]] == [("doc:", 2)]
    assert [(each["from"], each["to"], each["code"]) for each in answer["failures"]] == [
        ("doc:b", "new:b", "ERR_HEADWATER_PERMANENT")
    ]
    assert answer["failed"] == 1 and wiki.told == [("doc:", "new:")]
    assert [each["from"] for each in audits(store, "repoint_failed")] == ["doc:b"]


async def test_a_cancelled_move_is_done_wholly_or_not_and_the_same_request_completes_it(
    running: Pipeline, store: Store, corpus: Corpus, wiki: Wiki, database: str
) -> None:
    renames = [{"from": f"doc:{name}", "to": f"new:{name}"} for name in "abc"]
    with store.connection() as other, other.transaction():
        other.execute(of_schema(store, "SELECT FROM {schema}.scope FOR NO KEY UPDATE"), {})
        handle = await start(running, "RenameSources", "r1", renames=renames)
        await asyncio.to_thread(until, lambda: is_blocked(database))
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    answer = await ask(running, "RenameSources", "r1", renames=renames)
    assert [(each["from"], each["moved_sources"]) for each in answer["results"]] == [
        ("doc:a", 1), ("doc:b", 1), ("doc:c", 1),
    ]  # fmt: skip
    assert set(seen(store, corpus, "alice")) == {"new:a", "new:b", "new:c"}
    assert len(audits(store)) == 3 and not audits(store, "repoint_failed")
