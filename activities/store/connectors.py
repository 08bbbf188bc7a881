"""The connectors of a corpus: where its documents come from, and under which access rule."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from activities.store.database import Store
from activities.store.pages.lease import already_running
from activities.store.requests import audit
from activities.store.sql import queries
from headwater.errors import ValidationError
from headwater.ids import check_scope_part
from headwater.models import Scope


@dataclass(frozen=True, slots=True)
class ConnectorRow:
    """A connector as it is stored. `rule_version` grows each time a person gives it another access rule."""

    connector_id: int
    scope_id: int
    name: str
    kind: str
    config: dict[str, Any]
    rule_version: int


@dataclass(frozen=True, slots=True)
class PlacedConnector:
    """A connector and its corpus, with what an operator wants to know of it."""

    scope: Scope
    row: ConnectorRow
    sources: int
    withheld: int  # of these, shown to nobody
    last_sync_at: datetime | None
    error: str | None  # why the sync under way waits, or else why the last one stopped; None: neither


def ensure_connector(
    store: Store,
    scope_id: int,
    name: str,
    kind: str,
    config: Mapping[str, Any],
    *,
    new_rule: bool,
    actor: str | None = None,
) -> ConnectorRow:
    """The connector `name`, with `config` as it is now; the audit table says that `actor` added or changed it.

    With `new_rule` the access rule in it was given just now: where it is not the one that is stored already, the grants
    of all sources will be renewed.
    """
    check_scope_part(name, "connector")
    named = queries(store.schema, "connectors")
    with store.connection() as connection, connection.transaction():
        before = connection.execute(named["config_of"], {"scope_id": scope_id, "name": name}).fetchone()
        with connection.cursor(row_factory=class_row(ConnectorRow)) as cursor:
            row = cursor.execute(
                named["ensure_connector"],
                {"scope_id": scope_id, "name": name, "kind": kind, "config": Jsonb(dict(config)), "new_rule": new_rule},
            ).fetchone()
        if row is None:
            raise ValidationError(
                f"Connector {name!r} of this corpus is no {kind}, or was none when it left documents behind: choose another "
                "name."
            )
        connection.execute(named["ensure_checkpoint"], {"connector_id": row.connector_id})
        if before is None:
            _note_connector(connection, store.schema, row, actor=actor, action="add_connector")
        elif changed := _changed(before[0], row.config):
            _note_connector(connection, store.schema, row, actor=actor, action="change_connector", changed=changed)
        return row


def change_settings(store: Store, row: ConnectorRow, config: Mapping[str, Any], *, actor: str | None = None) -> None:
    """The connector has `config` from now on, and its next pass lists everything anew. Raises `AlreadyRunning` during one."""
    with store.connection() as connection, connection.transaction():
        done = connection.execute(
            queries(store.schema, "connectors")["change_settings"],
            {"connector_id": row.connector_id, "config": Jsonb(dict(config))},
        ).fetchone()
        if done is None:
            raise already_running(store, connection, row.connector_id)
        changed = _changed(row.config, config)
        _note_connector(connection, store.schema, row, actor=actor, action="change_connector", changed=changed)


def note_deed(
    store: Store, row: ConnectorRow, *, actor: str | None, action: str, detail: Mapping[str, Any] | None = None
) -> None:
    """Writes down what was asked of a connector and changes nothing here. Its row may be gone by now."""
    with store.connection() as connection:
        _note_connector(connection, store.schema, row, actor=actor, action=action, **(detail or {}))


def find_connector(store: Store, scope: Scope, name: str) -> ConnectorRow | None:
    """The connector `name` of `scope`."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(ConnectorRow)) as cursor:
        return cursor.execute(
            queries(store.schema, "connectors")["find_connector"], scope.model_dump() | {"name": name}
        ).fetchone()


def connector_by_id(store: Store, connector_id: int) -> ConnectorRow:
    """The connector with that row id."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(ConnectorRow)) as cursor:
        row = cursor.execute(
            queries(store.schema, "connectors")["connector_by_id"], {"connector_id": connector_id}
        ).fetchone()
    if row is None:
        raise ValidationError(f"Connector {connector_id} was removed meanwhile: nothing of it is synced.")
    return row


def placed_connectors(store: Store, *, scope: Scope | None = None, name: str | None = None) -> list[PlacedConnector]:
    """The connectors of all corpora, or of one; of that name, if one is given."""
    key = scope.model_dump() if scope else {"tenant_id": None, "resource_id": None, "corpus_id": None}
    with store.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(queries(store.schema, "connectors")["placed_connectors"], {**key, "name": name})
        return [_placed(row) for row in cursor]


def connectors_of(store: Store, scope: Scope) -> list[ConnectorRow]:
    """All connectors of `scope`, by name."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(ConnectorRow)) as cursor:
        return cursor.execute(queries(store.schema, "connectors")["connectors_of"], scope.model_dump()).fetchall()


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Which settings differ, by name: a value may be a path or an address."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def _note_connector(
    connection: Connection, schema: str, row: ConnectorRow, *, actor: str | None, action: str, **detail: Any
) -> None:
    said = {"connector_id": row.connector_id, "connector": row.name, "kind": row.kind, **detail}
    audit(connection, schema, row.scope_id, actor=actor, action=action, detail=said)


def _placed(row: Mapping[str, Any]) -> PlacedConnector:
    return PlacedConnector(
        scope=Scope(tenant_id=row["tenant_id"], resource_id=row["resource_id"], corpus_id=row["corpus_id"]),
        row=ConnectorRow(**{each.name: row[each.name] for each in fields(ConnectorRow)}),
        sources=row["sources"],
        withheld=row["withheld"],
        last_sync_at=row["last_sync_at"],
        error=row["error"],
    )
