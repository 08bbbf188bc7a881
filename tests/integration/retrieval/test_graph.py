"""Searching a partition that has a graph: which way is taken, and that none of them gives too little or too much."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import mean
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from headwater import Authorization, Retriever, Scope
from headwater.db import connect, statement
from headwater.embedders.hashing import HashEmbedder
from headwater.search import as_halfvec
from tests.integration.retrieval.corpus_rows import CorpusRows, Source
from tests.integration.retrieval.many_rows import EACH, TOPICS, Many, fill

DIMENSIONS = 32
SOURCES = 600
# Who may read what: the reader's name, and the test of a source's number.
READERS: dict[str, Callable[[int], bool]] = {
    "all": lambda number: True,
    "third": lambda number: number % 3 == 0,
    "tenth": lambda number: number % 10 == 3,
    "hundredth": lambda number: number % 100 == 7,
    "thousandth": lambda number: number == 11,
    "topics": lambda number: number % TOPICS < TOPICS // 5,  # whole topics, and nothing of the others
}
# The proportions of a partition of 200,000 passages.
FEW_CHUNKS = SOURCES * EACH // 8
FEW_SOURCES = SOURCES // 5
QUESTIONS = 12


class Pointing:
    """An embedder that embeds every text as the vector it was given."""

    def __init__(self, identity: str) -> None:
        self.identity, self.dimensions, self.max_tokens = identity, DIMENSIONS, 99
        self.vector: NDArray[np.float64] = np.ones(DIMENSIONS)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.vector[np.newaxis, :].astype(np.float32)


@dataclass
class Large:
    """A corpus in a partition of its own, asked with one statement at a time on a connection like the library's."""

    rows: CorpusRows
    connection: psycopg.Connection

    def search(
        self,
        question: NDArray[np.float64],
        reader: str,
        *,
        name: str = "search_graph",
        candidates: int = 10,
        few_chunks: int = FEW_CHUNKS,
        few_sources: int = FEW_SOURCES,
    ) -> list[tuple[str, int]]:
        """Source and number of each passage found, nearest first."""
        sql = self.sql(name, candidates=candidates, few_chunks=few_chunks, few_sources=few_sources)
        rows = self.connection.execute(sql, self.bound(question, reader)).fetchall()
        return [(row[10], row[5]) for row in rows if row[4] is not None]

    def sql(self, name: str = "search_graph", *, candidates: int = 10, few_chunks: int, few_sources: int) -> bytes:
        numbers = {"slab": self.rows.slab, "dimensions": self.rows.embedder.dimensions, "candidates": candidates}
        if name == "search_graph":
            numbers |= {"few_chunks": few_chunks, "few_sources": few_sources, "walked": 4 * candidates}
        return statement(name, "headwater", **numbers)

    def bound(self, question: NDArray[np.float64], reader: str) -> dict[str, Any]:
        return {
            "tenant": "t1",
            "resource": "docs",
            "corpus": self.rows.scope.corpus_id,
            "principal": reader,
            "groups": [],
            "access_version": None,
            "identity": self.rows.embedder.identity,
            "vector": as_halfvec(question.astype(np.float32)),
        }

    def plan(self, question: NDArray[np.float64], reader: str, **limits: int) -> str:
        """What the statement really does, as Postgres tells it."""
        explained = b"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) " + self.sql(
            few_chunks=limits.get("few_chunks", FEW_CHUNKS), few_sources=limits.get("few_sources", FEW_SOURCES)
        )
        return "\n".join(line for (line,) in self.connection.execute(explained, self.bound(question, reader)))


@pytest.fixture(scope="module")
def reading_connections(reading: str) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with psycopg.connect(reading, autocommit=True) as writing, connect(reading) as asking:
        yield writing, asking


@pytest.fixture(scope="module")
def filled(reading_connections: tuple[psycopg.Connection, psycopg.Connection]) -> tuple[Large, Many]:
    """2,400 passages. Nobody has analysed them: the plans must be right nevertheless."""
    large = begun(reading_connections, "filled")
    readers = [[f"user:{name}" for name, may in READERS.items() if may(number)] for number in range(SOURCES)]
    many = fill(large.rows, readers)
    large.rows.make_graph()
    large.rows.show_build()
    return large, many


@pytest.fixture
def small(reading_connections: tuple[psycopg.Connection, psycopg.Connection], scope: Scope) -> Large:
    """A partition with a graph, for a test to write what it wants."""
    large = begun(reading_connections, scope.corpus_id)
    large.rows.make_graph()
    large.rows.show_build()
    return large


def begun(connections: tuple[psycopg.Connection, psycopg.Connection], corpus_id: str) -> Large:
    writing, asking = connections
    rows = CorpusRows(writing, Scope(tenant_id="t1", resource_id="docs", corpus_id=corpus_id), HashEmbedder(DIMENSIONS))
    rows.begin_build(is_large=True)
    return Large(rows, asking)


