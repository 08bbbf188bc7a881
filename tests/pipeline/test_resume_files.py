"""Files that change under a sync: it publishes what it read, and the next one reads what came since."""

import os

from activities.store import Store
from tests.pipeline.by_hand import ByHand, InlineParser
from tests.pipeline.harness import Shelf, register, states, visible


def test_a_file_deleted_between_listing_and_reading_is_no_failure(store: Store, shelf: Shelf) -> None:
    shelf.write("a.txt", "Alpha")
    shelf.write("b.txt", "Beta")
    register(store, shelf)
    hand = ByHand(store)
    hand.sync()
    shelf.write("a.txt", "Alpha, changed")
    shelf.write("c.txt", "Gamma")
    run = hand.begin(run="run-2").in_pass
    listed = hand.list_page(run)
    (shelf.root / "a.txt").unlink()
    (shelf.root / "c.txt").unlink()
    hand.prepare(run, listed.page_id)
    published = hand.publish(run, listed.page_id)
    assert (published.deleted, published.failed, published.failures) == (1, 0, [])
    assert visible(store) == {shelf.id_of("b.txt"): "Beta"}
    assert set(states(store)) == {shelf.id_of("b.txt")}


def test_a_file_replaced_between_listing_and_reading_is_published_as_it_is_now(store: Store, shelf: Shelf) -> None:
    shelf.write("a.txt", "Alpha")
    register(store, shelf)
    hand = ByHand(store)
    run = hand.begin().in_pass
    listed = hand.list_page(run)
    shelf.write("a.txt", "Alpha, replaced")
    hand.prepare(run, listed.page_id)
    hand.embed(run, listed.page_id)
    hand.publish(run, listed.page_id)
    assert visible(store) == {shelf.id_of("a.txt"): "Alpha, replaced"}


def test_a_file_replaced_while_it_is_read_is_read_by_the_next_sync(store: Store, shelf: Shelf) -> None:
    """The replacement has the very size and times of what it replaces, as a careful copy has."""
    file = shelf.write("a.txt", "Alpha one")
    os.utime(file, (1_000_000, 1_000_000))
    register(store, shelf)

    def replace(text: str) -> None:
        if text == "Alpha one":
            other = shelf.write("unfinished", "Alpha two")
            os.utime(other, (1_000_000, 1_000_000))
            other.rename(file)

    ByHand(store, parser=InlineParser(replace)).sync()
    assert visible(store) == {shelf.id_of("a.txt"): "Alpha one"}
    ByHand(store).sync(run="run-2")
    assert visible(store) == {shelf.id_of("a.txt"): "Alpha two"}
