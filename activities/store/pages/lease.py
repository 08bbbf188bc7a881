"""The checkpoint row: one run at a time walks a connector, and the cursor moves only after a page is published.

A lease has a fence, a number that grows with every new holder. Whatever a former holder still has under way names an
older fence and is refused, so that a zombie can neither publish nor move the cursor.
"""

from dataclasses import dataclass
from typing import Final

from psycopg import Connection
from psycopg.types.json import Jsonb

from activities.store import Store
from activities.store.pages.memory import remember
from activities.store.sql import queries
from headwater.errors import PermanentError

# Renewed by every page, and within it between documents and between chunks. No step takes four minutes.
LEASE_S: Final = 300


class AlreadyRunning(PermanentError):
    """Another workflow holds the connector's lease."""


class StaleFence(PermanentError):
    """The lease was taken over: this run may no longer write."""


class CheckpointConflict(PermanentError):
    """The checkpoint is not where the page expects it."""


@dataclass(frozen=True, slots=True)
class Lease:
    pass_no: int
    fence: int
    next_seq: int


@dataclass(frozen=True, slots=True)
class PassEnd:
    """What a pass left: ``failed`` counts all failed sources it saw, ``failures`` names at most 100 of them."""

    generation: int
    failed: int
    failures: list[tuple[str, str, str | None]]


def begin_pass(
    store: Store,
    connector_id: int,
    *,
    owner: str,
    run: str,
    full: bool,
    actor: str | None = None,
    action: str = "sync",
) -> Lease:
    """The lease of a new pass, or of the one that `max_pages` stopped; the audit table says that ``actor`` asked for ``action``.

    A ``run`` that has the lease already asks a second time, and gets what it was given.
    """
    sql = queries(store.schema, "lease")
    with store.connection() as connection, connection.transaction():
        before = connection.execute(sql["lock_checkpoint"], {"connector_id": connector_id}).fetchone()
        row = connection.execute(
            sql["take_lease"],
            {"connector_id": connector_id, "owner": owner, "run": run, "full": full, "lease_s": LEASE_S},
        ).fetchone()
        if row is None:
            raise already_running(store, connection, connector_id)
        pass_no, fence = row
        seq = connection.execute(sql["next_seq"], {"connector_id": connector_id, "pass_no": pass_no}).fetchone()
        assert seq is not None and before is not None
        if fence != before[0]:
            detail = Jsonb({"pass_no": pass_no, "full": full})
            connection.execute(
                sql["note_audit"], {"connector_id": connector_id, "actor": actor, "action": action, "detail": detail}
            )
        return Lease(pass_no=pass_no, fence=fence, next_seq=seq[0])


def already_running(store: Store, connection: Connection, connector_id: int) -> AlreadyRunning:
    """What to say to whoever comes while somebody has the lease."""
    holder = connection.execute(
        queries(store.schema, "lease")["lease_holder"], {"connector_id": connector_id}
    ).fetchone()
    owner, name, corpus = holder or ("unknown", connector_id, "a corpus that is gone")
    return AlreadyRunning(
        f"Connector {name} of {corpus} is being synced by workflow {owner}: wait for its end, or cancel that workflow in Temporal's "
        "web page."
    )


def renew(store: Store, connector_id: int | None, *, fence: int | None, wait_s: float = 0.0) -> None:
    """The lease lasts another four minutes at least, after ``wait_s``, or `StaleFence`. Without a connector there is none."""
    if connector_id is None:
        return
    sql = queries(store.schema, "lease")
    params = {"connector_id": connector_id, "fence": fence, "lease_s": LEASE_S + wait_s}
    with store.connection() as connection:
        if connection.execute(sql["renew_lease"], params).fetchone() is None:
            raise stale_fence(connector_id)


def hold(store: Store, connection: Connection, connector_id: int, *, fence: int) -> None:
    """The lease is nobody else's until the transaction of ``connection`` ends, or `StaleFence`."""
    params = {"connector_id": connector_id, "fence": fence}
    if connection.execute(queries(store.schema, "lease")["hold_lease"], params).fetchone() is None:
        raise stale_fence(connector_id)


def stale_fence(connector_id: int) -> StaleFence:
    return StaleFence(f"Another run took over connector {connector_id}; this one writes nothing more.")


def advance(store: Store, page_id: int, *, fence: int) -> int:
    """The checkpoint's version after the page moved it, with the connector's memory. A repeat changes nothing."""
    sql = queries(store.schema, "lease")
    with store.connection() as connection, connection.transaction():
        moved = connection.execute(sql["advance"], {"page_id": page_id, "fence": fence, "lease_s": LEASE_S}).fetchone()
        if moved is not None:
            remember(connection, store.schema, page_id)
            return int(moved[0])
        now = connection.execute(sql["advanced"], {"page_id": page_id}).fetchone()
        if now is not None and now[2] == page_id:
            return int(now[0])
        if now is not None and now[1] != fence:
            raise StaleFence(f"Another run took over the connector of page {page_id}; this one moves nothing.")
        raise CheckpointConflict(f"The checkpoint did not stand before page {page_id}; start the sync again.")


def restart(store: Store, connector_id: int, *, fence: int, cursor: str | None) -> None:
    """The pass that was just begun, and any that begins anew after it, goes on at ``cursor``. `StaleFence` if it was overtaken."""
    params = {"connector_id": connector_id, "fence": fence, "cursor": cursor}
    with store.connection() as connection:
        if connection.execute(queries(store.schema, "lease")["restart"], params).fetchone() is None:
            raise stale_fence(connector_id)


def end_pass(
    store: Store,
    connector_id: int,
    *,
    fence: int,
    pass_no: int,
    paused: bool,
    error: str | None,
    forget_cursor: bool = False,
) -> PassEnd:
    """Releases the lease and sums up. Harmless when repeated, and when the lease is already somebody else's."""
    sql = queries(store.schema, "lease")
    key = {"connector_id": connector_id, "pass_no": pass_no}
    with store.connection() as connection, connection.transaction():
        held = {**key, "fence": fence}
        if forget_cursor:
            connection.execute(sql["forget_cursor"], held)
        released = connection.execute(sql["release_lease"], {**held, "is_paused": paused}).rowcount
        if released:
            connection.execute(sql["note_sync"], {**key, "error": error})
            connection.execute(sql["forget_old_pages"], key)
        failed = connection.execute(sql["failed_sources"], key).fetchall()
        unlisted = connection.execute(sql["unlisted_parts"], key).fetchall()
        generation = connection.execute(sql["last_generation"], key).fetchone()
    failures = [(path, "failed", reason) for path, reason in unlisted]
    failures += [(source_id, state, reason) for source_id, state, reason, _ in failed]
    return PassEnd(
        generation=generation[0] if generation else 0,
        failed=len(unlisted) + (failed[0][3] if failed else 0),
        failures=failures[:100],
    )
