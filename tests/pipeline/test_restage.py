"""A page that was staged for the build readers saw then, and is published after the flip to another one."""

from typing import Final

from activities.store import Store
from tests.pipeline.editions import CHUNKING, DOCUMENTS, parts_of, write_edition
from tests.pipeline.harness import Pipeline, Shelf
from tests.pipeline.reindexing import reindex
from tests.pipeline.stops import Place, stopping_at

# The batch of the page of a sync is about to be done; those of a re-index are larger.
BEFORE_PUBLISHING: Final = Place("UPDATE", "batch", "NEW.is_done AND cardinality(NEW.rev_ids) < 10")


async def test_a_sync_that_a_flip_overtakes_publishes_into_the_new_build(
    pipeline: Pipeline, store: Store, database: str, shelf: Shelf
) -> None:
    write_edition(shelf, 1)
    pipeline.register(shelf, chunking=CHUNKING)
    await pipeline.sync(shelf)
    shelf.write("00.txt", "\n\n".join(parts_of(0, 2)))
    (shelf.root / "01.txt").unlink()
    async with stopping_at(BEFORE_PUBLISHING, database) as stop:
        handle = await pipeline.start(shelf)
        await stop.reached()
        flipped = await reindex(pipeline, embedder="hash:128", chunker="chars:400/0")
        await stop.let_go()
        result = await handle.result()
    assert (result.upserted, result.deleted, result.generation) == (1, 1, flipped.generation + 1)
    seen = pipeline.visible()
    assert len(seen) == DOCUMENTS - 1
    assert seen[shelf.id_of("00.txt")].startswith(parts_of(0, 2)[0])
    again = await pipeline.sync(shelf)
    assert (again.skipped, again.upserted) == (DOCUMENTS - 1, 0)
