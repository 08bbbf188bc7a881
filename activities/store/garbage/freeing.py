"""Deleting revisions with all that hangs on them, a page at a time under the scope's lock: what collection is made of."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Final, Self

import psycopg

from activities.store.lexicon.counting import uncount
from activities.store.sql import in_slab, queries

PAGE: Final = 100  # revisions of one transaction: about 10 ms under the scope's lock


@dataclass(frozen=True, slots=True)
class Freed:
    """How many rows are gone. `documents` are stored texts, `staged` contents of hosts that were never used."""

    revisions: int = 0
    chunks: int = 0
    documents: int = 0
    builds: int = 0
    staged: int = 0
    requests: int = 0

    def __add__(self, other: Self) -> "Freed":
        return Freed(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@contextmanager
def locked(connection: psycopg.Connection, schema: str, scope_id: int) -> Iterator[int]:
    """A transaction that holds the scope's lock and its checkpoints'; with the floor of collection."""
    sql = queries(schema, "garbage")
    key = {"scope_id": scope_id}
    with connection.transaction():
        row = connection.execute(sql["lock_scope"], key).fetchone()
        assert row is not None
        connection.execute(sql["lock_checkpoints"], key)
        yield row[0]


def delete_revisions(
    connection: psycopg.Connection, schema: str, rev_ids: Sequence[int], *, slabs: Mapping[int, Collection[int]]
) -> Freed:
    """Deletes revisions that have no span, and their chunks in `slabs`. Their texts are left to `delete_versions`."""
    sql = queries(schema, "garbage")
    if not rev_ids:
        return Freed()
    uncount(connection, schema, rev_ids)
    with connection.pipeline() as pipeline:
        emptied = _delete_chunks(connection, schema, slabs)
        for statement in ("unlink_items", "delete_revisions"):
            connection.execute(sql[statement], {"rev_ids": list(rev_ids)})
        pipeline.sync()
        return Freed(revisions=len(rev_ids), chunks=sum(cursor.rowcount for cursor in emptied))


def by_slab(revisions: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Revisions by the partition of their chunks, from pairs of the two."""
    slabs: dict[int, list[int]] = {}
    for rev_id, slab in revisions:
        slabs.setdefault(slab, []).append(rev_id)
    return slabs


def delete_chunks(connection: psycopg.Connection, schema: str, slabs: Mapping[int, Collection[int]]) -> int:
    """How many chunks the revisions had in their `slabs`, which are gone."""
    uncount(connection, schema, [rev_id for rev_ids in slabs.values() for rev_id in rev_ids])
    return sum(cursor.rowcount for cursor in _delete_chunks(connection, schema, slabs))


def _delete_chunks(
    connection: psycopg.Connection, schema: str, slabs: Mapping[int, Collection[int]]
) -> list[psycopg.Cursor]:
    """Each partition by itself: a statement over all of them would lock all of them. In a pipeline, counted after its sync."""
    statement = queries(schema, "garbage")["delete_chunks"]
    return [connection.execute(in_slab(statement, slab), {"rev_ids": list(rev_ids)}) for slab, rev_ids in slabs.items()]


def delete_versions(connection: psycopg.Connection, schema: str, version_ids: Collection[int]) -> int:
    """How many of these texts nobody refers to, and are gone. In a transaction of its own, and without the scope's lock."""
    if not version_ids:
        return 0
    try:
        statement = queries(schema, "garbage")["delete_versions"]
        return connection.execute(statement, {"version_ids": sorted(version_ids)}).rowcount
    except psycopg.errors.ForeignKeyViolation:
        return 0  # one of them was staged upon at this very moment: the next collection looks again
