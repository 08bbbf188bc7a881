"""A corpus that has outgrown the shared partition gets one of its own, by copying and without embedding anything."""

from typing import Final

from temporalio.client import Client

from activities.store import Store
from activities.store.builds import slabs
from activities.store.builds.builds import outgrown
from tests.pipeline.editions import CHUNKING, DOCUMENTS, PARTS, parts_of, write_edition
from tests.pipeline.harness import SCOPE, SPEC, Shelf, running_pipeline
from tests.pipeline.reindexing import answers, builds, count, reindex
from workers.options import WorkerOptions

LARGE: Final = DOCUMENTS * PARTS
OPTIONS: Final = WorkerOptions(max_document_bytes=1 << 20, partition_chunks=LARGE)


async def test_a_corpus_that_has_outgrown_the_shared_partition_is_moved(
    store: Store, database: str, temporal_client: Client, shelf: Shelf
) -> None:
    write_edition(shelf, 1)
    question = parts_of(7, 1)[3]
    async with running_pipeline(store, temporal_client, options=OPTIONS) as pipeline:
        pipeline.register(shelf, chunking=CHUNKING)
        await pipeline.sync(shelf)
        before, found = pipeline.visible(), answers(database, question, spec=SPEC)
        assert outgrown(store, large_chunks=LARGE + 1) == []
        assert outgrown(store, large_chunks=LARGE) == [SCOPE]
        assert outgrown(store, large_chunks=LARGE, tenants=["t2"]) == []
        result = await reindex(pipeline, promote=True)
        assert (result.sources, result.chunks) == (DOCUMENTS, LARGE)
        assert outgrown(store, large_chunks=LARGE) == []
        assert pipeline.visible() == before
        assert [(state, slab) for _, state, slab in builds(store)] == [("retired", 0), ("live", 1)]
        assert count(store, "chunk_s1") == count(store, "chunk_s1", "num_nulls(tsv, bm, tiers) = 0") == LARGE
        assert count(store, "chunk_s1", "tiers <> '{}'") == count(store, "chunk", "slab = 0 AND tiers <> '{}'") > 0
        assert count(store, "chunk_s1", "tsv @@ 'document'") == count(store, "chunk", "slab = 0 AND tsv @@ 'document'")
        assert slabs.is_indexed(store, 1)
        assert answers(database, question, spec=SPEC) == found
        assert await reindex(pipeline, promote=True) == result
        # What is published from here on goes into the corpus's own partition, and into its index.
        shelf.write("99.txt", "A document that nobody had heard of.")
        await pipeline.sync(shelf)
        assert count(store, "chunk_s1") == LARGE + 1
        # A re-index of a large corpus makes another partition, and indexes it too.
        await reindex(pipeline, embedder="hash:128", chunker=CHUNKING.fingerprint)
        assert [(state, slab) for _, state, slab in builds(store)][2:] == [("live", 2)]
        assert slabs.is_indexed(store, 2)
    with store.connection() as connection, connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL ROLE headwater_reader")
        seen = connection.execute("SELECT count(*) FROM headwater.chunk WHERE slab = 2").fetchone()
    assert seen == (LARGE + 1,)
