"""A reranker between two last looks: what changes while it thinks counts, and no connection waits for it."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headwater import AccessDenied, AsyncRetriever, Hit, LimitError, RerankError, Retriever
from headwater.embedders.hashing import HashEmbedder
from headwater.rerankers.bounded import Bounded
from headwater.rerankers.fake import FakeReranker
from headwater.store.db import POOL_SIZE
from tests.integration.retrieval.conftest import ALICE, Ask
from tests.integration.retrieval.corpus_rows import CorpusRows


class Meanwhile:
    """Reverses what it gets, after doing something else."""

    is_hosted = False

    def __init__(self, act: Callable[[], object]) -> None:
        self.seen: list[str] = []
        self._act = act

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        self.seen += [hit.source_id for hit in hits]
        self._act()
        return list(reversed(hits))


def test_a_source_revoked_while_a_reranker_thinks_is_withheld_and_told_once(ask: Ask, corpus: CorpusRows) -> None:
    taken = corpus.add("taken", "apples", "apples again")
    corpus.add("kept", "apples")
    events: list[AccessDenied] = []
    reranker = Meanwhile(lambda: corpus.grant(taken))

    result = ask("apples", reranker=reranker, on_access_denied=events.append)

    assert [hit.source_id for hit in result.hits] == ["kept"]
    assert [(event.source_id, event.reason, event.hits) for event in events] == [("taken", "no_grant", 2)]
    assert sorted(reranker.seen) == ["kept", "taken", "taken"]


def test_a_source_tombstoned_while_a_reranker_thinks_is_gone_without_a_word(ask: Ask, corpus: CorpusRows) -> None:
    corpus.add("gone", "apples")
    corpus.add("kept", "apples")
    events: list[AccessDenied] = []

    result = ask(
        "apples", reranker=Meanwhile(lambda: corpus.tombstone("gone", "forgotten")), on_access_denied=events.append
    )

    assert ([hit.source_id for hit in result.hits], events) == (["kept"], [])


def test_a_denied_passage_never_reaches_a_reranker(ask: Ask, corpus: CorpusRows) -> None:
    corpus.add("hidden", "apples", readers=["user:bob"])
    corpus.add("restricted", "apples", sensitivity="restricted")
    corpus.add("shown", "apples")
    reranker = Meanwhile(lambda: None)

    ask("apples", reranker=reranker, lexical="bm25")

    assert reranker.seen == ["shown"]


def test_only_labels_that_may_leave_reach_a_reranker_outside(
    reading: str, corpus: CorpusRows, embedder: HashEmbedder
) -> None:
    for label in ("public", "internal", "confidential"):
        corpus.add(label, "apples", sensitivity=label)

    def seen(*hosted: str) -> list[str]:
        reranker = Meanwhile(lambda: None)
        reranker.is_hosted = True
        with Retriever.connect(reading, embedder=embedder, hosted_sensitivities=hosted) as retriever:
            result = retriever.retrieve("apples", scope=corpus.scope, authorization=ALICE, reranker=reranker)
        assert len(result.hits) == 3
        return sorted(reranker.seen)

    assert seen() == []
    assert seen("public") == ["public"]
    assert seen(" Public", "INTERNAL") == ["internal", "public"]


def test_a_reranker_that_ships_with_the_library_reorders_by_the_words_of_the_query(
    ask: Ask, corpus: CorpusRows
) -> None:
    corpus.add("few", "apples apples apples apples")
    corpus.add("all", "apples with pears and other things that grow on trees in autumn and are eaten all winter")

    assert ask("apples pears", reranker=FakeReranker()).hits[0].source_id == "all"


def test_a_reranker_that_fails_fails_the_question_unless_its_order_may_be_missed(ask: Ask, corpus: CorpusRows) -> None:
    corpus.add("one", "apples")

    def fail() -> None:
        raise OSError("https://key@example.org is away")

    with pytest.raises(RerankError) as caught:
        ask("apples", reranker=Meanwhile(fail))
    assert "example.org" not in str(caught.value)

    result = ask("apples", reranker=Meanwhile(fail), on_rerank_error="keep")
    assert [hit.source_id for hit in result.hits] == ["one"]
    assert result.rerank_error is not None and "OSError" in result.rerank_error


def test_a_host_s_own_object_is_asked_so_often_at_once_and_no_more(
    reading: str, corpus: CorpusRows, embedder: HashEmbedder
) -> None:
    corpus.add("one", "apples")
    gate, entered = threading.Event(), threading.Semaphore(0)

    def hold() -> None:
        entered.release()
        assert gate.wait(30)

    reranker = Meanwhile(hold)
    with Retriever.connect(reading, embedder=embedder) as retriever:

        def ask() -> Any:
            return retriever.retrieve(
                "apples", scope=corpus.scope, authorization=ALICE, reranker=reranker, on_rerank_error="keep"
            )

        held = [threading.Thread(target=ask) for _ in range(2)]
        for thread in held:
            thread.start()
        for _ in held:
            assert entered.acquire(timeout=30)
        with pytest.raises(LimitError, match="busy with 2 calls"):
            retriever.retrieve("apples", scope=corpus.scope, authorization=ALICE, reranker=reranker)
        gate.set()
        for thread in held:
            thread.join()


async def test_while_models_and_rerankers_think_no_connection_is_held_and_the_loop_goes_on(
    reading: str, corpus: CorpusRows, embedder: HashEmbedder
) -> None:
    """More questions than connections wait for a reranker, and another one is answered meanwhile."""
    corpus.add("one", "apples")
    gate, entered = threading.Event(), threading.Semaphore(0)

    def hold() -> None:
        entered.release()
        assert gate.wait(30)

    async with AsyncRetriever.connect(reading, embedder=embedder) as retriever:

        async def ask(reranker: Bounded | None = None) -> int:
            result = await retriever.retrieve("apples", scope=corpus.scope, authorization=ALICE, reranker=reranker)
            return len(result.hits)

        patient = [Bounded(Meanwhile(hold), timeout_s=10) for _ in range(POOL_SIZE + 1)]
        held = [asyncio.create_task(ask(reranker)) for reranker in patient]
        try:
            for _ in held:
                assert await asyncio.to_thread(entered.acquire, timeout=30)
            assert await asyncio.wait_for(ask(), 5) == 1
        finally:
            gate.set()
        assert await asyncio.gather(*held) == [1] * (POOL_SIZE + 1)
