"""A second build of a corpus, made by SQL: the same texts in chunks of their own, without an embedder or a workflow."""

from dataclasses import replace
from typing import LiteralString

from psycopg import sql

from activities.store import Store
from activities.store.scopes import live_build
from tests.integration.seen import of_schema
from tests.integration.staging_factory import Corpus


def start_build(store: Store, corpus: Corpus, *, slab: int = 0) -> int:
    """The id of a building build with all that the live one shows, in a partition of its own if `slab` is not 0."""
    with store.connection() as connection, connection.transaction():
        if slab:
            connection.execute(of_schema(store, _PARTITION), {"slab": slab})
            partition = sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES IN ({})")
            names = (sql.Identifier(store.schema, name) for name in (f"chunk_s{slab}", "chunk"))
            connection.execute(partition.format(*names, sql.Literal(slab)))
        row = connection.execute(of_schema(store, _BUILD), {"scope_id": corpus.build.scope_id, "slab": slab}).fetchone()
        assert row is not None
        for statement in (_REVISIONS, _CHUNKS, _SPANS):
            connection.execute(of_schema(store, statement), {"green": row[0], "scope_id": corpus.build.scope_id})
        return int(row[0])


def flip(store: Store, corpus: Corpus, build_id: int) -> Corpus:
    """The corpus with that build live, in a generation of its own."""
    with store.connection() as connection, connection.transaction():
        for statement in (_RETIRE, _GO_LIVE, _POINT):
            connection.execute(of_schema(store, statement), {"green": build_id, "scope_id": corpus.build.scope_id})
    build = live_build(store, corpus.scope)
    assert build is not None and build.build_id == build_id
    return replace(corpus, build=build)


_PARTITION: LiteralString = "SELECT setval('{schema}.slab_seq', %(slab)s)"
_BUILD: LiteralString = """
    INSERT INTO {schema}.build (scope_id, space_id, lexicon, avgdl, state, slab)
    SELECT scope_id, space_id, lexicon, avgdl, 'building', %(slab)s FROM {schema}.build WHERE scope_id = %(scope_id)s AND state = 'live'
    RETURNING build_id
"""
_REVISIONS: LiteralString = """
    INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen, n_chunks)
    SELECT r.scope_id, %(green)s, r.source_pk, r.version_id, r.source_seq, r.sensitivity, r.is_derived, r.base_gen, r.n_chunks
    FROM {schema}.scope p
    JOIN {schema}.span x ON x.build_id = p.live_build AND x.gen_from <= p.live_gen AND x.gen_to > p.live_gen
    JOIN {schema}.source s ON s.source_pk = x.source_pk AND x.gen_from > s.fence_gen
    JOIN {schema}.revision r ON r.rev_id = x.rev_id
    WHERE p.scope_id = %(scope_id)s
"""
_CHUNKS: LiteralString = """
    INSERT INTO {schema}.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, metadata, body, tsv, bm, tiers)
    SELECT b.slab, g.rev_id, c.chunk_no, c.scope_id, c.start_cp, c.end_cp, c.emb, c.input_sha256, c.metadata, c.body, c.tsv, c.bm, c.tiers
    FROM {schema}.scope p
    JOIN {schema}.build b ON b.build_id = %(green)s
    JOIN {schema}.revision g ON g.build_id = b.build_id
    JOIN {schema}.revision r ON r.build_id = p.live_build AND r.version_id = g.version_id
    JOIN {schema}.chunk c ON c.rev_id = r.rev_id
    WHERE p.scope_id = %(scope_id)s
"""
_SPANS: LiteralString = """
    INSERT INTO {schema}.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
    SELECT r.rev_id, p.head_gen, r.build_id, r.source_pk, r.version_id, r.source_seq, r.sensitivity, r.is_derived
    FROM {schema}.scope p JOIN {schema}.revision r ON r.build_id = %(green)s WHERE p.scope_id = %(scope_id)s
"""
_RETIRE: LiteralString = (
    "UPDATE {schema}.build SET state = 'retired', ended_at = now() WHERE scope_id = %(scope_id)s AND state = 'live'"
)
_GO_LIVE: LiteralString = """
    UPDATE {schema}.build b SET state = 'live', head_gen = p.head_gen + 1 FROM {schema}.scope p
    WHERE b.build_id = %(green)s AND p.scope_id = b.scope_id
"""
_POINT: LiteralString = """
    WITH s AS (
      UPDATE {schema}.scope SET head_gen = head_gen + 1, live_gen = head_gen + 1, live_build = %(green)s
      WHERE scope_id = %(scope_id)s RETURNING scope_id, head_gen)
    INSERT INTO {schema}.pointer_log (scope_id, build_id, gen, kind, sources) SELECT scope_id, %(green)s, head_gen, 'flip', 0 FROM s
"""
