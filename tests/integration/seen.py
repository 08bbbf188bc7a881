"""What the store holds and what its readers see, looked at with statements of the tests' own."""

from typing import Any, LiteralString

from psycopg import sql
from psycopg.rows import dict_row

from activities.store import Store
from tests.integration.staging_factory import Corpus

# The visibility rule of the schema, without tombstones and labels, which nothing here sets.
SEEN: LiteralString = """
    SELECT s.source_id, x.rev_id, x.gen_from, r.n_chunks, c.chunk_no, c.body
    FROM {schema}.scope p
    JOIN {schema}.span x ON x.build_id = p.live_build AND x.gen_from <= p.live_gen AND x.gen_to > p.live_gen
    JOIN {schema}.source s ON s.source_pk = x.source_pk AND x.gen_from > s.fence_gen
    JOIN {schema}.revision r ON r.rev_id = x.rev_id
    JOIN {schema}.build b ON b.build_id = p.live_build
    JOIN {schema}.chunk c ON c.slab = b.slab AND c.rev_id = x.rev_id
    WHERE p.scope_id = %(scope_id)s
      AND (%(principal)s::text IS NULL OR s.grants && ARRAY(
        SELECT g.grantee_id FROM {schema}.grantee g
        WHERE g.tenant_id = p.tenant_id AND (g.kind = 'everyone' OR (g.kind = 'principal' AND g.name = %(principal)s))))
    ORDER BY s.source_id, x.rev_id, c.chunk_no
"""


def seen(store: Store, corpus: Corpus, principal: str | None = None) -> dict[str, list[str]]:
    """The texts that `principal` may read, by source; without one, all that the pointer shows."""
    texts: dict[str, list[str]] = {}
    with store.connection() as connection:
        key = {"scope_id": corpus.build.scope_id, "principal": principal}
        for row in connection.execute(of_schema(store, SEEN), key):
            texts.setdefault(row[0], []).append(row[5])
    return texts


def hidden(store: Store, corpus: Corpus) -> set[str]:
    """The sources that a tombstone of their own, or of what the text shown rests on, takes out of sight."""
    with store.connection() as connection:
        return {row[0] for row in connection.execute(of_schema(store, _HIDDEN), {"scope_id": corpus.build.scope_id})}


def overlaps(store: Store) -> int:
    """Pairs of spans that show two revisions of one source at one generation."""
    with store.connection() as connection:
        row = connection.execute(of_schema(store, _OVERLAPS), {}).fetchone()
    assert row is not None
    return int(row[0])


def table(store: Store, name: str) -> list[dict[str, Any]]:
    """All rows of a table, in an order of their own."""
    with store.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        query = sql.SQL("SELECT * FROM {} AS t ORDER BY t::text").format(sql.Identifier(store.schema, name))
        return cursor.execute(query).fetchall()


def source_row(store: Store, source_id: str) -> dict[str, Any]:
    return next(row for row in table(store, "source") if row["source_id"] == source_id)


def statuses(store: Store, corpus: Corpus) -> dict[str, tuple[str, str, str | None]]:
    """State, freshness and reason of each source that has a status."""
    names = {row["source_pk"]: row["source_id"] for row in table(store, "source")}
    return {
        names[row["source_pk"]]: (row["state"], row["freshness"], row["reason"]) for row in table(store, "ingestion")
    }


def outcomes(store: Store, page_id: int) -> list[str | None]:
    """What publishing did with each line of a page, in their order."""
    rows = [row for row in table(store, "page_item") if row["page_id"] == page_id]
    return [row["outcome"] for row in sorted(rows, key=lambda row: int(row["ord"]))]


def of_schema(store: Store, text: LiteralString) -> sql.Composed:
    """The statement for this schema; to be executed with parameters, since a name may hold a percent sign."""
    return sql.SQL(text).format(schema=sql.Identifier(store.schema.replace("%", "%%")))


_OVERLAPS: LiteralString = """
    SELECT count(*) FROM {schema}.span a
    JOIN {schema}.span b ON b.build_id = a.build_id AND b.source_pk = a.source_pk
     AND (a.rev_id, a.gen_from) < (b.rev_id, b.gen_from) AND a.gen_from < b.gen_to AND b.gen_from < a.gen_to
"""
_HIDDEN: LiteralString = """
    SELECT t.id FROM {schema}.tombstone t WHERE t.scope_id = %(scope_id)s AND t.reason <> 'corrected'
    UNION
    SELECT s.source_id
    FROM {schema}.scope p
    JOIN {schema}.span x ON x.build_id = p.live_build AND x.gen_from <= p.live_gen AND x.gen_to > p.live_gen
    JOIN {schema}.source s ON s.source_pk = x.source_pk
    JOIN {schema}.lineage l ON l.version_id = x.version_id
    JOIN {schema}.tombstone t ON t.scope_id = p.scope_id AND t.id IN (l.parent_id, l.parent_source)
    WHERE p.scope_id = %(scope_id)s
"""
