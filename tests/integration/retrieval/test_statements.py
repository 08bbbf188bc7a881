"""The statements by themselves: what the store gives out before the library looks at it."""

from typing import Any

import numpy as np
import psycopg
import pytest

from headwater import Scope
from headwater.answering.recheck import recheck_statement
from headwater.embedders.hashing import HashEmbedder
from headwater.sensitivity import INTERNAL
from headwater.store.db import connect
from headwater.store.question import Question
from headwater.store.routes import SHARED
from headwater.store.search import Space, as_halfvec, search_parameters, search_statement
from tests.integration.retrieval.conftest import ALICE
from tests.integration.retrieval.corpus_rows import CorpusRows


def question(scope: Scope, **changes: Any) -> Question:
    return Question.checked(
        "text",
        **{
            "scope": scope,
            "authorization": ALICE,
            "top_k": 5,
            "candidates": None,
            "max_result_bytes": 1_000,
            "max_context_tokens": 1_000,
            **changes,
        },
    )


def test_vectors_of_another_embedder_are_not_compared(corpus: CorpusRows, embedder: HashEmbedder) -> None:
    corpus.add("one", "text")
    vector = as_halfvec(embedder.embed(["text"])[0])

    def rev_ids(identity: str) -> list[int | None]:
        asked = question(corpus.scope)
        space = Space(identity, 64)
        bound = search_parameters(asked, corpus.scope, space, vector)
        sql = search_statement("headwater", space, asked, corpus.scope, SHARED)
        return [row[6] for row in corpus.connection.execute(sql, bound).fetchall()]

    assert len(rev_ids(embedder.identity)) == 1 and None not in rev_ids(embedder.identity)
    assert rev_ids("another/1") == [None]


def test_a_recheck_knows_the_revisions_of_its_own_corpus_only(corpus: CorpusRows, embedder: HashEmbedder) -> None:
    ours = corpus.add("one", "text")
    other = corpus.scope.model_copy(update={"resource_id": "else"})
    theirs = CorpusRows(corpus.connection, other, embedder).add("one", "text")

    asked = question(corpus.scope)
    looks_again = recheck_statement("headwater", asked, [ours.rev_id, theirs.rev_id])
    rows = corpus.connection.execute(looks_again.sql, looks_again.parameters).fetchall()

    assert rows == [(ours.rev_id, True, True, INTERNAL)]


@pytest.mark.parametrize("slab", [SHARED, 1])
def test_grants_that_end_are_looked_up_one_by_one(corpus: CorpusRows, reading: str, slab: int) -> None:
    """A hashed sub-plan would read all that were ever given to this reader, in every corpus."""
    asked = question(corpus.scope)
    space = Space(corpus.embedder.identity, 64)
    sql = search_statement("headwater", space, asked, corpus.scope, slab)
    bound = search_parameters(asked, corpus.scope, space, as_halfvec(np.ones(64, np.float32)))
    with connect(reading) as connection:
        plan = "\n".join(line for (line,) in connection.execute(b"EXPLAIN " + sql, bound))

    assert "expiring_grant_pkey" in plan and "hashed SubPlan" not in plan


def test_what_little_somebody_may_read_of_a_large_corpus_is_found_by_its_grants(
    database: str, scope: Scope, embedder: HashEmbedder
) -> None:
    """The indexes hold no empty sets, and the planner takes one only for a question that leaves those out as well."""
    asked = question(scope)
    space = Space(embedder.identity, 64)
    sql = search_statement("headwater", space, asked, scope, SHARED)
    bound = search_parameters(asked, scope, space, as_halfvec(np.ones(64, np.float32)))
    with psycopg.connect(database, autocommit=True) as connection:
        scope_id = CorpusRows(connection, scope, embedder).scope_id
        connection.execute(
            "INSERT INTO headwater.source (scope_id, source_id, grants, expiring)"
            " SELECT %s, 'doc:' || n, ARRAY[n], CASE WHEN n < 9 THEN ARRAY[n] ELSE '{}' END FROM generate_series(1, 5000) n",
            (scope_id,),
        )
        connection.execute("ANALYZE headwater.source")
        plan = "\n".join(line for (line,) in connection.execute(b"EXPLAIN " + sql, bound))

    assert "on source_grants" in plan and "on source_expiring" in plan


def test_the_usual_statements_are_short_enough_for_psycopg_to_remember(scope: Scope) -> None:
    """Beyond 4,096 bytes psycopg looks for the parameters in every call, which takes 0.1 ms."""
    assert len(search_statement("headwater", Space("hash/1", 4_096), question(scope), scope, SHARED)) < 4_096
    assert len(recheck_statement("s" * 28, question(scope), [1]).sql) < 4_096


def test_looking_again_reads_the_sources_of_what_was_found_and_no_others(corpus: CorpusRows, reading: str) -> None:
    for number in range(50):
        corpus.add(f"s{number}", "text")
    looks_again = recheck_statement("headwater", question(corpus.scope), [1, 2, 3])
    with connect(reading) as connection:
        plan = "\n".join(line for (line,) in connection.execute(b"EXPLAIN " + looks_again.sql, looks_again.parameters))

    assert "using source_pkey" in plan and "source_scope_id" not in plan and "Seq Scan" not in plan
