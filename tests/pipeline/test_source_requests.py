"""Granting, deleting and propagating as hosts ask for it: workflows by name and JSON, on a real store."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from activities.contracts.deletion import Handler
from activities.store import Store
from deploy.examples.deletion_handler import Wiki, worker
from headwater.models import Authorization, Scope
from headwater.workflow_ids import TASK_QUEUE, request_workflow_id
from tests.integration.asked import may_read, who
from tests.integration.hiding import derived, found
from tests.integration.seen import table
from tests.integration.staging_factory import Corpus, make_corpus, publish
from tests.pipeline.harness import Pipeline, running_pipeline
from workers.options import WorkerOptions

WIKI = Handler(kind="wiki", task_queue="my-wiki", activity="remove_wiki_pages")
OPTIONS = WorkerOptions(max_document_bytes=1 << 20, service_principals={("acme", "janitor")}, deletion_handlers=[WIKI])


@pytest.fixture
async def running(store: Store, temporal_client: Client) -> AsyncIterator[Pipeline]:
    async with running_pipeline(store, temporal_client, options=OPTIONS) as pipeline:
        yield pipeline


@pytest.fixture
def corpus(store: Store) -> Corpus:
    corpus = make_corpus(store)
    publish(store, corpus, derived("doc"), derived("summary", "doc"), derived("note"))
    return corpus


async def ask(pipeline: Pipeline, workflow: str, request_id: str, scope: Scope | None = None, **fields: Any) -> Any:
    """The workflow's answer, as JSON."""
    asked = scope or Scope.parse("acme/library/handbook")
    return await pipeline.client.execute_workflow(
        workflow,
        {"scope": asked.model_dump(), "request_id": request_id, "requested_by": "tests", **fields},
        id=request_workflow_id(workflow, asked, request_id),
        task_queue=TASK_QUEUE,
    )


async def refusal(pipeline: Pipeline, workflow: str, request_id: str, **fields: Any) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await ask(pipeline, workflow, request_id, **fields)
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


def as_json(by: Authorization) -> dict[str, Any]:
    return by.model_dump(mode="json")


async def test_grants_are_set_by_a_workflow(running: Pipeline, store: Store, corpus: Corpus, database: str) -> None:
    grants = [
        {"source_id": "doc", "principal_ids": ["bob"], "group_ids": [], "access_version": 9, "from_later": 1},
        {"source_id": "note", "principal_ids": [], "access_version": 1},
    ]
    answer = await ask(running, "SetSourceAccess", "g1", grants=grants)
    assert [(each["source_id"], each["outcome"], each["access_version"]) for each in answer["sources"]] == [
        ("doc", "set", 9),
        ("note", "conflict", 1),  # the sync that brought it granted it at version 1
    ]
    assert "doc" in found(database, corpus, who("bob")) and "doc" not in found(database, corpus, who("alice"))
    assert await ask(running, "SetSourceAccess", "g1", grants=grants) == answer
    changed = [{**grants[0], "principal_ids": ["eve"]}]
    refused = await refusal(running, "SetSourceAccess", "g1", grants=changed)
    assert refused.type == "InvalidInput" and "request_id g1 was used for another" in refused.message
    assert {row["actor"] for row in table(store, "audit") if row["action"] == "set_access"} == {"tests"}


async def test_sources_are_deleted_by_a_workflow(running: Pipeline, corpus: Corpus, database: str) -> None:
    answer = await ask(running, "DeleteSources", "d1", source_ids=["doc", "nothing"])
    assert [(each["source_id"], each["deleted"]) for each in answer["sources"]] == [("doc", True), ("nothing", False)]
    assert found(database, corpus, who("alice")) == {"summary", "note"}
    refused = await refusal(running, "DeleteSources", "d2", scope=Scope.parse("acme/no/where"), source_ids=["a"])
    assert refused.type == "ValidationError" and "acme/no/where does not exist" in refused.message


async def test_a_propagation_hides_removes_and_calls_the_hosts_own_handler(
    running: Pipeline, store: Store, corpus: Corpus, database: str, tmp_path: Path
) -> None:
    wiki = Wiki(tmp_path)
    for source_id in ("doc", "summary", "note"):
        wiki.page(source_id).write_text("a page")
    async with worker(running.client, wiki):
        request: dict[str, Any] = {"source_id": "doc", "authorization": as_json(who("alice"))}
        answer = await ask(running, "PropagateDeletion", "p1", **request)
        assert answer == {
            "source_id": "doc", "ids": ["doc", "summary"], "tombstoned": 2, "layers": {"rag": 2, "wiki": 2}, "batched": True,
        }  # fmt: skip
        assert await ask(running, "PropagateDeletion", "p1", **request) == answer
    assert found(database, corpus, who("alice")) == {"note"}
    assert os.listdir(tmp_path) == ["note.html"]
    assert len(table(store, "chunk")) == 1 and not may_read(store, corpus, "summary", who("alice"))


async def test_only_a_service_principal_propagates_what_was_revoked(
    running: Pipeline, store: Store, corpus: Corpus
) -> None:
    await ask(running, "SetSourceAccess", "g1", grants=[{"source_id": "doc", "principal_ids": [], "access_version": 9}])
    asked: dict[str, Any] = {"source_id": "doc", "reason": "legal_hold"}
    refused = await refusal(running, "PropagateDeletion", "p1", **asked, authorization=as_json(who("alice")))
    assert refused.type == "AccessError" and "alice has no grant for doc" in refused.message
    assert not table(store, "tombstone")
    async with worker(running.client, Wiki(Path("/nonexistent"))):
        answer = await ask(running, "PropagateDeletion", "p2", **asked, authorization=as_json(who("janitor")))
    assert answer["layers"] == {"rag": 0, "wiki": 0} and len(table(store, "chunk")) == 3
    (row,) = [row for row in table(store, "audit") if row["action"] == "propagate"]
    assert row["actor"] == "tests" and row["detail"]["as_service"] and row["detail"]["principal"] == "janitor"
