"""Another chunker: what was embedded is not embedded again, and the cuts are those of a sync that reads the documents anew."""

from pathlib import Path
from typing import Any

from temporalio.client import Client

from activities.store import Store
from headwater.chunking.profile import ChunkingProfile
from headwater.contracts.reindex import ReindexProgress
from headwater.models import Scope
from tests.pipeline.editions import CHUNKING, parts_of
from tests.pipeline.harness import SCOPE, SPEC, Pipeline, Shelf, running_pipeline
from tests.pipeline.heard_embedder import HeardEmbedder
from tests.pipeline.reindexing import reindex, start_reindex
from tests.samples.make_documents import HANDBOOK

FRESH = Scope(tenant_id="t1", resource_id="docs", corpus_id="fresh")


async def test_another_chunker_embeds_only_what_is_new(store: Store, temporal_client: Client, shelf: Shelf) -> None:
    embedded: list[str] = []
    short, long = parts_of(1, 1)[0], " ".join(parts_of(2, 1))
    shelf.write("short.txt", short)
    shelf.write("long.txt", long)
    async with running_pipeline(
        store, temporal_client, resolve=lambda spec: HeardEmbedder(spec, embedded.extend)
    ) as pipeline:
        pipeline.register(shelf, chunking=CHUNKING)
        await pipeline.sync(shelf)
        before = set(embedded)
        embedded.clear()
        handle = await start_reindex(pipeline, embedder=SPEC, chunker="chars:400/0")
        await handle.result()
        progress = await handle.query("progress", result_type=ReindexProgress)
    assert before.isdisjoint(embedded)
    assert (progress.embedded_chunks, progress.reused_chunks) == (len(embedded), 1)
    assert embedded and max(map(len, embedded)) > CHUNKING.size


async def test_stored_texts_are_cut_as_a_sync_would_cut_the_documents(pipeline: Pipeline, store: Store) -> None:
    shelf, small = Shelf(HANDBOOK), ChunkingProfile(size=300, overlap=30)
    pipeline.register(shelf)
    pipeline.register(shelf, scope=FRESH, chunking=small)
    await pipeline.sync(shelf)
    await pipeline.sync(shelf, scope=FRESH)
    wanted = chunks(store, FRESH)
    assert {len(Path(source_id).suffix) > 0 for source_id, *_ in wanted} == {True}
    assert {key for *_, metadata in wanted for key in metadata} == {"heading", "page"}
    await reindex(pipeline, embedder=SPEC, chunker="chars:300/30")
    assert chunks(store, SCOPE) == wanted


async def test_texts_from_before_their_layout_was_kept_keep_headings_and_pages(
    pipeline: Pipeline, store: Store
) -> None:
    shelf = Shelf(HANDBOOK)
    pipeline.register(shelf)
    await pipeline.sync(shelf)
    before = chunks(store, SCOPE)
    with store.connection() as connection:
        connection.execute("UPDATE headwater.document_version SET is_markdown = NULL, headings = NULL")
    await reindex(pipeline, embedder="hash:128", chunker="chars")
    assert chunks(store, SCOPE) == before


def chunks(store: Store, scope: Scope) -> list[tuple[Any, ...]]:
    """What readers see of a corpus: source, number, place, hash and text of each chunk, and its headings and page."""
    sql = """
      SELECT s.source_id, c.chunk_no, c.start_cp, c.end_cp, c.input_sha256, c.body, c.metadata
        FROM headwater.scope sc
        JOIN headwater.span x ON x.build_id = sc.live_build AND x.gen_from <= sc.live_gen AND x.gen_to > sc.live_gen
        JOIN headwater.source s USING (source_pk)
        JOIN headwater.chunk c USING (rev_id)
       WHERE (sc.tenant_id, sc.resource_id, sc.corpus_id) = (%s, %s, %s) ORDER BY 1, 2"""
    with store.connection() as connection:
        return connection.execute(sql, (scope.tenant_id, scope.resource_id, scope.corpus_id)).fetchall()
