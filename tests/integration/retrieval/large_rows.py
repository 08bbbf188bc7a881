"""A corpus in a partition of its own, asked with the statement for such and with limits of its size."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from headwater import Scope
from headwater.db import connect, statement
from headwater.embedders.hashing import HashEmbedder
from headwater.search import as_halfvec
from tests.integration.retrieval.corpus_rows import CorpusRows

DIMENSIONS = 32
# The proportions that the library's own limits have in a partition of 200,000 passages.
FEW_CHUNKS = 300
FEW_SOURCES = 120


@dataclass
class Large:
    """A corpus in a partition of its own, asked with one statement at a time on a connection of the library's making."""

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
        return [(row[16], row[7]) for row in rows if row[6] is not None]

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
            "labels": [0, 1, 2],
        }

    def plan(self, question: NDArray[np.float64], reader: str, **limits: int) -> str:
        """What the statement really does, as Postgres tells it."""
        explained = b"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) " + self.sql(
            few_chunks=limits.get("few_chunks", FEW_CHUNKS), few_sources=limits.get("few_sources", FEW_SOURCES)
        )
        return "\n".join(line for (line,) in self.connection.execute(explained, self.bound(question, reader)))


@contextmanager
def large_corpus(dsn: str, corpus_id: str) -> Iterator[Large]:
    """A corpus whose build lies in a partition of its own: empty, without a graph, and not shown yet."""
    scope = Scope(tenant_id="t1", resource_id="docs", corpus_id=corpus_id)
    with psycopg.connect(dsn, autocommit=True) as writing, connect(dsn) as asking:
        rows = CorpusRows(writing, scope, HashEmbedder(DIMENSIONS))
        rows.begin_build(is_large=True)
        yield Large(rows, asking)


def part(plan: str, name: str) -> str:
    """The part of a plan that makes one CTE."""
    return re.split(r"\n  (?=CTE )|\n  (?=->)", plan.split(f"CTE {name}\n")[1])[0]
