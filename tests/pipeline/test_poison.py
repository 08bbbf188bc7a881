"""A document that ends the worker, or that the embedder cannot take, costs itself and nothing else."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from activities.contracts import Pass, PublishedPage
from activities.prepare_page import ATTEMPTS, IN_FLIGHT
from activities.store import Store
from headwater.embedders.hashing import HashEmbedder
from headwater.errors import TransientError
from tests.pipeline.by_hand import ByHand, InlineParser, refusal
from tests.pipeline.dying_step import dies_at
from tests.pipeline.harness import Shelf, register, states, visible
from tests.pipeline.heard_embedder import HeardEmbedder

POISON = "Poison"


def stage_and_publish(hand: ByHand, run: Pass, page_id: int) -> PublishedPage:
    for batch_no in range(hand.prepare(run, page_id).batches):
        hand.embed(run, page_id, batch_no)
    return hand.publish(run, page_id)


def attempts(store: Store) -> dict[str, tuple[int, bool]]:
    """Of each document of the page, how often it was tried, and whether it is now tried by itself."""
    with store.connection() as connection:
        rows = connection.execute("SELECT path, attempts, alone FROM headwater.page_item").fetchall()
    return {path: (count, alone) for path, count, alone in rows}


def test_a_document_that_kills_the_worker_alone_is_given_up_after_three_attempts(
    store: Store, database: str, shelf: Shelf
) -> None:
    for number in range(IN_FLIGHT):
        shelf.write(f"{number}.txt", f"Document {number}")
    shelf.write("9.txt", POISON)
    register(store, shelf)
    hand = ByHand(store)
    run = hand.begin().in_pass
    page_id = hand.list_page(run).page_id
    for death in range(1, ATTEMPTS + 1):
        assert dies_at(POISON, "prepare", database, run, page_id)
        assert attempts(store)["9.txt"] == (death, False)
    assert not dies_at(POISON, "prepare", database, run, page_id)
    published = stage_and_publish(hand, run, page_id)
    assert (published.upserted, published.failed) == (IN_FLIGHT, 1)
    state, reason = states(store)[shelf.id_of("9.txt")]
    assert (state, reason) == (
        "quarantined", "Reading it ended the worker 3 times; it is tried again when its version changes.",
    )  # fmt: skip
    assert len(visible(store)) == IN_FLIGHT


@pytest.mark.long
def test_of_several_in_flight_none_is_blamed_and_each_is_then_tried_alone(
    store: Store, database: str, shelf: Shelf
) -> None:
    for name in ("a", "b", "d", "e"):
        shelf.write(f"{name}.txt", f"Document {name}")
    shelf.write("c.txt", POISON)
    register(store, shelf)
    hand = ByHand(store)
    run = hand.begin().in_pass
    page_id = hand.list_page(run).page_id
    assert dies_at(POISON, "prepare", database, run, page_id)
    assert dies_at(POISON, "prepare", database, run, page_id)
    assert attempts(store) == {
        "a.txt": (1, True), "b.txt": (1, True), "c.txt": (1, True), "d.txt": (0, True), "e.txt": (0, True)
    }  # fmt: skip
    assert dies_at(POISON, "prepare", database, run, page_id)
    assert dies_at(POISON, "prepare", database, run, page_id)
    published = stage_and_publish(hand, run, page_id)
    assert (published.upserted, published.failed) == (4, 1)
    assert [(failure.source_id, failure.state) for failure in published.failures] == [
        (shelf.id_of("c.txt"), "quarantined")
    ]


@pytest.mark.long
def test_a_document_that_was_given_up_is_tried_again_when_it_changes_and_not_before(
    store: Store, database: str, shelf: Shelf
) -> None:
    shelf.write("a.txt", POISON)
    register(store, shelf)
    hand = ByHand(store)
    run = hand.begin().in_pass
    listed = hand.list_page(run)
    for _ in range(ATTEMPTS):
        assert dies_at(POISON, "prepare", database, run, listed.page_id)
    stage_and_publish(hand, run, listed.page_id)
    hand.advance(run, listed.page_id)
    assert hand.end(run).failed == 1
    read: list[str] = []
    again = ByHand(store, parser=InlineParser(read.append))
    again.sync(run="run-2")
    assert read == []
    shelf.write("a.txt", "Medicine")
    again.sync(run="run-3")
    assert read == ["Medicine"]
    assert states(store) == {shelf.id_of("a.txt"): ("indexed", None)}


@pytest.mark.long
def test_a_passage_that_kills_the_worker_inside_the_embedder_is_found_out_and_costs_its_document(
    store: Store, database: str, shelf: Shelf
) -> None:
    shelf_of_a_dozen(shelf)
    register(store, shelf)
    hand = ByHand(store)
    run = hand.begin().in_pass
    page_id = hand.list_page(run).page_id
    assert hand.prepare(run, page_id).batches == 1
    # The first death says that the batch kills, and the next three which passage does.
    for _ in range(1 + ATTEMPTS):
        assert dies_at(POISON, "embed", database, run, page_id)
    assert not dies_at(POISON, "embed", database, run, page_id)
    published = hand.publish(run, page_id)
    assert (published.upserted, published.failed) == (11, 1)
    state, reason = states(store)[shelf.id_of("06.txt")]
    assert (state, reason) == ("quarantined", "One of its passages ended the worker (Killer, 3 attempts).")


def test_a_careful_attempt_that_meets_an_outage_blames_nobody(store: Store, database: str, shelf: Shelf) -> None:
    shelf.write("a.txt", POISON)
    register(store, shelf)
    hand = ByHand(store)
    run = hand.begin().in_pass
    page_id = hand.list_page(run).page_id
    hand.prepare(run, page_id)
    assert dies_at(POISON, "embed", database, run, page_id)
    picky = Picky("hash:64", TransientError("The model is busy."))
    busy = ByHand(store, resolve=lambda spec: picky)
    for _ in range(ATTEMPTS + 1):
        assert refusal(lambda: busy.embed(run, page_id)) == ("TransientError", "The model is busy.")
    hand.embed(run, page_id)
    assert hand.publish(run, page_id).upserted == 1


def test_an_outage_while_reading_is_counted_against_nobody(store: Store, shelf: Shelf) -> None:
    def outage(_: str) -> None:
        raise TransientError("The disk is away.")

    shelf.write("a.txt", "Alpha")
    shelf.write("b.txt", "Beta")
    register(store, shelf)
    hand = ByHand(store, parser=InlineParser(outage))
    run = hand.begin().in_pass
    page_id = hand.list_page(run).page_id
    for _ in range(ATTEMPTS + 1):
        assert refusal(lambda: hand.prepare(run, page_id)) == ("TransientError", "The disk is away.")
    assert attempts(store) == {"a.txt": (0, False), "b.txt": (0, False)}
    assert stage_and_publish(ByHand(store), run, page_id).upserted == 2


class Picky(HeardEmbedder):
    """Fails texts that hold `POISON`, and remembers how often it was asked for one of them alone."""

    def __init__(self, spec: str, error: Exception) -> None:
        super().__init__(spec, self._refuse)
        self._error = error
        self.alone = 0

    def _refuse(self, texts: Sequence[str]) -> None:
        if any(POISON in text for text in texts):
            self.alone += len(texts) == 1
            raise self._error


class NotFinite(HashEmbedder):
    """Gives texts that hold `POISON` a vector with no direction."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = super().embed(texts)
        vectors[[POISON in text for text in texts]] = np.inf
        return vectors