def allowed(reader: str) -> list[int]:
    return [number for number in range(SOURCES) if READERS[reader](number)]


def recall(large: Large, many: Many, reader: str, *, few_chunks: int = FEW_CHUNKS) -> list[float]:
    """Of the nearest ten that the reader may read, the share that was found, for each of some questions."""
    shares = []
    for seed in range(QUESTIONS):
        question = many.question(seed * 7 % TOPICS, seed=seed)
        wanted = many.nearest(question, allowed(reader), 10)
        found = large.search(question, reader, few_chunks=few_chunks)
        assert len(found) == len(wanted), "never fewer than there are"
        assert {source_id for source_id, _ in found} <= {many.ids[number] for number in allowed(reader)}
        shares.append(len({*found} & {*wanted}) / len(wanted))
    return shares


# --- what is found


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("exact", [False, True])
def test_a_reader_of_few_passages_gets_what_a_plain_comparison_gives(
    filled: tuple[Large, Many], reading: str, reader: str, exact: bool
) -> None:
    large, many = filled
    embedder = Pointing(large.rows.embedder.identity)
    who = Authorization(principal_id=reader, tenant_id="t1")
    with Retriever.connect(reading, embedder=embedder) as retriever:
        for seed in range(5):
            embedder.vector = many.question(seed * 11 % TOPICS, seed=seed)
            result = retriever.retrieve("?", scope=large.rows.scope, authorization=who, top_k=10, exact=exact)
            found = [(hit.source_id, int(hit.chunk_id.rpartition("#")[2])) for hit in result.hits]
            assert found == many.nearest(embedder.vector, allowed(reader), 10)


@pytest.mark.parametrize("reader", ["all", "tenth", "hundredth", "thousandth"])
def test_ninety_nine_of_a_hundred_of_the_nearest_ten_are_found(filled: tuple[Large, Many], reader: str) -> None:
    assert mean(recall(*filled, reader)) >= 0.99


@pytest.mark.parametrize(("reader", "share"), [("third", 0.9), ("topics", 0.8), ("tenth", 0.8)])
def test_a_walk_for_a_reader_of_some_is_never_short(filled: tuple[Large, Many], reader: str, share: float) -> None:
    assert mean(recall(*filled, reader, few_chunks=0)) >= share


def test_no_answer_of_any_length_is_short(filled: tuple[Large, Many]) -> None:
    large, many = filled
    question = many.question(3, seed=3)
    for reader in READERS:
        for candidates in (1, 20, 128):
            found = large.search(question, reader, candidates=candidates)
            assert len(found) == len(set(found)) == min(candidates, len(allowed(reader)) * EACH)


def test_a_walk_that_ends_too_early_is_followed_by_a_comparison(filled: tuple[Large, Many], reading: str) -> None:
    large, many = filled
    with connect(reading) as connection:
        connection.execute(
            "SELECT set_config('hnsw.iterative_scan', 'off', false), set_config('hnsw.ef_search', '10', false)"
        )
        hurried = Large(large.rows, connection)
        question = many.question(TOPICS - 1, seed=4)  # nothing near it is of the reader's topics

        walked = re.search(r"actual rows=(\d+)", _part(hurried.plan(question, "topics"), "walked"))
        assert walked is not None and int(walked[1]) < 10
        found = hurried.search(question, "topics")

    assert found == many.nearest(question, allowed("topics"), 10)


# --- which way is taken


def test_the_graph_is_walked_for_a_reader_of_much_and_nothing_else_is_done(filled: tuple[Large, Many]) -> None:
    large, many = filled
    plan = large.plan(many.question(1, seed=1), "all")

    assert re.search(r"Index Scan using chunk_s\d+_emb_idx on chunk_s\d+ \S+ \(actual rows=40", plan), plan
    assert "Order By: ((emb)::halfvec(32) <=>" in plan
    assert "never executed" in _part(plan, "weighed") and "never executed" in _part(plan, "shown")


@pytest.mark.parametrize("reader", ["tenth", "hundredth", "thousandth"])
def test_the_graph_is_not_walked_for_a_reader_of_little(filled: tuple[Large, Many], reader: str) -> None:
    large, many = filled

    assert "never executed" in _part(large.plan(many.question(1, seed=1), reader), "walked")


