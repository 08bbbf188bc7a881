"""Pages: what a connector listed, compared with what is held, written down before anything is read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import Connection
from psycopg.rows import class_row

from activities.store import Store
from activities.store.pages.lease import hold, stale_fence
from activities.store.sql import queries
from headwater.connectors import Unlisted


@dataclass(frozen=True, slots=True)
class Known:
    """How a source was last read by this connector, and whether readers see it (``content_hash`` is then set)."""

    source_id: str
    source_pk: int
    state: str | None
    source_version: str | None
    raw_sha256: bytes | None
    parser: str | None
    rule_version: int
    content_hash: bytes | None
    tombstone: str | None = None  # reason for which it must not be served
    tombstone_version: str | None = None  # connector's version of what was forgotten
    seen_seq: int | None = None  # order of the reading that readers see
    label: str | None = None  # what was shown of it besides its text, as its connector tells
    read_as: str | None = None  # what its name and media type said of how it is read; None: nothing was read
    reason: str | None = None
    freshness: str | None = None
    access: str | None = None  # fingerprint of the grants that this connector brought last; empty: they went
    is_member: bool = True  # False: another connector holds it, and the two count as one owner
    is_named_elsewhere: bool = False  # so it is, that one published it first, and holds it still

    @property
    def is_denied(self) -> bool:
        """Whether its origin lets nobody read it."""
        return self.state == "denied" or self.freshness == "unavailable"

    def is_refused_at(self, version: str | None) -> bool:
        """Whether its origin refused its content at that version: it is asked for again at another one."""
        return self.is_denied and version is not None and version == self.source_version

    def is_hidden_at(self, version: str | None) -> bool:
        """Whether a text of that version would not be published: what was forgotten comes back in a newer one alone."""
        if self.tombstone == "forgotten":
            return version is not None and version == self.tombstone_version
        return self.tombstone is not None


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page begins. ``is_complete``: the listing is over and the sweep goes on after ``sweep_after``, if it was whole."""

    cursor: str | None
    is_complete: bool
    sweep_after: str | None
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a page: ``upsert``, ``grants`` or ``delete``."""

    kind: str
    source_id: str
    locator: str = ""
    path: str = ""
    version: str | None = None
    label: str | None = None
    access: str | None = None
    grants: dict[str, object] | None = None
    faults: int = 0  # tries that are used up


@dataclass(slots=True)
class Draft:
    """A page coming together: what was listed so far, and what of it must be done."""

    cursor: str | None
    is_complete: bool
    is_whole: bool = True  # asked when it is complete
    items: dict[str, Item] = field(default_factory=dict)  # by source id: what was listed last counts
    unchanged_pks: list[int] = field(default_factory=list)
    unlisted: list[Unlisted] = field(default_factory=list)
    listed: int = 0
    skipped: int = 0
    known_failed: int = 0


@dataclass(frozen=True, slots=True)
class NewPage:
    """A draft, and where it stands: page ``seq`` of a pass, under the connector's access rule of ``rule_version``."""

    connector_id: int
    scope_id: int
    build_id: int
    pass_no: int
    seq: int
    fence: int
    rule_version: int
    page_size: int
    sweep_after: str | None
    draft: Draft
    memory: str | None = None  # what the connector wrote into it while it listed the page


@dataclass(frozen=True, slots=True)
class StoredPage:
    page_id: int
    is_last: bool
    listed: int
    skipped: int
    known_failed: int
    items: int


def find_page(store: Store, *, connector_id: int, pass_no: int, seq: int) -> StoredPage | None:
    with store.connection() as connection, connection.cursor(row_factory=class_row(StoredPage)) as cursor:
        key = {"connector_id": connector_id, "pass_no": pass_no, "seq": seq}
        return cursor.execute(queries(store.schema, "listing")["find_page"], key).fetchone()


def position(store: Store, *, connector_id: int, pass_no: int, seq: int, fence: int) -> Position:
    """Where page ``seq`` begins. `StaleFence` if the lease is somebody else's by now."""
    with store.connection() as connection:
        key = {"connector_id": connector_id, "pass_no": pass_no, "seq": seq}
        row = connection.execute(queries(store.schema, "listing")["listing_position"], key).fetchone()
    if row is None or row[0] != fence or row[1] is None:
        raise stale_fence(connector_id)
    return Position(cursor=row[2], is_complete=row[3], sweep_after=row[4], is_whole=row[5])


