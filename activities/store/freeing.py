"""Deleting revisions with all that hangs on them, a page at a time under the scope's lock: what collection is made of."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Final, Self

import psycopg

from activities.store.database import Store
from activities.store.sql import queries

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
def locked(store: Store, scope_id: int) -> Iterator[tuple[psycopg.Connection, int]]:
    """A transaction that holds the scope's lock and its checkpoints'; with the floor of collection."""
    sql = queries(store.schema, "garbage")
    key = {"scope_id": scope_id}
    with store.connection() as connection, connection.transaction():
        row = connection.execute(sql["lock_scope"], key).fetchone()
        assert row is not None
        connection.execute(sql["lock_checkpoints"], key)
        yield connection, row[0]


def delete_revisions(
    connection: psycopg.Connection, schema: str, revisions: Mapping[int, int], *, slabs: Mapping[int, Collection[int]]
) -> Freed:
    """Deletes revisions (with the version of each) that have no span, their chunks in `slabs`, and their texts."""
    sql = queries(schema, "garbage")
    rev_ids = list(revisions)
    if not rev_ids:
        return Freed()
    chunks = 0
    for slab, members in slabs.items():  # each partition by itself: a statement over all of them would lock all of them
        chunks += connection.execute(sql["delete_chunks"], {"slab": slab, "rev_ids": list(members)}).rowcount
    connection.execute(sql["unlink_items"], {"rev_ids": rev_ids})
    connection.execute(sql["delete_revisions"], {"rev_ids": rev_ids})
    documents = delete_versions(connection, schema, sorted(set(revisions.values())))
    return Freed(revisions=len(rev_ids), chunks=chunks, documents=documents)


def delete_versions(connection: psycopg.Connection, schema: str, version_ids: Sequence[int]) -> int:
    """How many of these texts nobody referred to, and are gone."""
    try:
        with connection.transaction():
            statement = queries(schema, "garbage")["delete_versions"]
            return connection.execute(statement, {"version_ids": list(version_ids)}).rowcount
    except psycopg.errors.ForeignKeyViolation:
        return 0  # one of them was staged upon at this very moment: the next collection looks again
