"""Searches of the large corpus in plain SQL: what the library's statements are held against.

They know neither corpora nor generations nor grants: the nearest passages of the partition, as many as the library looks at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import psycopg

from headwater.embedders import Embedder
from headwater.limits import WALKED
from headwater.store.question import Question
from headwater.store.rows import read_rows
from headwater.store.search import USUAL_WAYS, Space, Terms, Ways, as_halfvec, search_parameters, search_statement
from tests.benchmarks.large_corpus import SCHEMA, SCOPE, LargeCorpus
from tests.benchmarks.readers import ALL

Search = Callable[[str], float]  # the seconds that a question took


@dataclass(frozen=True)
class BareSearches:
    """Each on one connection, set up as the library's are."""

    connection: psycopg.Connection
    corpus: LargeCorpus
    embedder: Embedder

    def library_statement(self, question: str, **arguments: Any) -> float:
        """The library's own statement, without the library: the same gates and limits."""
        checked = Question.checked(question, scope=SCOPE, authorization=ALL.authorization, **arguments)
        space = Space(self.embedder.identity, self.embedder.dimensions)
        sql = search_statement(SCHEMA, space, checked, SCOPE, self.corpus.slab)
        terms = None if checked.lexical == "off" else Terms.of(question, self._lexicon())
        return self._timed(sql, search_parameters(checked, SCOPE, space, self._vector(question), terms))

    def best_by_words(self, question: str, *, ways: Ways = USUAL_WAYS) -> tuple[list[float], bool]:
        """What the library's lexical leg gives the best ten passages, and whether it knows that there are no better ones."""
        checked = Question.checked(question, scope=SCOPE, authorization=ALL.authorization, lexical="bm25")
        space = Space(self.embedder.identity, self.embedder.dimensions)
        sql = search_statement(SCHEMA, space, checked, SCOPE, self.corpus.slab, ways)
        bound = search_parameters(checked, SCOPE, space, self._vector(question), Terms.of(question, self._lexicon()))
        found = read_rows(self.connection.execute(sql, bound).fetchall(), checked, SCOPE, space)
        scores = [each.lexical_score or 0.0 for each in found.candidates if each.lexical_rank is not None]
        return sorted(scores, reverse=True)[:10], bool(found.lexical_is_exact)

    def without_grants(self, question: str, *, candidates: int = 20) -> float:
        """The graph alone, as far as the library walks it, and the texts of what was found."""
        return self._timed(
            f"""
            WITH walked AS MATERIALIZED (
              SELECT rev_id, chunk_no, emb::halfvec(384) <=> %(vector)s::halfvec(384) AS distance
              FROM headwater.chunk_s{self.corpus.slab} ORDER BY emb::halfvec(384) <=> %(vector)s::halfvec(384)
              LIMIT {WALKED * candidates}),
            nearest AS MATERIALIZED (SELECT * FROM walked ORDER BY distance LIMIT {candidates})
            SELECT n.*, c.body, c.metadata
            FROM nearest n JOIN headwater.chunk_s{self.corpus.slab} c ON c.rev_id = n.rev_id AND c.chunk_no = n.chunk_no
            WHERE c.slab = {self.corpus.slab} ORDER BY distance""".encode(),
            {"vector": self._vector(question)},
        )

    def ranked_by_cover_density(self, words: Sequence[str], *, candidates: int = 20) -> float:
        """What full-text search is mostly written as: every passage with one of the words, by ``ts_rank_cd``."""
        return self._timed(
            f"""
            SELECT rev_id, chunk_no, ts_rank_cd(tsv, %(any)s::tsquery) AS rank
            FROM headwater.chunk_s{self.corpus.slab}
            WHERE slab = {self.corpus.slab} AND tsv @@ %(any)s::tsquery
            ORDER BY rank DESC LIMIT {candidates}""".encode(),
            {"any": " | ".join(f"'{word}'" for word in words)},
        )

    def common_words(self, count: int) -> list[str]:
        """Those that stand in most passages, of those that stand in at most a third."""
        rows = self.connection.execute(
            f"""
            SELECT word FROM ts_stat('SELECT tsv FROM headwater.chunk_s{self.corpus.slab} TABLESAMPLE SYSTEM (5)')
            WHERE ndoc < (SELECT reltuples / 60 FROM pg_class WHERE oid = 'headwater.chunk_s{self.corpus.slab}'::regclass)
              AND word ~ '^[a-z]{{3,}}$'
            ORDER BY ndoc DESC LIMIT %(count)s""".encode(),
            {"count": count},
            prepare=False,
        ).fetchall()
        return [word for (word,) in rows]

    def _timed(self, sql: bytes, parameters: dict[str, Any]) -> float:
        began = perf_counter()
        self.connection.execute(sql, parameters).fetchall()
        return perf_counter() - began

    def _vector(self, question: str) -> str:
        return as_halfvec(np.asarray(self.embedder.embed([question]), dtype=np.float32)[0])

    def _lexicon(self) -> str:
        row = self.connection.execute(b"SELECT lexicon FROM headwater.build WHERE lexicon IS NOT NULL", {}).fetchone()
        assert row is not None
        return str(row[0])
