"""Several corpora in one question: all of them in one snapshot, each under its own grants, in one order."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from headwater import EmbedderMismatch, Hit, Scope, ScopeError
from headwater.embedders.hashing import HashEmbedder
from headwater.models import AccessDenied
from headwater.store import db
from headwater.store.effects import Batch, Statement
from tests.integration.retrieval.conftest import Ask
from tests.integration.retrieval.corpus_rows import CorpusRows


@pytest.fixture
def other(corpus: CorpusRows, embedder: HashEmbedder) -> CorpusRows:
    scope = corpus.scope.model_copy(update={"corpus_id": f"{corpus.scope.corpus_id}-other"})
    return CorpusRows(corpus.connection, scope, embedder)


def found(hits: tuple[Hit, ...]) -> list[tuple[str, str]]:
    return [(hit.provenance.corpus_id.rpartition("-")[2], hit.source_id) for hit in hits]


def test_two_corpora_give_one_order_each_under_its_own_grants(ask: Ask, corpus: CorpusRows, other: CorpusRows) -> None:
    corpus.add("a", "apples and pears")
    corpus.add("hidden", "apples", readers=["user:bob"])
    other.add("a", "apples")
    other.add("b", "something else")
    events: list[AccessDenied] = []

    result = ask("apples", scope=None, scopes=[corpus.scope, other.scope], on_access_denied=events.append)

    assert found(result.hits)[0] == ("other", "a")
    assert sorted(hit.source_id for hit in result.hits) == ["a", "a", "b"]
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)
    assert result.generation is None
    assert [(event.scope, event.source_id, event.hits) for event in events] == [(corpus.scope, "hidden", 0)]


@pytest.mark.parametrize("lexical", ["off", "fts", "bm25"])
def test_a_corpus_in_two_parts_is_answered_as_the_whole(
    ask: Ask, corpus: CorpusRows, other: CorpusRows, reading: str, lexical: str
) -> None:
    """By meaning the very same order; by words the same passages, which each corpus weighs by its own words."""
    whole = CorpusRows(
        corpus.connection,
        corpus.scope.model_copy(update={"corpus_id": f"{corpus.scope.corpus_id}-whole"}),
        corpus.embedder,
    )
    for number in range(30):
        text = f"apples {'and ' * (number % 7)} pears {number}"
        (corpus if number % 2 else other).add(f"s{number}", text)
        whole.add(f"s{number}", text)
    for each in (corpus, other, whole):
        each.count_terms()

    parts = ask("apples 7", scope=None, scopes=[corpus.scope, other.scope], top_k=10, candidates=10, lexical=lexical)
    one = ask("apples 7", scope=whole.scope, top_k=10, candidates=10, lexical=lexical)

    assert len(parts.hits) == 10
    if lexical == "off":
        assert [hit.score for hit in parts.hits] == [hit.score for hit in one.hits]
    else:
        assert parts.hits[0].source_id == one.hits[0].source_id == "s7"


def test_no_corpora_ask_nobody(ask: Ask) -> None:
    assert ask("apples", scope=None, scopes=[]).hits == ()


def test_a_corpus_of_another_tenant_among_them_is_refused(ask: Ask, corpus: CorpusRows) -> None:
    foreign = Scope(tenant_id="t2", resource_id="docs", corpus_id="a")
    with pytest.raises(ScopeError, match="t2/docs/a"):
        ask("apples", scope=None, scopes=[corpus.scope, foreign])


@pytest.mark.parametrize("lexical", ["off", "bm25"])
def test_a_corpus_of_another_space_among_them_fails_the_question(ask: Ask, corpus: CorpusRows, lexical: str) -> None:
    corpus.add("a", "apples")
    scope = corpus.scope.model_copy(update={"corpus_id": f"{corpus.scope.corpus_id}-wide"})
    CorpusRows(corpus.connection, scope, HashEmbedder(128)).add("b", "apples")

    with pytest.raises(EmbedderMismatch, match=f"headwater reindex --corpus {scope}"):
        ask("apples", scope=None, scopes=[corpus.scope, scope], lexical=lexical)


def test_labels_that_a_call_allows_are_the_only_ones_it_shows(ask: Ask, corpus: CorpusRows) -> None:
    for label in ("public", "internal", "confidential", "restricted"):
        corpus.add(label, "apples", sensitivity=label)

    def shown(**arguments: Any) -> set[str]:
        return {hit.source_id for hit in ask("apples", lexical="bm25", **arguments).hits}

    assert shown() == {"public", "internal", "confidential"}
    assert shown(sensitivities=["Restricted ", "PUBLIC"]) == {"public", "restricted"}
    assert shown(sensitivities=[]) == set()


# --- one snapshot


def test_a_batch_reads_one_snapshot(reading: str, corpus: CorpusRows) -> None:
    """The second statement waits for a lock until a row was written, and does not see it."""
    count = Statement(b"SELECT count(*) FROM headwater.source WHERE scope_id = %(scope)s", {"scope": corpus.scope_id})
    waits = Statement(b"SELECT pg_advisory_lock_shared(4711), pg_advisory_unlock_shared(4711)", {})
    with db.connect(reading) as connection, ThreadPoolExecutor(1) as thread:
        with psycopg.connect(reading, autocommit=True) as holder:
            holder.execute("SELECT pg_advisory_lock(4711)")
            answer = thread.submit(db.run, connection, Batch((count, waits, count)))
            while corpus.connection.execute(WAITING).fetchone() is None:
                assert not answer.done()
            corpus.add("late", "text")
            holder.execute("SELECT pg_advisory_unlock(4711)")
        (first,), _, (second,) = answer.result(30)
        (after,), _ = db.run(connection, Batch((count, count)))

    assert (first, second, after) == ((0,), (0,), (1,))


WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted"


def test_a_batch_that_fails_leaves_the_connection_as_it_was(reading: str) -> None:
    with db.connect(reading) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            db.run(
                connection,
                Batch((Statement(b"SELECT 1", {}), Statement(b"SELECT 1/0", {}), Statement(b"SELECT 2", {}))),
            )
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        assert db.run(connection, Batch((Statement(b"SELECT 1", {}), Statement(b"SELECT 2", {})))) == [[(1,)], [(2,)]]


async def test_the_same_for_asyncio(reading: str) -> None:
    async with await db.connect_async(reading) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            await db.run_async(connection, Batch((Statement(b"SELECT 1/0", {}), Statement(b"SELECT 2", {}))))
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        assert await db.run_async(connection, Batch((Statement(b"SELECT 1", {}), Statement(b"SELECT 2", {})))) == [
            [(1,)],
            [(2,)],
        ]