def is_under_way(store: Store, *, connector_id: int, pass_no: int, seq: int, source_ids: Sequence[str]) -> bool:
    """Whether the page before ``seq`` brings one of ``source_ids`` and is not published. All pages before that one are."""
    with store.connection() as connection:
        key = {"connector_id": connector_id, "pass_no": pass_no, "seq": seq, "source_ids": list(source_ids)}
        return connection.execute(queries(store.schema, "listing")["under_way"], key).fetchone() is not None


def known_sources(store: Store, *, connector_id: int, scope_id: int, source_ids: Sequence[str]) -> dict[str, Known]:
    """What is held of ``source_ids``, by id. Ids that this connector does not hold are missing."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(Known)) as cursor:
        params = {"connector_id": connector_id, "scope_id": scope_id, "source_ids": list(source_ids)}
        cursor.execute(queries(store.schema, "listing")["known_sources"], params)
        return {row.source_id: row for row in cursor}


def record_page(store: Store, page: NewPage) -> StoredPage:
    """The page with its items, in one transaction; the one that is there already if another attempt was faster.

    When the listing is complete, whole and without unlisted parts, the page also deletes what the pass has not seen, as far
    as its size allows; the pages after it go on with that.
    """
    sql, draft = queries(store.schema, "listing"), page.draft
    key = {"connector_id": page.connector_id, "pass_no": page.pass_no, "scope_id": page.scope_id}
    items = list(draft.items.values())
    with store.connection() as connection, connection.transaction():
        seen = sorted(item.source_id for item in items if item.kind != "delete")
        if seen or draft.unchanged_pks:
            connection.execute(sql["share_scope"], key)
        # A run that was overtaken would mark documents as seen by its own pass, and the newer one would sweep them.
        hold(store, connection, page.connector_id, fence=page.fence)
        if seen:
            connection.execute(sql["ensure_sources"], {**key, "source_ids": seen})
            connection.execute(sql["ensure_members"], {**key, "source_ids": seen})
        if draft.unchanged_pks:
            connection.execute(sql["mark_seen"], {**key, "source_pks": draft.unchanged_pks})
        sweep_after, is_last = page.sweep_after, draft.is_complete
        if draft.is_complete and draft.is_whole and not draft.unlisted and _is_whole(connection, sql, key):
            room = max(page.page_size - len(items), 1)
            after = {**key, "after": sweep_after or "", "limit": room + 1}
            gone = [row[0] for row in connection.execute(sql["unseen"], after)]
            is_last = len(gone) <= room
            swept = gone[:room]
            items += [Item(kind="delete", source_id=source_id) for source_id in swept if source_id not in draft.items]
            sweep_after = swept[-1] if swept else sweep_after or ""
        inserted = connection.execute(
            sql["insert_page"],
            {
                **key,
                "build_id": page.build_id,
                "seq": page.seq,
                "fence": page.fence,
                "rule_version": page.rule_version,
                "cursor_out": draft.cursor or "",
                "is_complete": draft.is_complete,
                "is_whole": draft.is_whole or not draft.is_complete,
                "memory": page.memory,
                "sweep_after": sweep_after,
                "is_last": is_last,
                "listed": draft.listed,
                "skipped": draft.skipped,
                "known_failed": draft.known_failed,
                "unlisted": json.dumps([{"path": part.path, "reason": part.reason} for part in draft.unlisted]),
            },
        ).fetchone()
        if inserted is not None and items:
            connection.execute(sql["insert_items"], {"page_id": inserted[0], "items": json.dumps(_records(items))})
    stored = find_page(store, connector_id=page.connector_id, pass_no=page.pass_no, seq=page.seq)
    assert stored is not None, "the page was inserted above or stood there already"
    return stored


def _is_whole(connection: Connection, sql: Mapping[str, bytes], key: Mapping[str, object]) -> bool:
    """Whether every page of the pass could list all it should: only then is what was not seen gone."""
    row = connection.execute(sql["is_listing_whole"], key).fetchone()
    return row is not None and bool(row[0])


def _records(items: Sequence[Item]) -> list[dict[str, object]]:
    return [
        {
            "ord": ord_,
            "kind": item.kind,
            "source_id": item.source_id,
            "locator": item.locator,
            "path": item.path,
            "version": item.version,
            "label": item.label,
            "access": item.access,
            "grants": item.grants,
            "faults": item.faults,
        }
        for ord_, item in enumerate(items)
    ]
