"""Builds that nobody can be shown any more: their partition in one piece, or their rows in pages, then what names them."""

from collections.abc import Iterator
from typing import Final

import psycopg

from activities.store.database import Store
from activities.store.freeing import PAGE, Freed, delete_revisions, locked
from activities.store.sql import queries

# Detaching waits for every reader that began before it, and those that come meanwhile wait for it. Later is soon enough.
WAIT: Final = "2s"


def drop_builds(store: Store, scope_id: int) -> Iterator[Freed]:
    """Drops what is left of the scope's builds that are marked for it; what was freed after each transaction.

    A partition that readers keep busy is left for the next collection, with its rows.
    """
    with store.connection() as connection:
        builds = connection.execute(queries(store.schema, "dropping")["dropping"], {"scope_id": scope_id}).fetchall()
    for build_id, slab in builds:
        had_partition = False
        if slab:
            gone = _drop_partition(store, slab)
            if gone is None:
                continue
            had_partition = gone
        yield from _drop_rows(store, scope_id, build_id, slab, counts_now=had_partition)


def _drop_partition(store: Store, slab: int) -> bool | None:
    """Whether there was a partition, which is gone now; None if somebody uses it."""
    sql = queries(store.schema, "dropping")
    key = {"schema": store.schema, "slab": slab}
    with store.connection() as connection:
        found = connection.execute(sql["partition"], key).fetchone()
        if found is None:
            return False
        connection.execute(sql["wait_little"], {"wait": WAIT})
        try:
            is_attached, is_pending = found
            if is_attached:
                step = "finalize" if is_pending else "detach"
                connection.execute(_of_slab(sql[step], slab), prepare=False)
            connection.execute(_of_slab(sql["drop_table"], slab), prepare=False)
            return True
        except (psycopg.errors.LockNotAvailable, psycopg.errors.ObjectInUse, psycopg.errors.DeadlockDetected):
            return None
        finally:
            if not connection.closed:
                connection.execute(sql["wait_little"], {"wait": "0"})


def _of_slab(statement: bytes, slab: int) -> bytes:
    return statement.replace(b"{slab}", b"%d" % slab)


def _drop_rows(store: Store, scope_id: int, build_id: int, slab: int, *, counts_now: bool) -> Iterator[Freed]:
    sql = queries(store.schema, "dropping")
    has_freed = counts_now
    while True:
        with locked(store, scope_id) as (connection, _):
            rows = connection.execute(sql["dropped_revisions"], {"build_id": build_id, "limit": PAGE}).fetchall()
            versions = {rev_id: version_id for rev_id, version_id, _ in rows}
            connection.execute(sql["delete_spans"], {"rev_ids": list(versions)})
            # Of a partition of its own the rows went with it.
            freed = delete_revisions(connection, store.schema, versions, slabs={} if slab else {0: list(versions)})
            if slab:
                freed += Freed(chunks=sum(n_chunks for _, _, n_chunks in rows))
            if not rows:
                connection.execute(sql["drop_build"], {"build_id": build_id})
        has_freed = has_freed or bool(rows)
        if not rows:
            if has_freed:
                yield Freed(builds=1)
            return
        yield freed
