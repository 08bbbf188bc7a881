"""A worker dies and another one goes on: what was committed is not done again."""

from activities.contracts import EmbeddedBatch
from activities.embed_batch import COMMIT_CHUNKS
from activities.store import Store
from tests.pipeline.by_hand import ByHand, InlineParser
from tests.pipeline.dying_step import dies_at
from tests.pipeline.harness import Shelf, register, visible
from tests.pipeline.heard_embedder import HeardEmbedder


def test_what_is_staged_is_not_read_again(store: Store, database: str, shelf: Shelf) -> None:
    texts = [f"Document {number:02}" for number in range(20)]
    for text in texts:
        shelf.write(f"{text}.txt", text)
    register(store, shelf)
    run = ByHand(store).begin().in_pass
    listed = ByHand(store).list_page(run)
    assert dies_at("Document 10", "prepare", database, run, listed.page_id)
    read: list[str] = []
    ByHand(store, parser=InlineParser(read.append)).prepare(run, listed.page_id)
    assert sorted(read) == texts[8:]


def test_what_is_embedded_is_not_embedded_again(store: Store, database: str, shelf: Shelf) -> None:
    texts = [f"Passage {number:02} {'x' * number}." for number in range(80)]
    for number, text in enumerate(texts):
        shelf.write(f"{number:02}.txt", text)
    register(store, shelf)
    run = ByHand(store).begin().in_pass
    listed = ByHand(store).list_page(run)
    ByHand(store).prepare(run, listed.page_id)
    assert dies_at("Passage 50", "embed", database, run, listed.page_id)
    embedded: list[str] = []
    fresh = ByHand(store, resolve=lambda spec: HeardEmbedder(spec, embedded.extend))
    assert fresh.embed(run, listed.page_id) == EmbeddedBatch(embedded=80, reused=0)
    assert sorted(embedded) == texts[COMMIT_CHUNKS:]
    assert fresh.publish(run, listed.page_id).upserted == 80
    assert len(visible(store)) == 80


def test_what_a_failed_run_embedded_is_not_embedded_again(store: Store, shelf: Shelf) -> None:
    for number in range(5):
        shelf.write(f"{number}.txt", f"Document {number}")
    register(store, shelf)
    hand = ByHand(store)
    failed = hand.begin().in_pass
    hand.stage(failed)
    hand.end(failed, error="The folder is gone.")
    assert visible(store) == {}
    embedded: list[str] = []
    next_worker = ByHand(store, resolve=lambda spec: HeardEmbedder(spec, embedded.extend))
    assert [page.upserted for page in next_worker.sync(run="run-2")] == [5]
    assert embedded == []


def test_a_run_that_failed_before_the_checkpoint_moved_costs_no_embedding(store: Store, shelf: Shelf) -> None:
    for number in range(3):
        shelf.write(f"{number}.txt", f"Document {number}")
    register(store, shelf)
    failed = ByHand(store)
    run = failed.begin().in_pass
    failed.publish(run, failed.stage(run).page_id)
    failed.end(run, error="The checkpoint could not be saved.")
    assert cursor(store) is None
    embedded: list[str] = []
    published = ByHand(store, resolve=lambda spec: HeardEmbedder(spec, embedded.extend)).sync(run="run-2")
    assert [(page.upserted, page.failed) for page in published] == [(0, 0)]
    assert embedded == []
    assert cursor(store) is not None


def cursor(store: Store) -> str | None:
    """Where the next pass begins."""
    with store.connection() as connection:
        row = connection.execute("SELECT start_cursor FROM headwater.checkpoint").fetchone()
    assert row is not None
    start: str | None = row[0]
    return start


def test_a_listing_goes_on_after_the_last_recorded_page(store: Store, shelf: Shelf) -> None:
    for number in range(6):
        shelf.write(f"{number}.txt", f"Document {number}")
    register(store, shelf)
    run = ByHand(store).begin().in_pass
    first = ByHand(store).list_page(run, 1, page_size=2)
    (shelf.root / "0.txt").unlink()
    assert ByHand(store).list_page(run, 1, page_size=2) == first
    second = ByHand(store).list_page(run, 2, page_size=2)
    assert (second.page_id != first.page_id, second.items) == (True, 2)
