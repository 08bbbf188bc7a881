"""Searching a partition that has a graph: which way is taken, and that none of them gives too little."""

import re
from collections.abc import Callable, Iterator, Sequence
from statistics import mean

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from headwater import Authorization, Retriever, Scope
from headwater.store.db import connect
from tests.integration.retrieval.large_rows import DIMENSIONS, FEW_CHUNKS, Large, large_corpus, part
from tests.integration.retrieval.many_rows import EACH, TOPICS, Many, fill

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
QUESTIONS = 12


class Pointing:
    """An embedder that embeds every text as the vector it was given."""

    def __init__(self, identity: str) -> None:
        self.identity, self.dimensions, self.max_tokens = identity, DIMENSIONS, 99
        self.vector: NDArray[np.float64] = np.ones(DIMENSIONS)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.vector[np.newaxis, :].astype(np.float32)


def filled_with(large: Large, count: int) -> Many:
    readers = [[f"user:{name}" for name, may in READERS.items() if may(number)] for number in range(count)]
    many = fill(large.rows, readers)
    large.rows.make_graph()
    large.rows.show_build()
    return many


@pytest.fixture(scope="module")
def filled(reading: str) -> Iterator[tuple[Large, Many]]:
    """2,400 passages. Nobody has analysed them: the plans must be right nevertheless."""
    with large_corpus(reading, "filled") as large:
        yield large, filled_with(large, SOURCES)


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
    assert mean(recall(*filled, reader, few_chunks=-1)) >= share


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

        walked = re.search(r"actual rows=(\d+)", part(hurried.plan(question, "topics"), "walked"))
        assert walked is not None and int(walked[1]) < 10
        found = hurried.search(question, "topics")

    assert found == many.nearest(question, allowed("topics"), 10)


# --- which way is taken


def test_the_graph_is_walked_for_a_reader_of_much_and_nothing_else_is_done(filled: tuple[Large, Many]) -> None:
    large, many = filled
    plan = large.plan(many.question(1, seed=1), "all")

    assert re.search(r"Index Scan using chunk_s\d+_emb_idx on chunk_s\d+ \S+ \(actual rows=40", plan), plan
    assert "Order By: ((emb)::halfvec(32) <=>" in plan
    assert re.search(r"on source \S+ \(never executed\)", part(plan, "few"))
    assert "Nested Loop (never executed)" in part(plan, "shown")


@pytest.mark.parametrize("reader", ["tenth", "hundredth", "thousandth"])
def test_the_graph_is_not_walked_for_a_reader_of_little(filled: tuple[Large, Many], reader: str) -> None:
    large, many = filled

    plan = large.plan(many.question(1, seed=1), reader)

    assert re.search(
        r"Index Scan using chunk_s\d+_emb_idx on chunk_s\d+ \S+ \(never executed\)", part(plan, "walked")
    ), plan


def test_a_plan_made_while_the_partition_was_empty_is_right_when_it_is_full(scope: Scope, reading: str) -> None:
    with large_corpus(reading, scope.corpus_id) as large:
        large.rows.make_graph()
        large.rows.show_build()
        plan, rows = kept_plan(large, reading)

    assert "Order By: ((emb)::halfvec(32) <=>" in plan and "Seq Scan on chunk" not in plan
    assert len(rows) == 10


def kept_plan(large: Large, dsn: str) -> tuple[str, list[tuple[object, ...]]]:
    """A statement that was prepared and run before there was anything: its plan, and its rows, now that there is."""
    statement = large.sql(few_chunks=-1)
    names = dict.fromkeys(re.findall(rb"%\((\w+)\)s", statement))
    for number, name in enumerate(names, start=1):
        statement = statement.replace(b"%%(%s)s" % name, b"$%d" % number)
    run = b"EXECUTE kept (" + b", ".join(b"%%(%s)s" % name for name in names) + b")"
    bound = large.bound(np.ones(DIMENSIONS), "all")
    with connect(dsn) as kept:
        kept.execute(b"PREPARE kept AS " + statement, prepare=False)
        cursor = psycopg.ClientCursor(kept)  # EXECUTE takes no parameters
        assert len(cursor.execute(run, bound).fetchall()) == 1
        fill(large.rows, [["user:all"]] * 100)

        plan = "\n".join(line for (line,) in cursor.execute(b"EXPLAIN (ANALYZE, COSTS OFF) " + run, bound))
        return plan, cursor.execute(run, bound).fetchall()


def test_without_a_graph_the_answer_is_the_same(reading: str, scope: Scope) -> None:
    with large_corpus(reading, scope.corpus_id) as large:
        many = fill(large.rows, [["user:all"]] * 50)
        large.rows.show_build()
        question = many.question(5, seed=5)

        for few_chunks in (FEW_CHUNKS, -1):
            assert large.search(question, "all", few_chunks=few_chunks) == many.nearest(question, range(50), 10)


@pytest.mark.soak
def test_a_partition_of_a_real_size_is_walked_within_the_library_s_own_limits(reading: str, scope: Scope) -> None:
    """60,000 passages: whoever may read more than about 50,000 of them walks the graph, and for all others they are compared."""
    count = 15_000
    with large_corpus(reading, scope.corpus_id) as large:
        many = filled_with(large, count)
        embedder = Pointing(large.rows.embedder.identity)
        shares: dict[str, list[float]] = {reader: [] for reader in READERS}
        with Retriever.connect(reading, embedder=embedder) as retriever:
            for seed, reader in enumerate([*READERS] * 10):
                embedder.vector = many.question(seed * 7 % TOPICS, seed=seed)
                who = Authorization(principal_id=reader, tenant_id="t1")
                result = retriever.retrieve("?", scope=scope, authorization=who, top_k=10)
                wanted = many.nearest(embedder.vector, [n for n in range(count) if READERS[reader](n)], 10)
                found = {(hit.source_id, int(hit.chunk_id.rpartition("#")[2])) for hit in result.hits}
                assert len(found) == len(wanted)
                shares[reader].append(len(found & {*wanted}) / len(wanted))

    found_of = {reader: mean(each) for reader, each in shares.items()}
    assert found_of.pop("all") >= 0.99
    assert {*found_of.values()} == {1}
