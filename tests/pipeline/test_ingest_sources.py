"""`IngestSources` on running workers: by name and JSON, at the same time, killed, and in what Temporal keeps of it."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.store import Store
from headwater.contracts import IngestSourcesResult
from headwater.models import Scope
from headwater.staged_content import stage_content
from headwater.workflow_ids import request_workflow_id
from tests.pipeline import leaks, stops
from tests.pipeline.harness import SCOPE, Pipeline, running_pipeline, visible
from tests.pipeline.heard_embedder import embedded_texts
from tests.pipeline.own_servers import OwnPostgres, OwnTemporal, own_postgres, own_temporal
from tests.pipeline.stops import stopping_at
from tests.pipeline.worker_process import WorkerProcess
from workers.options import WorkerOptions
from workflows import queues

OPTIONS: Final = WorkerOptions(max_document_bytes=1 << 20, embedder="hash:64", chunk_size=100, chunk_overlap=0)
_numbers = itertools.count(1)


@pytest.fixture
async def running(store: Store, temporal_client: Client) -> AsyncIterator[Pipeline]:
    async with running_pipeline(store, temporal_client, options=OPTIONS) as pipeline:
        yield pipeline


async def start(
    client: Client, *sources: dict[str, Any], request_id: str | None = None, scope: Scope = SCOPE
) -> WorkflowHandle[Any, IngestSourcesResult]:
    request_id = request_id or f"r{next(_numbers)}"
    handle: WorkflowHandle[Any, IngestSourcesResult] = await client.start_workflow(
        "IngestSources",
        {"scope": scope.model_dump(), "request_id": request_id, "sources": list(sources)},
        id=request_workflow_id("IngestSources", scope, request_id),
        task_queue=queues.CONTROL,
        result_type=IngestSourcesResult,
    )
    return handle


async def test_pushes_at_the_same_time_never_mix(running: Pipeline, store: Store) -> None:
    # Each makes the corpus, if the others have not; each writes both documents, of several passages.
    def document(writer: int) -> str:
        return "\n\n".join(f"Writer {writer} wrote passage {passage}. {'x' * 60}" for passage in range(4))

    handles = [
        await start(
            running.client,
            {"source_id": "a", "text": document(writer)},
            {"source_id": "b", "text": document(writer)},
            {"source_id": f"own-{writer}", "text": f"Of writer {writer}."},
        )
        for writer in range(5)
    ]
    results = await asyncio.gather(*(handle.result() for handle in handles))
    shown = visible(store)
    writers = {text.split()[1] for source_id in ("a", "b") for text in shown[source_id].split("\n--\n")}
    assert len(writers) == 1
    assert {source_id for source_id in shown if source_id.startswith("own-")} == {
        f"own-{number}" for number in range(5)
    }
    for result in results:
        a, b, own = result.sources
        assert own.state == "indexed"
        for each in (a, b):
            is_published = each.state == "indexed"
            assert is_published != (each.reason or "").startswith("superseded"), each
        assert a.state == b.state


SECRETS: Final = {
    "inline": "vellichor ibex",
    "staged": "snollygoster archive",
    "title": "borborygmus",
    "who": "wilhelmina",
}


async def test_what_a_host_sent_is_kept_where_it_was_sent_and_nowhere_else(running: Pipeline, store: Store) -> None:
    with store.connection() as connection:
        content = stage_content(connection, SECRETS["staged"].encode(), scope=SCOPE, media_type="text/plain")
    handle = await start(
        running.client,
        {"source_id": "a", "text": f"The {SECRETS['inline']} sleeps.", "title": SECRETS["title"]},
        {"source_id": "b", "staged": str(content.id), "grants": {"access_version": 1, "principal_ids": [SECRETS["who"]]}},
        {"source_id": "c", "text": "%PDF-1.4\n" + SECRETS["inline"]},
    )  # fmt: skip
    result = await handle.result()
    assert [each.state for each in result.sources] == ["indexed", "indexed", "failed"]
    assert visible(store) == {"a": f"The {SECRETS['inline']} sleeps.", "b": SECRETS["staged"]}

    told = {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: "",
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: "accept_ingest",
    }
    places: dict[str, set[str]] = {}
    history = await handle.fetch_history()
    for event in history.events:
        activity = event.activity_task_scheduled_event_attributes.activity_type.name
        is_told = told.get(event.event_type) == activity
        for name, secret in SECRETS.items():
            if leaks.found(list(leaks.forms_of_text(secret)), event.SerializeToString()):
                places.setdefault(name, set()).add("told" if is_told else EventType.Name(event.event_type) + activity)
    assert places == {"inline": {"told"}, "title": {"told"}, "who": {"told"}}, "staged content is in no history"
    with store.connection() as connection:
        vectors = [row[0].to_numpy() for row in connection.execute("SELECT emb FROM headwater.chunk")]
    kept = await leaks.kept(running.client, await handle.describe())
    assert len(vectors) == 2
    assert [form for vector in vectors for form in leaks.found(list(leaks.forms_of_vector(vector)), kept)] == []


@pytest.fixture(scope="module")
def own_pg() -> Iterator[OwnPostgres]:
    with own_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def own_engine() -> Iterator[OwnTemporal]:
    with own_temporal() as server:
        yield server


@pytest.mark.long
async def test_a_worker_that_is_killed_before_publishing_costs_no_embedding_and_publishes_once(
    own_pg: OwnPostgres, own_engine: OwnTemporal, tmp_path: Path
) -> None:
    dsn, journal = own_pg.new_database(), tmp_path / "journal"
    client = await Client.connect(own_engine.address, data_converter=pydantic_data_converter)
    sources = [{"source_id": f"s{number}", "text": f"The text of document {number}."} for number in range(40)]
    async with (
        WorkerProcess(dsn, own_engine.address, journal) as worker,
        stopping_at(stops.BEFORE_PUBLISHING, dsn) as stop,
    ):
        handle = await start(client, *sources)
        await stop.reached()
        worker.kill()
        with Store.open(dsn) as store:
            assert visible(store) == {}
        await stop.let_go()
        await worker.start()
        async with asyncio.timeout(120):
            result = await handle.result()
    assert [each.revision for each in result.sources] == [1] * 40
    assert set(embedded_texts(journal).values()) == {1}
    with Store.open(dsn) as store:
        assert len(visible(store)) == 40
        with store.connection() as connection:
            assert connection.execute("SELECT count(*) FROM headwater.pointer_log").fetchone() == (1,)
            assert connection.execute("SELECT count(*) FROM headwater.staged_content").fetchone() == (0,)
