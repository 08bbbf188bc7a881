"""A re-index from its beginning to the flip: readers stay where they are, and then see the same in another space."""

import asyncio
from collections.abc import Sequence
from typing import Final

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError

from activities.connectors import AccessRule
from activities.embed_batch import COMMIT_CHUNKS
from activities.store import Store
from activities.store.generations import pin, set_generation
from headwater.contracts.reindex import ReindexProgress
from tests.pipeline import stops
from tests.pipeline.editions import CHUNKING, DOCUMENTS, PARTS, parts_of, write_edition
from tests.pipeline.harness import SCOPE, SPEC, Pipeline, Shelf, running_pipeline
from tests.pipeline.heard_embedder import HeardEmbedder
from tests.pipeline.reindexing import answers, builds, count, reindex, start_reindex
from tests.pipeline.stops import stopping_at

OTHER: Final = "hash:128"
SAME_CUTS: Final = CHUNKING.fingerprint


async def cause_of(handle: WorkflowHandle[object, object]) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


async def test_readers_see_the_same_in_another_space(
    pipeline: Pipeline, store: Store, database: str, shelf: Shelf
) -> None:
    write_edition(shelf, 1)
    pipeline.register(shelf, chunking=CHUNKING)
    synced = await pipeline.sync(shelf)
    before, question = pipeline.visible(), parts_of(7, 1)[3]
    found = answers(database, question, spec=SPEC)
    result = await reindex(pipeline, embedder=OTHER)  # the chunker stays as the corpus has it
    assert (result.sources, result.chunks, result.failed) == (DOCUMENTS, DOCUMENTS * PARTS, 0)
    assert result.generation == synced.generation + 1
    assert pipeline.visible() == before
    assert answers(database, question, spec=OTHER)[0] == found[0]
    assert [(state, slab) for _, state, slab in builds(store)] == [("retired", 0), ("live", 0)]
    assert count(store, "page", "kind = 'reindex'") == 0
    assert (result.embedded_chunks, result.reused_chunks) == (DOCUMENTS * PARTS, 0)
    nothing = result.model_copy(update={"embedded_chunks": 0})  # there is nothing to do any more
    assert await reindex(pipeline, embedder=OTHER, chunker=SAME_CUTS) == nothing
    again = await pipeline.sync(shelf)
    assert (again.skipped, again.upserted, again.embedded_chunks) == (DOCUMENTS, 0, 0)
    set_generation(store, SCOPE, synced.generation)
    assert pipeline.visible() == before
    assert answers(database, question, spec=SPEC) == found
    assert [state for _, state, _ in builds(store)] == ["live", "retired"]


async def test_a_chunker_alone_leaves_the_embedder_as_the_corpus_has_it(
    pipeline: Pipeline, database: str, shelf: Shelf
) -> None:
    shelf.write("a.txt", "First things. Second ones.")
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    assert (await reindex(pipeline, chunker="chars:16/0")).chunks == 2
    assert answers(database, "another", spec=SPEC)


async def test_what_changes_meanwhile_is_in_the_new_build_too(
    pipeline: Pipeline, store: Store, database: str, shelf: Shelf
) -> None:
    write_edition(shelf, 1)
    pipeline.register(shelf, chunking=CHUNKING)
    await pipeline.sync(shelf)
    async with stopping_at(stops.MID_BATCH, database) as stop:
        handle = await start_reindex(pipeline, embedder=OTHER, chunker=SAME_CUTS)
        await stop.reached()
        shelf.write("00.txt", "\n\n".join(parts_of(0, 2)))
        shelf.write("99.txt", "A document that nobody had heard of.")
        (shelf.root / "01.txt").unlink()
        pipeline.register(shelf, access=AccessRule.from_grants(["user:only"]))
        changed = await pipeline.sync(shelf)
        assert (changed.upserted, changed.deleted) == (2, 1)
        seen = pipeline.visible()
        assert [state for _, state, _ in builds(store)] == ["live", "building"]
        await stop.let_go()
        result = await handle.result()
    assert result.sources == DOCUMENTS
    assert pipeline.visible() == seen
    assert shelf.id_of("01.txt") not in seen
    assert answers(database, parts_of(0, 2)[0], spec=OTHER) == []
    assert answers(database, parts_of(0, 2)[0], spec=OTHER, reader="only")[0][1] == parts_of(0, 2)[0]
    progress = await handle.query("progress", result_type=ReindexProgress)
    assert (progress.phase, progress.round, progress.embedded_chunks) == ("done", 2, DOCUMENTS * PARTS + PARTS + 1)


