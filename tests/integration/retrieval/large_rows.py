"""A corpus in a partition of its own, asked with the statement for such and with limits of its size."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from headwater import Authorization, Scope
from headwater.embedders.hashing import HashEmbedder
from headwater.store.db import connect
from headwater.store.question import Question
from headwater.store.rows import Row
from headwater.store.search import Space, Ways, as_halfvec, search_parameters, search_statement
from tests.integration.retrieval.corpus_rows import CorpusRows

DIMENSIONS = 32
# The proportions that the library's own limits have in a partition of 200,000 passages.
FEW_CHUNKS = 300


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
        candidates: int = 10,
        exact: bool = False,
        few_chunks: int = FEW_CHUNKS,
    ) -> list[tuple[str, int]]:
        """Source and number of each passage found, nearest first."""
        sql = self.sql(candidates=candidates, exact=exact, few_chunks=few_chunks)
        rows = self.connection.execute(sql, self.bound(question, reader)).fetchall()
        return [(row.source_id, row.chunk_no) for row in (Row(*values) for values in rows) if row.rev_id is not None]

    def sql(self, *, candidates: int = 10, exact: bool = False, few_chunks: int = FEW_CHUNKS) -> bytes:
        ways = Ways(few_chunks=few_chunks)
        asked = self.asked("all", candidates=candidates, exact=exact)
        return search_statement("headwater", self.space, asked, self.rows.scope, self.rows.slab, ways)

    def bound(self, question: NDArray[np.float64], reader: str) -> dict[str, Any]:
        vector = as_halfvec(question.astype(np.float32))
        return search_parameters(self.asked(reader), self.rows.scope, self.space, vector)

    def asked(self, reader: str, *, candidates: int = 10, exact: bool = False) -> Question:
        who = Authorization(principal_id=reader, tenant_id="t1")
        scope = self.rows.scope
        return Question.checked("?", scope=scope, authorization=who, top_k=1, candidates=candidates, exact=exact)

    @property
    def space(self) -> Space:
        return Space(self.rows.embedder.identity, self.rows.embedder.dimensions)

    def plan(self, question: NDArray[np.float64], reader: str, *, few_chunks: int = FEW_CHUNKS) -> str:
        """What the statement really does, as Postgres tells it."""
        explained = b"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) " + self.sql(few_chunks=few_chunks)
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
