"""Builds that nobody can be shown any more: their partition in one piece, or their rows in pages, then what names them."""

from collections.abc import Iterator
from typing import Final

import psycopg

from activities.store.garbage.freeing import PAGE, Freed, delete_revisions, delete_versions, locked
from activities.store.lexicon.counting import drop_counts
from activities.store.sql import queries, written

# Detaching waits for every reader that began before it, and those that come meanwhile wait for it. Later is soon enough.
WAIT: Final = "2s"


def drop_builds(connection: psycopg.Connection, schema: str, scope_id: int) -> Iterator[Freed]:
    """Drops what is left of the scope's builds that are marked for it; what was freed after each transaction.

    A partition that readers keep busy is left for the next collection, with its rows.
    """
    builds = connection.execute(queries(schema, "dropping")["dropping"], {"scope_id": scope_id}).fetchall()
    for build_id, slab in builds:
        was_there = _drop_partition(connection, schema, slab) if slab else False
        if was_there is not None:
            drop_counts(connection, schema, build_id)
            yield from _drop_rows(connection, schema, scope_id, build_id, slab, has_freed=was_there)


def _drop_partition(connection: psycopg.Connection, schema: str, slab: int) -> bool | None:
    """Whether there was a partition, which is gone now; None if somebody uses it."""
    sql = queries(schema, "dropping")
    found = connection.execute(sql["partition"], {"schema": schema, "slab": slab}).fetchone()
    if found is None:
        return False
    is_attached, is_pending = found
    connection.execute(sql["wait_little"], {"wait": WAIT})
    try:
        if is_attached:
            step = "finalize" if is_pending else "detach"
            connection.execute(written(sql[step], slab=slab), prepare=False)
        connection.execute(written(sql["drop_table"], slab=slab), prepare=False)
        return True
    except (psycopg.errors.LockNotAvailable, psycopg.errors.ObjectInUse, psycopg.errors.DeadlockDetected):
        return None
    finally:
        if not connection.closed:
            connection.execute("RESET lock_timeout", prepare=False)


def _drop_rows(
    connection: psycopg.Connection, schema: str, scope_id: int, build_id: int, slab: int, *, has_freed: bool
) -> Iterator[Freed]:
    sql = queries(schema, "dropping")
    key = {"build_id": build_id, "limit": PAGE}
    while True:
        with locked(connection, schema, scope_id):
            rows = connection.execute(sql["dropped_revisions"], key).fetchall()
            rev_ids = [rev_id for rev_id, _, _ in rows]
            connection.execute(sql["delete_spans"], {"rev_ids": rev_ids})
            # Of a partition of its own the rows went with it.
            freed = delete_revisions(connection, schema, rev_ids, slabs={} if slab else {0: rev_ids})
            if not rows:
                connection.execute(sql["drop_build"], key)
        if not rows:
            if has_freed:
                yield Freed(builds=1)
            return
        has_freed = True
        chunks = sum(n_chunks for _, _, n_chunks in rows) if slab else 0
        documents = delete_versions(connection, schema, {version_id for _, version_id, _ in rows})
        yield freed + Freed(chunks=chunks, documents=documents)
