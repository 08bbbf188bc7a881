"""A large partition, asked by words: the statement itself, its plan, and what it finds."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwater import Authorization
from headwater.lexical import has_tiers
from headwater.store.question import Question
from headwater.store.rows import Found, read_rows
from headwater.store.search import Terms, Ways, as_halfvec, search_parameters, search_statement
from tests.integration.retrieval.large_rows import DIMENSIONS, Large, part


@dataclass
class Words:
    """Passages of a large partition, asked by their words."""

    large: Large

    def sql(self, **asked: Any) -> bytes:
        ways = Ways(few_chunks=asked.pop("few_chunks", -1), postings=asked.pop("postings", 300))
        rows = self.large.rows
        return search_statement(
            "headwater",
            self.large.space,
            self.question("?", **asked),
            rows.scope,
            rows.slab,
            ways,
            is_tiered=has_tiers(str(rows.lexicon)),
        )

    def question(self, query: str, *, reader: str = "all", **asked: Any) -> Question:
        who = Authorization(principal_id=reader, tenant_id="t1")
        known = {"top_k": 1, "candidates": 3, "lexical": "bm25", **asked}
        return Question.checked(query, scope=self.large.rows.scope, authorization=who, **known)

    def bound(self, query: str, *, reader: str = "all", **asked: Any) -> dict[str, Any]:
        vector = as_halfvec(np.ones(DIMENSIONS, np.float32))
        lexicon = self.large.rows.lexicon
        assert lexicon is not None
        terms = Terms.of(query, lexicon)
        return search_parameters(
            self.question(query, reader=reader, **asked), self.large.rows.scope, self.large.space, vector, terms
        )

    def plan(self, query: str, *, reader: str = "all", **asked: Any) -> str:
        explained = b"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) " + self.sql(**asked)
        return "\n".join(line for (line,) in self.large.connection.execute(explained, self.bound(query, reader=reader)))

    def found(self, query: str, *, reader: str = "all", **asked: Any) -> Found:
        rows = self.large.connection.execute(self.sql(**asked), self.bound(query, reader=reader)).fetchall()
        return read_rows(rows, self.question(query), self.large.rows.scope, self.large.space)

    def ids(self, query: str, **asked: Any) -> list[str]:
        ranked = [(each.lexical_rank, each.source_id) for each in self.found(query, **asked).candidates]
        return [source_id for rank, source_id in sorted((rank, id) for rank, id in ranked if rank is not None)]


def looked_up(plan: str, name: str) -> bool:
    """Whether the index of terms was read for that look."""
    scans = re.findall(r"Bitmap Index Scan on chunk_s\d+_tsv \((.*)\)", part(plan, name))
    assert scans, part(plan, name)[:2_000]
    return bool(scans[0] != "never executed")
