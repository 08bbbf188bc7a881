"""What a collector of OpenTelemetry spans hears of indexing: each replacement, its embedding, and nothing of a document."""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import pytest
from temporalio.client import Client

from activities.connectors.folder_read import version_of
from activities.embedder_source import EmbedderSource
from activities.store import Store
from headwater.contracts import IngestSourcesResult
from headwater.embedders import Embedder, resolve_embedder
from headwater.errors import TransientError
from tests.pipeline.collector import Collector, HeardSpan, collecting
from tests.pipeline.harness import SCOPE, Pipeline, Shelf
from tests.pipeline.heard_embedder import HeardEmbedder
from tests.pipeline.reindexing import reindex
from tests.pipeline.stops import Place, stopping_at
from workers.options import WorkerOptions
from workers.worker import running_workers
from workflows import queues

PLACE: Final = {"rag.tenant_id": "t1", "rag.resource_id": "docs", "rag.corpus_id": "handbook"}
POISON: Final = "Poison"
SECOND_IS_EMBEDDED: Final = Place("UPDATE", "batch", "NEW.is_done AND NEW.page_id = 2")  # and not published
LONG_AGO: Final = (
    1_000_000_000  # of a file that was just written nobody knows whether it is written again in the same moment
)
PUSHED: Final = {
    "source_id": "memo",
    "text": "The lease ends on a Tuesday.",
    "title": "A very private title",
    "uri": "https://intranet.example/private-uri",
    "metadata": {"owner": "a private owner"},
    "grants": {"everyone": True, "access_version": 1},
}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@asynccontextmanager
async def apart(
    store: Store,
    client: Client,
    collector: Collector,
    *,
    resolve: Callable[[str], Embedder] = resolve_embedder,
) -> AsyncIterator[Pipeline]:
    """Workers that embed in one process, as it were, and publish in another: each has telemetry of its own."""
    embedders = EmbedderSource(resolve)
    async with AsyncExitStack() as stack:
        for roles in (frozenset({"control", "io", "db"}), frozenset({"embed"})):
            options = WorkerOptions(max_document_bytes=1 << 20, roles=roles, otlp_endpoint=collector.url)
            await stack.enter_async_context(running_workers(client, store, options, embedders=embedders))
        yield Pipeline(store, client)


def knows_version(store: Store, source_id: str, version: str | None) -> None:
    """Whether the next listing passes a file over: of one that was just written nobody can tell, and it is read again."""
    with store.connection() as connection:
        known = "UPDATE headwater.ingestion n SET source_version = %s FROM headwater.source s WHERE (n.source_pk, s.source_id) = (s.source_pk, %s)"
        assert connection.execute(known, (version, source_id)).rowcount == 1


def numbers(span: HeardSpan, *keys: str) -> tuple[object, ...]:
    return tuple(span.told.get(f"rag.{key}") for key in keys)


async def test_a_replacement_is_a_root_and_its_embedding_its_child_whichever_process_does_it(
    store: Store, temporal_client: Client, shelf: Shelf, collector: Collector
) -> None:
    shelf.write("plan.txt", "The plan is to wait.")
    shelf.write("empty.txt", "")
    async with apart(store, temporal_client, collector) as pipeline:
        pipeline.register(shelf)
        result = await pipeline.sync(shelf)

    (root,), (child,) = collector.of(shelf.id_of("plan.txt"))
    assert root.parent_id == b"" and not root.is_error
    assert (child.trace_id, child.parent_id) == (root.trace_id, root.span_id)
    assert root.began_ns < child.began_ns <= child.ended_ns < root.ended_ns
    page = root.told["rag.page"]
    assert root.told == PLACE | {
        "rag.source_id": shelf.id_of("plan.txt"), "rag.cause": "sync", "rag.page": page, "rag.outcome": "published",
        "rag.skipped": 0, "rag.chunks": 1, "rag.generation": result.generation,
    }  # fmt: skip
    assert child.told == PLACE | {
        "rag.source_id": shelf.id_of("plan.txt"), "rag.page": page, "rag.batch": 0, "rag.embedded": 1, "rag.reused": 0,
    }  # fmt: skip
    (empty,), embedded = collector.of(shelf.id_of("empty.txt"))
    assert (numbers(empty, "outcome", "chunks"), embedded) == (("published", 0), [])
    assert empty.trace_id != root.trace_id
    assert not any(span.events for span in collector.spans)


async def test_what_is_skipped_opens_and_closes_without_a_child(
    store: Store, temporal_client: Client, shelf: Shelf, collector: Collector
) -> None:
    files = [shelf.write(name, f"This is {name}.") for name in ("a.txt", "b.txt", "c.txt")]
    async with apart(store, temporal_client, collector) as pipeline:
        pipeline.register(shelf)
        await pipeline.sync(shelf)
        knows_version(store, shelf.id_of("a.txt"), version_of(files[0].stat()))
        for name in ("b.txt", "c.txt"):
            knows_version(store, shelf.id_of(name), None)
        assert (await pipeline.sync(shelf)).skipped == 3

    (together,) = [span for span in collector.named("rag_index") if "rag.source_id" not in span.told]
    assert together.told == PLACE | {
        "rag.cause": "sync", "rag.page": 2, "rag.outcome": "unchanged", "rag.skipped": 1,
    }, "what is passed over by its version was never begun on: it is counted"  # fmt: skip
    for name in ("b.txt", "c.txt"):
        (published, skipped), (embedded,) = collector.of(shelf.id_of(name))
        assert numbers(skipped, "outcome", "skipped", "chunks") == ("unchanged", 1, None)
        assert skipped.began_ns == skipped.ended_ns and embedded.parent_id == published.span_id
    assert len(collector.named("embedding.index")) == 3


