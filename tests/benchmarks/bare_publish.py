"""The rows that a publication cannot do without, written by bare statements: what publishing is measured against."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psycopg

from activities.store import Store
from activities.store.database import connect
from activities.store.scopes import LiveBuild


@dataclass(frozen=True, slots=True)
class Revisions:
    rev_ids: Sequence[int]
    version_ids: Sequence[int]
    source_pks: Sequence[int]


class BarePublisher:
    """Closes and opens spans, numbers texts, writes status and moves the pointer, under the lock, in one round trip.

    It asks nothing: neither who owns a source, nor whether it was deleted or a newer text is there, nor for grants.
    """

    def __init__(self, store: Store, build: LiveBuild) -> None:
        self._store = store
        self._build = build
        self._connection: psycopg.Connection = connect(str(store.pool.conninfo))

    def revisions(self, page_id: int) -> Revisions:
        with self._store.connection() as connection:
            rows = connection.execute(
                "SELECT rev_id, r.version_id, r.source_pk FROM headwater.page_item JOIN headwater.revision r USING (rev_id)"
                " WHERE page_id = %s ORDER BY ord",
                (page_id,),
            ).fetchall()
        return Revisions([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])

    def publish(self, revisions: Revisions) -> None:
        given = {
            "scope_id": self._build.scope_id,
            "build_id": self._build.build_id,
            "rev_ids": list(revisions.rev_ids),
            "version_ids": list(revisions.version_ids),
            "source_pks": list(revisions.source_pks),
            "sources": len(revisions.source_pks),
        }
        with self._connection.pipeline(), self._connection.transaction():
            for statement in STATEMENTS:
                self._connection.execute(statement, given)


# The generation is read from the scope's row, which the first statement has locked.
_GEN: Final = "(SELECT head_gen FROM headwater.scope WHERE scope_id = %(scope_id)s)"
_LOCK: Final = (
    "UPDATE headwater.scope SET head_gen = head_gen + 1, live_gen = head_gen + 1 WHERE scope_id = %(scope_id)s"
)
_SOURCES: Final = "UPDATE headwater.source SET revision = revision + 1 WHERE source_pk = ANY (%(source_pks)s)"
_CLOSE: Final = f"""
    UPDATE headwater.span SET gen_to = {_GEN}
    WHERE build_id = %(build_id)s AND source_pk = ANY (%(source_pks)s) AND gen_to = 9223372036854775807"""
_OPEN: Final = f"""
    INSERT INTO headwater.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
    SELECT rev_id, {_GEN}, build_id, source_pk, version_id, source_seq, sensitivity, is_derived
    FROM headwater.revision WHERE rev_id = ANY (%(rev_ids)s)"""
_NUMBER: Final = """
    UPDATE headwater.document_version d
    SET revision = (SELECT s.revision FROM headwater.source s WHERE s.source_pk = d.source_pk)
    WHERE version_id = ANY (%(version_ids)s)"""
_STATUS: Final = "UPDATE headwater.ingestion SET updated_at = clock_timestamp() WHERE source_pk = ANY (%(source_pks)s)"
_BUILD: Final = f"UPDATE headwater.build SET head_gen = {_GEN} WHERE build_id = %(build_id)s"
_LOG: Final = f"""
    INSERT INTO headwater.pointer_log (scope_id, build_id, gen, kind, sources)
    VALUES (%(scope_id)s, %(build_id)s, {_GEN}, 'publish', %(sources)s)"""
STATEMENTS: Final = (_LOCK, _SOURCES, _CLOSE, _OPEN, _NUMBER, _STATUS, _BUILD, _LOG)
