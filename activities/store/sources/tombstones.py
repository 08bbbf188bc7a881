"""Tombstones: a source that must not be served any more, and all that was derived from it, hidden in one transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection, Rollback

from activities.store.database import Store
from activities.store.requests import audit, note_step, step_result
from activities.store.scopes import find_scope
from activities.store.sources.access import authorize, check_granted
from activities.store.sql import queries
from headwater.contracts.deletion import Reason
from headwater.errors import LimitError, PermanentError, ValidationError
from headwater.models import Authorization, Scope

STEP: Final = "propagate"
LEVELS_MAX: Final = 8  # of derivation below the root
IDS_MAX: Final = 4_096  # the root counted
BATCH: Final = 128  # ids of one statement


@dataclass(frozen=True, slots=True)
class Propagation:
    """What was hidden, the root first, then level by level in the order of the ids.

    What was read before ``gen`` was taken is to be removed, what was read later is not.
    """

    ids: tuple[str, ...]
    reason: Reason
    tombstoned: int  # new, or changed: a hold is neither
    gen: int


def propagate(
    store: Store,
    scope: Scope,
    source_id: str,
    *,
    authorization: Authorization,
    reason: Reason,
    request_no: int,
    actor: str | None,
    service_principals: Collection[tuple[str, str]] = (),
) -> Propagation:
    """Hides the source and what rests on it. A repeat of the request answers the same.

    Who may not ask is refused before any transaction, so that nobody takes the scope's lock who has no right to. Under the
    lock the grant is looked at again: one that was taken away while this waited no longer counts.
    """
    key = (request_no, STEP)
    with store.connection() as connection:
        known = step_result(connection, store.schema, *key)
        if known is not None:
            return _known(known)
        authorize(connection, store.schema, scope, authorization, [source_id], service_principals)
        scope_id = find_scope(connection, store.schema, scope)
        with connection.transaction() as hiding:
            gen = _take_generation(connection, store.schema, scope_id)
            known = step_result(connection, store.schema, *key)
            if known is not None:
                raise Rollback(hiding)  # a repeat takes no generation
            is_service = check_granted(
                connection, store.schema, scope_id, scope, authorization, [source_id], service_principals
            )
            ids = closure(connection, store.schema, scope_id, source_id)
            tombstoned = write_tombstones(
                connection, store.schema, scope_id, ids, reason=reason, gen=gen, root=source_id
            )
            if reason == "corrected":
                _check_settled(connection, store.schema, scope_id, ids)
            else:
                drop_grants(connection, store.schema, scope_id, ids)
            logged = {"scope_id": scope_id, "gen": gen, "sources": tombstoned}
            connection.execute(queries(store.schema, "tombstones")["log_generation"], logged)
            done = Propagation(tuple(ids), reason, tombstoned, gen)
            detail = {
                "source_id": source_id, "reason": reason, "ids": len(ids), "tombstoned": tombstoned,
                "principal": authorization.principal_id, "as_service": is_service,
            }  # fmt: skip
            audit(connection, store.schema, scope_id, actor=actor, action=STEP, detail=detail)
            note_step(connection, store.schema, *key, _noted(done))
    return done if known is None else _known(known)


def closure(connection: Connection, schema: str, scope_id: int, root: str) -> list[str]:
    """The root and every source that rests on it, by level and then by id, whatever the order of rows.

    Read under the scope's lock. Over a cap it is a `LimitError`, before anything is written.
    """
    seen = {root: None}
    front = [root]
    level = 0
    while front:
        # As many as could have been met before, and one more than fit: then the cap is passed for certain.
        asked = {"scope_id": scope_id, "ids": front, "limit": len(seen) + IDS_MAX + 1}
        rows = connection.execute(queries(schema, "tombstones")["dependants"], asked)
        front = sorted({row[0] for row in rows} - seen.keys())
        level += 1
        if front and level > LEVELS_MAX:
            raise LimitError(
                f"What was derived from {root} is more than {LEVELS_MAX} levels deep: propagate one of its dependants first."
            )
        if len(seen) + len(front) > IDS_MAX:
            raise LimitError(
                f"More than {IDS_MAX:,} ids rest on {root}, itself included: propagate some of its dependants first."
            )
        seen |= dict.fromkeys(front)
    return list(seen)


def write_tombstones(
    connection: Connection, schema: str, scope_id: int, ids: Sequence[str], *, reason: Reason, gen: int, root: str
) -> int:
    """How many of ``ids`` got a tombstone or another one. The caller holds the scope's lock, and took ``gen``."""
    with connection.cursor() as cursor:
        cursor.executemany(
            queries(schema, "tombstones")["write"],
            [
                {"scope_id": scope_id, "ids": list(batch), "reason": reason, "gen": gen, "root": root}
                for batch in _batches(ids)
            ],
        )
        return cursor.rowcount


def drop_grants(connection: Connection, schema: str, scope_id: int, ids: Sequence[str]) -> None:
    """Nobody may read these sources any more. The caller holds the scope's lock."""
    connection.execute(queries(schema, "tombstones")["drop_grants"], {"scope_id": scope_id, "ids": list(ids)})


def propagated(store: Store, request_no: int) -> Propagation:
    """What the request hid."""
    with store.connection() as connection:
        noted = step_result(connection, store.schema, request_no, STEP)
    if noted is None:
        raise PermanentError(f"Request {request_no} has hidden nothing yet: send it again.")
    return _known(noted)


def held(store: Store, scope: Scope, ids: Sequence[str]) -> set[str]:
    """Those of ``ids`` that are under a legal hold: of them nothing is removed."""
    with store.connection() as connection:
        scope_id = find_scope(connection, store.schema, scope)
        asked = {"scope_id": scope_id, "ids": list(ids)}
        return {row[0] for row in connection.execute(queries(store.schema, "tombstones")["held"], asked)}


def _check_settled(connection: Connection, schema: str, scope_id: int, ids: Sequence[str]) -> None:
    """A correction hides by what edges name. While a move rewrites them, some still name an id without a tombstone."""
    asked = {"scope_id": scope_id, "ids": list(ids)}
    if moving := connection.execute(queries(schema, "tombstones")["under_way"], asked).fetchone():
        raise ValidationError(
            f"The move of {moving[0]} to {moving[1]} has not ended: ask for it again until it returns no cursor, then for this."
        )


def _take_generation(connection: Connection, schema: str, scope_id: int) -> int:
    row = connection.execute(queries(schema, "tombstones")["take_generation"], {"scope_id": scope_id}).fetchone()
    assert row is not None
    return int(row[0])


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[first : first + BATCH] for first in range(0, len(ids), BATCH)]


def _noted(done: Propagation) -> dict[str, Any]:
    return {"ids": list(done.ids), "reason": done.reason, "tombstoned": done.tombstoned, "gen": done.gen}


def _known(noted: dict[str, Any]) -> Propagation:
    return Propagation(tuple(noted["ids"]), noted["reason"], noted["tombstoned"], noted["gen"])
