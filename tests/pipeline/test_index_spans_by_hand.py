"""Spans of indexing where activities run twice, hand over, or cannot read what they would tell."""

from collections.abc import Sequence
from typing import Final

import pytest
import structlog
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.contracts import BatchRef, EmbeddedBatch, PageRef, PublishedPage
from activities.embed_batch import COMMIT_CHUNKS, BatchEmbedder
from activities.embedder_source import EmbedderSource
from activities.publish_page import PagePublisher
from activities.store import Store
from activities.telemetry import IndexSpan, batch_spans, page_spans, tell_unchanged
from headwater.chunking.profile import ChunkingProfile
from tests.pipeline.by_hand import ByHand
from tests.pipeline.harness import Shelf, register
from tests.pipeline.heard_embedder import HeardEmbedder

PASSAGES: Final = COMMIT_CHUNKS + 8


def test_a_publication_that_is_repeated_is_told_once(store: Store, shelf: Shelf) -> None:
    shelf.write("plan.txt", "The plan is to wait.")
    register(store, shelf)
    hand = ByHand(store)
    run = hand.begin().in_pass
    page = PageRef(in_pass=run, page_id=hand.stage(run).page_id)
    told: list[IndexSpan] = []
    publisher = PagePublisher(store, tell=told.append)

    published = [publish(publisher, page) for _ in range(2)]

    assert published[0] == published[1]
    assert [(span.name, span.attributes["outcome"], span.attributes["generation"]) for span in told] == [
        ("rag_index", "published", 1),
    ]  # fmt: skip


def test_an_attempt_that_hands_over_tells_what_it_committed_and_the_next_one_the_rest(
    store: Store, shelf: Shelf
) -> None:
    shelf.write("long.txt", "\n\n".join(f"Passage {number:04}" for number in range(PASSAGES)))
    shelf.write("other.txt", "x" * 20)  # longer than the others: its turn comes last
    register(store, shelf, chunking=ChunkingProfile(20, 0))
    hand = ByHand(store)
    run = hand.begin().in_pass
    page_id = hand.list_page(run).page_id
    assert hand.prepare(run, page_id).batches == 1
    told: list[IndexSpan] = []
    stopping, environment = iter((True,)), ActivityEnvironment()

    def heard(texts: Sequence[str]) -> None:
        if next(stopping, False):
            environment.worker_shutdown()

    embedder = BatchEmbedder(store, EmbedderSource(lambda spec: HeardEmbedder(spec, heard)), tell=told.append)
    batch = BatchRef(in_pass=run, page_id=page_id, batch_no=0)
    with pytest.raises(ApplicationError):
        environment.run(embedder.embed_batch, batch)
    first = list(told)
    done: EmbeddedBatch = ActivityEnvironment().run(embedder.embed_batch, batch)

    long = [span for span in told if span.attributes["source_id"] == shelf.id_of("long.txt")]
    other = [span for span in told if span.attributes["source_id"] == shelf.id_of("other.txt")]
    assert first == long[:1], "of a source that was not begun nothing is told"
    assert [(span.attributes["embedded"], span.error) for span in long] == [(COMMIT_CHUNKS, None), (8, None)]
    assert len({span.below for span in long}) == len(other) == 1 and other[0].below != long[0].below
    assert (done.embedded, other[0].attributes["embedded"]) == (PASSAGES + 1, 1)


def test_what_cannot_be_read_is_not_told_and_fails_nobody(database: str, shelf: Shelf) -> None:
    told: list[IndexSpan] = []
    with Store.open(database, schema="nowhere") as store, structlog.testing.capture_logs() as logged:
        page_spans(store, told.append, 1).published(generation=1)
        with batch_spans(store, told.append, 1, 0, []):
            pass
        tell_unchanged(store, told.append, 1, count=3, began_ns=0)

    assert (told, [each["event"] for each in logged]) == ([], ["spans.not_told"] * 3)


def publish(publisher: PagePublisher, page: PageRef) -> PublishedPage:
    return ActivityEnvironment().run(publisher.publish_page, page)
