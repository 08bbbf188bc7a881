"""The words of a corpus: written with its passages, and given to a corpus that has none by a re-index that embeds nothing."""

import numpy as np
from pgvector import SparseVector

from activities.store import Store
from activities.store.lexicon.passage import passage_terms, tiers, weights
from headwater.contracts.reindex import ReindexProgress
from tests.integration.counts import miscounted
from tests.integration.staging_factory import tsvector_literal
from tests.pipeline.editions import CHUNKING, DOCUMENTS, PARTS, write_edition
from tests.pipeline.harness import Pipeline, Shelf
from tests.pipeline.reindexing import count, start_reindex


def lexicons(store: Store) -> list[tuple[str, str | None]]:
    """State and lexicon of each build."""
    with store.connection() as connection:
        return connection.execute("SELECT state, lexicon FROM headwater.build ORDER BY build_id").fetchall()


def written_otherwise(store: Store) -> int:
    """Passages of the live build whose words are not those of their text, by its own rule and measure."""
    with store.connection() as connection:
        rows = connection.execute(
            "SELECT c.body, c.tsv::text, c.bm, c.tiers, split_part(b.lexicon, ':', 2), b.avgdl FROM headwater.build b"
            " JOIN headwater.revision r USING (build_id) JOIN headwater.chunk c ON c.rev_id = r.rev_id WHERE b.state = 'live'"
        ).fetchall()
        assert len(rows) == DOCUMENTS * PARTS
        read = "SELECT %s::tsvector::text"
        return sum(
            connection.execute(read, (tsvector_literal(body, language),)).fetchone() != (tsv,)
            or not _are_equal(halves := weights(passage_terms(body, language), average), bm)
            or tiers(halves) != listed
            for body, tsv, bm, listed, language, average in rows
        )


def _are_equal(one: SparseVector, other: SparseVector) -> bool:
    return one.indices() == other.indices() and np.allclose(one.values(), other.values(), rtol=1e-6)


async def test_a_corpus_without_words_gets_them_and_nothing_is_embedded(
    pipeline: Pipeline, store: Store, shelf: Shelf
) -> None:
    write_edition(shelf, 1)
    pipeline.register(shelf, chunking=CHUNKING)
    with store.connection() as connection:  # as one that was made before there were any
        connection.execute("UPDATE headwater.build SET lexicon = NULL")
    await pipeline.sync(shelf)
    assert count(store, "chunk", "tsv IS NULL AND bm IS NULL") == count(store, "chunk") > 0

    handle = await start_reindex(pipeline, chunker=CHUNKING.fingerprint, language="German")
    told = await handle.result()
    assert (told.embedded_chunks, told.reused_chunks) == (0, DOCUMENTS * PARTS)
    progress: ReindexProgress = await handle.query("progress", result_type=ReindexProgress)
    assert (progress.embedded_chunks, progress.reused_chunks) == (0, DOCUMENTS * PARTS)
    assert lexicons(store) == [("retired", None), ("live", "words-2:german")]
    assert written_otherwise(store) == 0
    assert count(store, "build", f"state = 'live' AND n_counted = {DOCUMENTS * PARTS}") == 1  # before it was shown

    again = await (await start_reindex(pipeline, chunker=CHUNKING.fingerprint)).result()
    assert again.generation == told.generation  # the language stays as the corpus has it
    assert (again.embedded_chunks, again.reused_chunks) == (0, 0)

    await (await start_reindex(pipeline)).result()  # in the space of the workers, which write English
    assert lexicons(store)[-1] == ("live", "words-2:german")


async def test_words_are_written_with_the_passages(pipeline: Pipeline, store: Store, shelf: Shelf) -> None:
    write_edition(shelf, 1)
    pipeline.register(shelf, chunking=CHUNKING)
    await pipeline.sync(shelf)
    assert written_otherwise(store) == 0
    assert count(store, "build", f"n_counted = {DOCUMENTS * PARTS}") == 1 and miscounted(store) == []