async def test_an_aborted_build_is_given_up_and_readers_stay(
    pipeline: Pipeline, store: Store, database: str, shelf: Shelf
) -> None:
    write_edition(shelf, 1)
    pipeline.register(shelf, chunking=CHUNKING)
    await pipeline.sync(shelf)
    before = pipeline.visible()
    async with stopping_at(stops.MID_BATCH, database) as stop:
        handle = await start_reindex(pipeline, embedder=OTHER, chunker=SAME_CUTS)
        await stop.reached()
        aborted = await handle.execute_update("abort", result_type=ReindexProgress)
        await stop.let_go()
    assert aborted.phase == "aborted"
    assert (await cause_of(handle)).type == "Aborted"
    assert pipeline.visible() == before
    assert [state for _, state, _ in builds(store)] == ["live", "dropping"]


async def test_a_pinned_corpus_is_not_flipped(pipeline: Pipeline, store: Store, database: str, shelf: Shelf) -> None:
    write_edition(shelf, 1)
    pipeline.register(shelf, chunking=CHUNKING)
    await pipeline.sync(shelf)
    async with stopping_at(stops.MID_BATCH, database) as stop:
        handle = await start_reindex(pipeline, embedder=OTHER, chunker=SAME_CUTS)
        await stop.reached()
        pin(store, SCOPE, pinned=True)
        await stop.let_go()
        refused = await cause_of(handle)
    assert (refused.type, "unpin" in refused.message) == ("BuildConflict", True)
    assert (await cause_of(await start_reindex(pipeline, embedder=OTHER))).type == "InvalidInput"
    pin(store, SCOPE, pinned=False)
    handle = await start_reindex(pipeline, embedder=OTHER, chunker=SAME_CUTS)
    assert (await handle.result()).sources == DOCUMENTS
    assert (await handle.query("progress", result_type=ReindexProgress)).embedded_chunks == 0  # all was there


async def test_a_document_that_cannot_be_embedded_anew_blocks_the_flip(
    store: Store, temporal_client: Client, shelf: Shelf
) -> None:
    bad = parts_of(3, 1)[2]
    refuses = True

    def heard(texts: Sequence[str]) -> None:
        if refuses and bad in texts:
            raise ValueError("not this one")

    def resolve(spec: str) -> HeardEmbedder:
        return HeardEmbedder(spec, heard if spec == OTHER else lambda texts: None)

    write_edition(shelf, 1)
    async with running_pipeline(store, temporal_client, resolve=resolve) as pipeline:
        pipeline.register(shelf, chunking=CHUNKING)
        await pipeline.sync(shelf)
        before = pipeline.visible()
        handle = await start_reindex(pipeline, embedder=OTHER, chunker=SAME_CUTS)
        refused = await cause_of(handle)
        assert refused.type == "BuildConflict"
        assert f"1 document cannot be carried over, so that readers stay where they are: {shelf.id_of('03.txt')}." in (
            refused.message
        )
        assert (await handle.query("progress", result_type=ReindexProgress)).failed == 1
        assert pipeline.visible() == before
        refuses = False
        result = await reindex(pipeline, embedder=OTHER, chunker=SAME_CUTS)
        assert (result.sources, pipeline.visible()) == (DOCUMENTS, before)


async def test_a_worker_that_stops_hands_over_and_nothing_is_embedded_twice(
    store: Store, temporal_client: Client, shelf: Shelf
) -> None:
    embedded: list[str] = []
    standing = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stand_until_shutdown(texts: Sequence[str]) -> None:
        if len(embedded) == COMMIT_CHUNKS + 4:
            loop.call_soon_threadsafe(standing.set)
            activity.wait_for_worker_shutdown_sync(30)
        embedded.extend(texts)

    write_edition(shelf, 1)
    async with running_pipeline(store, temporal_client) as pipeline:
        pipeline.register(shelf, chunking=CHUNKING)
        await pipeline.sync(shelf)
    async with running_pipeline(
        store, temporal_client, resolve=lambda spec: HeardEmbedder(spec, stand_until_shutdown)
    ) as old:
        handle = await start_reindex(old, embedder=OTHER, chunker=SAME_CUTS)
        await asyncio.wait_for(standing.wait(), 30)
    assert len(embedded) < DOCUMENTS * PARTS
    async with running_pipeline(store, temporal_client, resolve=lambda spec: HeardEmbedder(spec, embedded.extend)):
        result = await handle.result()
    assert result.sources == DOCUMENTS
    assert len(embedded) == len(set(embedded)) == DOCUMENTS * PARTS
