"""Derived sources in numbers, written straight into the store, and a look at the statements that a store sends."""

import tempfile
from collections.abc import Callable, Sequence
from typing import LiteralString

from activities.store import Store
from tests.integration.seen import of_schema
from tests.integration.staging_factory import Corpus

Edge = tuple[str, str]  # a source, and what it rests on


def star(count: int, root: str = "root") -> list[Edge]:
    """So many sources that rest on ``root``."""
    return [(f"star-{number}", root) for number in range(1, count + 1)]


def chain(count: int, root: str = "root") -> list[Edge]:
    """So many sources of which each rests on the one before, the first on ``root``."""
    names = [root, *(f"chain-{number}" for number in range(1, count + 1))]
    return list(zip(names[1:], names, strict=False))


def tree(count: int, *, width: int, root: str = "root") -> list[Edge]:
    """So many sources of which each carries ``width`` others, from ``root`` downwards."""
    names = [root, *(f"tree-{number}" for number in range(1, count + 1))]
    return [(names[number], names[(number - 1) // width]) for number in range(1, count + 1)]


def add_derived(store: Store, corpus: Corpus, edges: Sequence[Edge]) -> None:
    """A published source with one passage for each edge, granted to whoever is granted the first source of the corpus."""
    with store.connection() as connection, connection.transaction():
        params = {
            "scope_id": corpus.build.scope_id,
            "build_id": corpus.build.build_id,
            "ids": [source_id for source_id, _ in edges],
            "parents": [parent for _, parent in edges],
            "vector": str([1.0] + [0.0] * (corpus.build.dimensions - 1)),
        }
        connection.execute(of_schema(store, _ADD), params)


def carried_out(store: Store, work: Callable[[], object]) -> list[str]:
    """The statements that the store has Postgres carry out during ``work``, as Postgres names them: ``INSERT 0 64``.

    The store must have one connection only.
    """
    assert store.pool.max_size == 1
    with tempfile.TemporaryFile("w+") as log:
        with store.pool.connection() as connection:
            connection.pgconn.trace(log.fileno())
        try:
            work()
        finally:
            with store.pool.connection() as connection:
                connection.pgconn.untrace()
        log.seek(0)
        # Time, direction, length, message, its contents. The text of prepared statements spans lines, tags do not.
        lines = [line.rstrip().split("\t") for line in log]
    return [line[4].strip(' "') for line in lines if len(line) > 4 and line[1] == "B" and line[3] == "CommandComplete"]


_ADD: LiteralString = """
    WITH named AS (
      SELECT * FROM unnest(%(ids)s::text[], %(parents)s::text[]) WITH ORDINALITY AS u (id, parent, no)),
    added AS (
      INSERT INTO {schema}.source (scope_id, source_id, grants, access_version, revision, read_seq)
      SELECT %(scope_id)s, id, (SELECT grants FROM {schema}.source WHERE scope_id = %(scope_id)s ORDER BY source_pk LIMIT 1),
             1, 1, 1
      FROM named RETURNING source_pk, source_id),
    version AS (
      INSERT INTO {schema}.document_version (scope_id, source_pk, revision, content_hash, source_seq, text)
      SELECT %(scope_id)s, source_pk, 1, '', 1, source_id FROM added RETURNING version_id, source_pk),
    edge AS (
      INSERT INTO {schema}.lineage (scope_id, version_id, ord, parent_id)
      SELECT %(scope_id)s, version_id, 1, n.parent
      FROM version JOIN added USING (source_pk) JOIN named n ON n.id = added.source_id),
    revision AS (
      INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen,
                                     n_chunks)
      SELECT %(scope_id)s, %(build_id)s, source_pk, version_id, 1, 1, true, 0, 1 FROM version
      RETURNING rev_id, source_pk, version_id),
    chunk AS (
      INSERT INTO {schema}.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, body)
      SELECT 0, rev_id, 1, %(scope_id)s, 0, 1, %(vector)s::halfvec, sha256(source_id::bytea), source_id
      FROM revision JOIN added USING (source_pk)),
    status AS (INSERT INTO {schema}.ingestion (source_pk, state) SELECT source_pk, 'indexed' FROM added)
    INSERT INTO {schema}.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
    SELECT rev_id, 1, %(build_id)s, source_pk, version_id, 1, 1, true FROM revision
"""
