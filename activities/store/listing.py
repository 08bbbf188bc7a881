"""Pages: what a connector listed, compared with what is held, written down before anything is read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from activities.store import Store
from activities.store.lease import hold, stale_fence
from activities.store.sql import queries
from headwater.connectors import Unlisted


@dataclass(frozen=True, slots=True)
class Known:
    """How a source was last read by this connector, and whether readers see it (``content_hash`` is then set)."""

    source_id: str
    source_pk: int
    state: str | None
    reason: str | None
    source_version: str | None
    raw_sha256: bytes | None
    parser: str | None
    rule_version: int
    content_hash: bytes | None


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page begins. ``is_complete``: the listing is over and the sweep goes on after ``sweep_after``."""

    cursor: str | None
    is_complete: bool
    sweep_after: str | None


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a page: ``upsert``, ``grants`` or ``delete``."""

    kind: str
    source_id: str
    locator: str = ""
    path: str = ""
    version: str | None = None
    grants: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class NewPage:
    connector_id: int
    scope_id: int
    build_id: int
    pass_no: int
    seq: int
    fence: int
    rule_version: int  # the connector's, which the items' grants were made from
    page_size: int
    cursor_out: str
    is_complete: bool
    sweep_after: str | None
    listed: int
    skipped: int
    known_failed: int
    items: Sequence[Item]
    unchanged_pks: Sequence[int]
    unlisted: Sequence[Unlisted]


@dataclass(frozen=True, slots=True)
class StoredPage:
    page_id: int
    is_last: bool
    listed: int
    skipped: int
    known_failed: int
    items: int


def find_page(store: Store, *, connector_id: int, pass_no: int, seq: int) -> StoredPage | None:
    with store.connection() as conn, conn.cursor(row_factory=class_row(StoredPage)) as cur:
        key = {"connector_id": connector_id, "pass_no": pass_no, "seq": seq}
        return cur.execute(queries(store.schema, "listing")["find_page"], key).fetchone()


def position(store: Store, *, connector_id: int, pass_no: int, seq: int, fence: int) -> Position:
    """Where page ``seq`` begins. `StaleFence` if the lease is somebody else's by now."""
    with store.connection() as conn:
        key = {"connector_id": connector_id, "pass_no": pass_no, "seq": seq}
        row = conn.execute(queries(store.schema, "listing")["listing_position"], key).fetchone()
    if row is None or row[0] != fence or row[1] is None:
        raise stale_fence(connector_id)
    return Position(cursor=row[2], is_complete=row[3], sweep_after=row[4])


def known_sources(store: Store, *, connector_id: int, scope_id: int, source_ids: Sequence[str]) -> dict[str, Known]:
    """What is held of ``source_ids``, by id. Ids that this connector does not hold are missing."""
    with store.connection() as conn, conn.cursor(row_factory=class_row(Known)) as cur:
        params = {"connector_id": connector_id, "scope_id": scope_id, "source_ids": list(source_ids)}
        cur.execute(queries(store.schema, "listing")["known_sources"], params)
        return {row.source_id: row for row in cur}


def record_page(store: Store, page: NewPage) -> StoredPage:
    """The page with its items, in one transaction; the one that is there already if another attempt was faster.

    When the listing is complete and had no unlisted parts, the page also deletes what the pass has not seen, as far
    as its size allows; the pages after it go on with that.
    """
    sql = queries(store.schema, "listing")
    key = {"connector_id": page.connector_id, "pass_no": page.pass_no, "scope_id": page.scope_id}
    items = list(page.items)
    with store.connection() as conn, conn.transaction():
        # A run that was overtaken would mark documents as seen by its own pass, and the newer one would sweep them.
        hold(store, conn, page.connector_id, fence=page.fence)
        seen = sorted(item.source_id for item in items if item.kind != "delete")
        if seen:
            conn.execute(sql["ensure_sources"], {**key, "source_ids": seen})
            conn.execute(sql["ensure_members"], {**key, "source_ids": seen})
        if page.unchanged_pks:
            conn.execute(sql["mark_seen"], {**key, "source_pks": list(page.unchanged_pks)})
        sweep_after, is_last = page.sweep_after, False
        if page.is_complete:
            whole = conn.execute(sql["is_listing_whole"], key).fetchone()
            is_last = True
            if whole is not None and whole[0] and not page.unlisted:
                room = max(page.page_size - len(items), 1)
                after = sweep_after or ""
                gone = conn.execute(sql["unseen"], {**key, "after": after, "limit": room + 1}).fetchall()
                is_last = len(gone) <= room
                items += [Item(kind="delete", source_id=row[0]) for row in gone[:room]]
                sweep_after = gone[:room][-1][0] if gone else after
        inserted = conn.execute(
            sql["insert_page"],
            {
                **key,
                "build_id": page.build_id,
                "seq": page.seq,
                "fence": page.fence,
                "rule_version": page.rule_version,
                "cursor_out": page.cursor_out,
                "is_complete": page.is_complete,
                "sweep_after": sweep_after,
                "is_last": is_last,
                "listed": page.listed,
                "skipped": page.skipped,
                "known_failed": page.known_failed,
                "unlisted": json.dumps([{"path": part.path, "reason": part.reason} for part in page.unlisted]),
            },
        ).fetchone()
        if inserted is not None and items:
            conn.execute(sql["insert_items"], {"page_id": inserted[0], "items": json.dumps(_records(items))})
    stored = find_page(store, connector_id=page.connector_id, pass_no=page.pass_no, seq=page.seq)
    assert stored is not None, "the page was inserted above or stood there already"
    return stored


def _records(items: Sequence[Item]) -> list[dict[str, object]]:
    return [
        {
            "ord": ord_,
            "kind": item.kind,
            "source_id": item.source_id,
            "locator": item.locator,
            "path": item.path,
            "version": item.version,
            "grants": item.grants,
        }
        for ord_, item in enumerate(items)
    ]
