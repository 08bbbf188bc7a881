"""The end of a connector. What it alone holds stays behind as stale, or was swept before; its own rows go.

All of it happens under the connector's lease, so that no sync is under way meanwhile. The lease is taken as by a pass
that lists nothing: to delete all that it holds is what such a pass does.
"""

from dataclasses import dataclass
from typing import Final

from psycopg import Connection
from psycopg.types.json import Jsonb

from activities.store.database import Store
from activities.store.garbage.garbage import drop_removed
from activities.store.pages import lease
from activities.store.pages.lease import Lease
from activities.store.pointer import end_sources, lock_pointer, move_pointer
from activities.store.requests import audit
from activities.store.sql import queries

SOURCES_A_PAGE: Final = 500
ACTION: Final = "remove_connector"


@dataclass(frozen=True, slots=True)
class Removed:
    kept: int
    deleted: int


def begin_removal(store: Store, connector_id: int, *, owner: str, run: str, actor: str | None) -> Lease:
    """The lease of a pass that will end the connector. Raises `AlreadyRunning` while it is synced."""
    taken = lease.begin_pass(store, connector_id, owner=owner, run=run, full=True, actor=actor, action="begin_removal")
    with store.connection() as connection:
        key = {"connector_id": connector_id, "fence": taken.fence}
        connection.execute(queries(store.schema, "connector_removal")["list_anew"], key)
    return taken


def keep_page(store: Store, connector_id: int, *, fence: int, scope_id: int, name: str, after: int) -> int | None:
    """Leaves a page of sources behind, in one transaction. The last of them; None when there are no more.

    What another connector holds too is that one's from now on, and what has no text is deleted: of it there is nothing to
    keep. A repeat changes nothing more.
    """
    lease.renew(store, connector_id, fence=fence)
    sql = queries(store.schema, "connector_removal")
    with store.connection() as connection, connection.transaction():
        pointer = lock_pointer(connection, store.schema, scope_id)
        lease.hold(store, connection, connector_id, fence=fence)
        key = {"connector_id": connector_id, "after": after, "limit": SOURCES_A_PAGE}
        held = connection.execute(sql["held"], key).fetchall()
        if shared := [source_pk for source_pk, is_shared, _ in held if is_shared]:
            left = {"connector_id": connector_id, "dropped": shared}
            connection.execute(queries(store.schema, "publish")["leave_to_others"], left)
        mine = [(source_pk, has_text) for source_pk, is_shared, has_text in held if not is_shared]
        if kept := [source_pk for source_pk, has_text in mine if has_text]:
            connection.execute(sql["leave_behind"], {"source_pks": kept, "said": _said(name)})
        if ended := [source_pk for source_pk, has_text in mine if not has_text]:
            gen = pointer.head_gen + 1
            end_sources(connection, store.schema, ended, gen)
            move_pointer(connection, store.schema, pointer, gen, published=0, deleted=len(ended))
    return held[-1][0] if held else None


def drop_connector(store: Store, connector_id: int, *, fence: int, deleted: int, actor: str | None) -> Removed:
    """The connector's own rows go, and with them its hold on what is left. A repeat answers the same."""
    sql, key = queries(store.schema, "connector_removal"), {"connector_id": connector_id}
    with store.connection() as connection:
        _forget_work(store, connection, connector_id, fence=fence)
        with connection.transaction():
            # Another connector that drops a file asks under this lock who else holds it, and may make it this one's.
            connection.execute(sql["lock_scope"], key)
            found = connection.execute(sql["find"], key).fetchone()
            if found is None:
                return _removed_before(connection, sql["removed"], connector_id, deleted)
            lease.hold(store, connection, connector_id, fence=fence)
            removed = _drop(connection, store.schema, connector_id, found, deleted=deleted, actor=actor)
        drop_removed(connection, store.schema, found[0], connector_id)
        return removed


def _forget_work(store: Store, connection: Connection, connector_id: int, *, fence: int) -> None:
    """What nobody else asks for, and may be much: by itself, without the scope's lock."""
    sql, key = queries(store.schema, "connector_removal"), {"connector_id": connector_id}
    with connection.transaction():
        if connection.execute(sql["find"], key).fetchone() is None:
            return
        lease.hold(store, connection, connector_id, fence=fence)
        for step in ("forget_cuts", "forget_pages", "forget_links"):
            connection.execute(sql[step], key)


def _drop(
    connection: Connection,
    schema: str,
    connector_id: int,
    found: tuple[int, str, str],
    *,
    deleted: int,
    actor: str | None,
) -> Removed:
    sql, key, (scope_id, name, kind) = queries(schema, "connector_removal"), {"connector_id": connector_id}, found
    late = [row[0] for row in connection.execute(sql["handed_over_since"], key)]
    if late:
        connection.execute(sql["leave_behind"], {"source_pks": late, "said": _said(name)})
    left = connection.execute(sql["count_left"], key).fetchone()
    assert left is not None
    connection.execute(sql["forget_members"], key)
    for step in ("mark_removed", "free_checkpoint"):
        connection.execute(sql[step], key)
    removed = Removed(kept=left[0], deleted=deleted)
    detail = {**key, "connector": name, "kind": kind, "kept": removed.kept, "deleted": removed.deleted}
    audit(connection, schema, scope_id, actor=actor, action=ACTION, detail=detail)
    return removed


def _said(name: str) -> str:
    return f"connector {name} was removed"


def _removed_before(connection: Connection, sql: bytes, connector_id: int, deleted: int) -> Removed:
    found = connection.execute(sql, {"key": Jsonb({"connector_id": connector_id})}).fetchone()
    return Removed(kept=found[0]["kept"] if found else 0, deleted=deleted)