def test_a_plan_made_while_the_partition_was_empty_is_right_when_it_is_full(small: Large, reading: str) -> None:
    statement = small.sql(few_chunks=0, few_sources=0)
    names = dict.fromkeys(re.findall(rb"%\((\w+)\)s", statement))
    for number, name in enumerate(names, start=1):
        statement = statement.replace(b"%%(%s)s" % name, b"$%d" % number)
    run = b"EXECUTE kept (" + b", ".join(b"%%(%s)s" % name for name in names) + b")"
    bound = small.bound(np.ones(DIMENSIONS), "all")
    with connect(reading) as kept:
        kept.execute(b"PREPARE kept AS " + statement, prepare=False)
        cursor = psycopg.ClientCursor(kept)  # EXECUTE takes no parameters
        assert len(cursor.execute(run, bound).fetchall()) == 1
        fill(small.rows, [["user:all"]] * 100)

        plan = "\n".join(line for (line,) in cursor.execute(b"EXPLAIN (ANALYZE, COSTS OFF) " + run, bound))
        rows = cursor.execute(run, bound).fetchall()

    assert "Order By: ((emb)::halfvec(32) <=>" in plan and "Seq Scan on chunk" not in plan
    assert len(rows) == 10


def test_without_a_graph_the_answer_is_the_same(
    reading_connections: tuple[psycopg.Connection, psycopg.Connection], scope: Scope
) -> None:
    large = begun(reading_connections, scope.corpus_id)
    many = fill(large.rows, [["user:all"]] * 50)
    large.rows.show_build()
    question = many.question(5, seed=5)

    for few_chunks in (FEW_CHUNKS, 0):
        assert large.search(question, "all", few_chunks=few_chunks) == many.nearest(question, range(50), 10)


# --- the gates


def _over(rows: CorpusRows, source: Source) -> None:
    rows.grant(source)
    rows.grant_until(source, "user:alice", datetime.now(UTC) - timedelta(seconds=1))


def _lent(rows: CorpusRows, source: Source) -> None:
    rows.grant(source)
    rows.grant_until(source, "user:alice", datetime.now(UTC) + timedelta(hours=1))


WITHHELD: dict[str, Callable[[CorpusRows, Source], None]] = {
    "revoked": lambda rows, source: rows.grant(source),
    "granted to another": lambda rows, source: rows.grant(source, "user:bob"),
    "expired": _over,
    "deleted": lambda rows, source: rows.delete(source, gen=1),
    "forgotten": lambda rows, source: rows.tombstone("near", "forgotten"),
    "held": lambda rows, source: rows.tombstone("near", "legal_hold"),
    "parent corrected": lambda rows, source: rows.tombstone("parent", "corrected"),
    "passage of a parent revoked": lambda rows, source: rows.tombstone("parent#0002", "revoked"),
    "restricted": lambda rows, source: rows.label(source, "restricted"),
    "not yet shown": lambda rows, source: rows.execute(
        "UPDATE {}.span SET gen_from = 2 WHERE rev_id = %s", source.rev_id
    ),
    "replaced": lambda rows, source: rows.execute(
        "UPDATE {}.span SET gen_from = 0, gen_to = 1 WHERE rev_id = %s", source.rev_id
    ),
}
SHOWN: dict[str, Callable[[CorpusRows, Source], None]] = {
    "as it is": lambda rows, source: None,
    "lent": _lent,
    "to everyone": lambda rows, source: rows.grant(source, "everyone"),
    "corrected": lambda rows, source: rows.tombstone("near", "corrected"),
    "another forgotten": lambda rows, source: rows.tombstone("another", "forgotten"),
}


@pytest.mark.parametrize("few_sources", [0, FEW_SOURCES], ids=["walked", "compared"])
@pytest.mark.parametrize("what", [*WITHHELD, *SHOWN])
def test_every_gate_stands_in_every_way(small: Large, what: str, few_sources: int) -> None:
    rows = small.rows
    near = rows.add("near", "the sought words", "the sought words again", parents=["parent#0002"])
    for number in range(5):
        rows.add(f"far-{number}", f"other things {number}")
    {**WITHHELD, **SHOWN}[what](rows, near)
    question = np.asarray(rows.embedder.embed(["the sought words"])[0], dtype=np.float64)

    one = small.search(question, "alice", candidates=1, few_sources=few_sources)
    every = small.search(question, "alice", few_sources=few_sources)

    assert (one == [("near", 1)]) is (what in SHOWN)
    assert len(one) == 1  # and what is withheld takes nobody's place
    assert len(every) == (7 if what in SHOWN else 5)
    assert every == small.search(question, "alice", name="search")


@pytest.mark.parametrize("few_sources", [0, FEW_SOURCES], ids=["walked", "compared"])
def test_a_text_without_a_direction_is_found_when_there_is_room(small: Large, few_sources: int) -> None:
    small.rows.add("none", "no direction", vectors=[[0.0] * DIMENSIONS])
    small.rows.add("one", "text")

    assert {*small.search(np.ones(DIMENSIONS), "alice", few_sources=few_sources)} == {("none", 1), ("one", 1)}


def _part(plan: str, name: str) -> str:
    """The part of a plan that makes one CTE."""
    return re.split(r"\n  (?=CTE )|\n  (?=->)", plan.split(f"CTE {name}\n")[1])[0]
