"""Who may read what of a partition with a graph: each gate stands in each way of searching it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from headwater import Scope
from tests.integration.retrieval.corpus_rows import CorpusRows, Source
from tests.integration.retrieval.large_rows import DIMENSIONS, FEW_CHUNKS, Large, large_corpus


@pytest.fixture(scope="module")
def partition(reading: str) -> Iterator[Large]:
    with large_corpus(reading, "gates") as large:
        large.rows.make_graph()
        yield large


@pytest.fixture
def small(partition: Large, scope: Scope) -> Large:
    """A corpus in a partition with a graph, for a test to write what it wants. Those of the other tests lie there too."""
    rows = CorpusRows(partition.rows.connection, scope, partition.rows.embedder)
    rows.begin_build(slab=partition.rows.slab)
    rows.show_build()
    return Large(rows, partition.connection)


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


@pytest.mark.parametrize("few_chunks", [-1, FEW_CHUNKS], ids=["walked", "compared"])
@pytest.mark.parametrize("what", [*WITHHELD, *SHOWN])
def test_every_gate_stands_in_every_way(small: Large, what: str, few_chunks: int) -> None:
    rows = small.rows
    near = rows.add("near", "the sought words", "the sought words again", parents=["parent#0002"])
    for number in range(5):
        rows.add(f"far-{number}", f"other things {number}")
    {**WITHHELD, **SHOWN}[what](rows, near)
    question = np.asarray(rows.embedder.embed(["the sought words"])[0], dtype=np.float64)

    one = small.search(question, "alice", candidates=1, few_chunks=few_chunks)
    every = small.search(question, "alice", few_chunks=few_chunks)

    assert (one == [("near", 1)]) is (what in SHOWN)
    assert len(one) == 1  # and what is withheld takes nobody's place
    assert len(every) == (7 if what in SHOWN else 5)
    assert every == small.search(question, "alice", exact=True)


@pytest.mark.parametrize("few_chunks", [-1, FEW_CHUNKS], ids=["walked", "compared"])
def test_a_text_without_a_direction_is_found_when_there_is_room(small: Large, few_chunks: int) -> None:
    small.rows.add("none", "no direction", vectors=[[0.0] * DIMENSIONS])
    small.rows.add("one", "text")

    assert {*small.search(np.ones(DIMENSIONS), "alice", few_chunks=few_chunks)} == {("none", 1), ("one", 1)}