def shelf_of_a_dozen(shelf: Shelf) -> None:
    """Twelve documents; the seventh has three passages, and the second of those is the bad one."""
    for number in range(12):
        shelf.write(f"{number:02}.txt", f"Document {number}")
    shelf.write("06.txt", "\n\n".join(["fine " * 150, "bad " * 90 + POISON + " bad" * 90, "good " * 150]))


def test_the_one_passage_that_cannot_be_embedded_is_found_and_costs_its_document(store: Store, shelf: Shelf) -> None:
    shelf_of_a_dozen(shelf)
    register(store, shelf)
    embedder = Picky("hash:64", ValueError(f"cannot embed {POISON}"))
    published = ByHand(store, resolve=lambda spec: embedder).sync()[0]
    assert (published.upserted, published.failed) == (11, 1)
    assert embedder.alone == ATTEMPTS
    state, reason = states(store)[shelf.id_of("06.txt")]
    assert (state, reason) == ("quarantined", "One of its passages cannot be embedded (ValueError, 3 attempts).")
    assert shelf.id_of("06.txt") not in visible(store)


def test_a_vector_that_is_not_finite_costs_its_document(store: Store, shelf: Shelf) -> None:
    shelf_of_a_dozen(shelf)
    register(store, shelf)
    published = ByHand(store, resolve=lambda spec: NotFinite(64)).sync()[0]
    assert (published.upserted, published.failed) == (11, 1)
    assert states(store)[shelf.id_of("06.txt")][0] == "quarantined"


def test_a_document_that_cannot_be_embedded_any_more_keeps_its_last_good_text(store: Store, shelf: Shelf) -> None:
    shelf.write("a.txt", "Alpha")
    register(store, shelf)
    ByHand(store).sync()
    shelf.write("a.txt", POISON)
    ByHand(store, resolve=lambda spec: NotFinite(64)).sync(run="run-2")
    assert visible(store) == {shelf.id_of("a.txt"): "Alpha"}
    assert states(store)[shelf.id_of("a.txt")][0] == "quarantined"


@pytest.mark.parametrize(
    ("error", "kind"), [(TransientError("The model is busy."), "TransientError"), (RuntimeError(POISON), "Unexpected")]
)
def test_an_embedder_that_fails_on_every_text_blames_no_document(
    store: Store, shelf: Shelf, error: Exception, kind: str
) -> None:
    def fail(_: Sequence[str]) -> None:
        raise error

    shelf_of_a_dozen(shelf)
    register(store, shelf)
    hand = ByHand(store, resolve=lambda spec: HeardEmbedder(spec, fail))
    run = hand.begin().in_pass
    page_id = hand.list_page(run).page_id
    hand.prepare(run, page_id)
    for _ in range(ATTEMPTS + 1):
        refused, sentence = refusal(lambda: hand.embed(run, page_id))
        assert (refused, POISON in sentence) == (kind, False)
    assert stage_and_publish(ByHand(store), run, page_id).upserted == 12