class Troubled:
    """Never takes one of the documents, and cannot be reached when it is first asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, spec: str) -> Embedder:
        return HeardEmbedder(spec, self._hear)

    def _hear(self, texts: Sequence[str]) -> None:
        self.calls += 1
        if self.calls == 1:
            raise TransientError(f"away: {texts}")
        if any(POISON in text for text in texts):
            raise ValueError(f"cannot embed {texts}")


async def test_what_fails_is_flagged_by_its_kind_and_what_was_only_tried_again_is_published(
    store: Store, temporal_client: Client, shelf: Shelf, collector: Collector
) -> None:
    shelf.write("good.txt", "All is well.")
    shelf.write("bad.txt", POISON)
    shelf.write("odd.bin", b"\x00\xff\x00\xff")
    async with apart(store, temporal_client, collector, resolve=Troubled()) as pipeline:
        pipeline.register(shelf)
        assert (await pipeline.sync(shelf)).failed == 2

    (good,), tries = collector.of(shelf.id_of("good.txt"))
    assert (good.is_error, numbers(good, "outcome")) == (False, ("published",))
    assert [(each.is_error, *numbers(each, "error", "embedded")) for each in tries] == [
        (True, "ERR_HEADWATER_TRANSIENT", 0), (False, None, 1),
    ]  # fmt: skip
    (bad,), tries = collector.of(shelf.id_of("bad.txt"))
    assert (bad.is_error, numbers(bad, "outcome", "error")) == (True, ("failed", "quarantined"))
    assert [numbers(each, "error") for each in tries] == [("ERR_HEADWATER_TRANSIENT",), ("ValueError",)]
    assert {each.parent_id for each in tries} == {bad.span_id}
    (odd,), tries = collector.of(shelf.id_of("odd.bin"))
    assert (odd.is_error, numbers(odd, "error"), tries) == (True, ("unsupported",), [])
    assert POISON.encode() not in b"".join(collector.sent)


async def test_what_is_pushed_and_what_is_built_anew_is_told_and_nothing_of_the_document(
    store: Store, temporal_client: Client, collector: Collector
) -> None:
    async with apart(store, temporal_client, collector) as pipeline:
        pushed = await temporal_client.execute_workflow(
            "IngestSources",
            {"scope": SCOPE.model_dump(), "request_id": "first", "sources": [PUSHED]},
            id="push",
            task_queue=queues.CONTROL,
            result_type=IngestSourcesResult,
        )
        rebuilt = await reindex(pipeline, embedder="hash:32")

    assert (pushed.sources[0].indexed, rebuilt.sources) == (1, 1)
    roots, children = collector.of("memo")
    assert [numbers(each, "cause", "outcome", "chunks", "generation") for each in roots] == [
        ("ingest", "published", 1, pushed.generation), ("reindex", "published", 1, None),
    ]  # fmt: skip
    assert [each.parent_id for each in children] == [each.span_id for each in roots]
    assert all(root.began_ns <= child.began_ns for root, child in zip(roots, children, strict=True))
    told = b"".join(collector.sent)
    digest = hashlib.sha256(str(PUSHED["text"]).encode())
    hidden = [b"Tuesday", b"private", b"intranet", digest.digest(), digest.hexdigest().encode()]
    assert [each for each in hidden if each in told] == []
    assert b"memo" in told


async def test_a_page_that_is_staged_again_for_another_build_is_one_replacement(
    store: Store, temporal_client: Client, database: str, shelf: Shelf, collector: Collector
) -> None:
    shelf.write("plan.txt", "The plan is to wait.")
    async with apart(store, temporal_client, collector) as pipeline:
        pipeline.register(shelf)
        await pipeline.sync(shelf)
        shelf.write("plan.txt", "The plan is to hurry.")
        async with stopping_at(SECOND_IS_EMBEDDED, database) as stop:
            handle = await pipeline.start(shelf)
            await stop.reached()
            await reindex(pipeline, embedder="hash:32")
            await stop.let_go()
            assert (await handle.result()).upserted == 1

    roots, children = collector.of(shelf.id_of("plan.txt"))
    assert [numbers(each, "cause", "outcome") for each in roots] == [
        ("sync", "published"), ("reindex", "published"), ("sync", "published"),
    ]  # fmt: skip
    assert [each.span_id for each in roots].count(children[-1].parent_id) == 1
    assert sorted(each.parent_id for each in children) == sorted([*(each.span_id for each in roots), roots[2].span_id])
    assert all(each.began_ns >= roots[2].began_ns for each in children if each.parent_id == roots[2].span_id)
