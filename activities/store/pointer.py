"""The live pointer: moving it with what is published or deleted, and forking when it stood in the past.

Moving it by hand is `generations.py`'s.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from activities.store.sql import queries
from headwater.errors import ValidationError


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a scope stands while its lock is held."""

    scope_id: int
    build_id: int
    head_gen: int  # last generation taken
    live_gen: int  # what readers see
    build_head: int  # last generation that changed the build
    is_pinned: bool = False  # readers stay where it is, and publishing goes on at the build's head

    @property
    def is_rolled_back(self) -> bool:
        return not self.is_pinned and self.live_gen < self.build_head


def end_sources(connection: psycopg.Connection, schema: str, source_pks: Sequence[int], gen: int) -> None:
    """Ends sources as of `gen`: fence, spans, grants, status and memberships. The caller holds the scope's lock."""
    ended = {"source_pks": list(source_pks), "gen": gen}
    for step in ("close_deleted", "fence_sources", "forget_sources"):
        connection.execute(queries(schema, "pointer")[step], ended)


def fork(connection: psycopg.Connection, schema: str, pointer: Pointer, gen: int) -> None:
    """What the pointer shows becomes the newest state again, as of `gen`."""
    connection.execute(
        queries(schema, "pointer")["fork"],
        {"scope_id": pointer.scope_id, "build_id": pointer.build_id, "live_gen": pointer.live_gen, "gen": gen},
    )


def move_pointer(
    connection: psycopg.Connection, schema: str, pointer: Pointer, gen: int, *, published: int, deleted: int
) -> None:
    """`gen` is taken, and is what readers see, unless the pointer is pinned or `gen` only deleted while it stood in the past."""
    connection.execute(
        queries(schema, "pointer")["move_pointer"],
        {
            "scope_id": pointer.scope_id,
            "build_id": pointer.build_id,
            "gen": gen,
            "moves": not pointer.is_pinned and (bool(published) or not pointer.is_rolled_back),
            "kind": "publish" if published else "delete",
            "sources": published + deleted,
        },
    )


def lock_pointer(connection: psycopg.Connection, schema: str, scope_id: int) -> Pointer:
    """Takes the scope's lock: where it stands."""
    named = queries(schema, "pointer")
    row = connection.execute(named["lock_scope"], {"scope_id": scope_id}).fetchone()
    if row is None or row[1] is None:
        raise ValidationError(f"Scope {scope_id} has no live build: sync something into it first.")
    head = connection.execute(named["build_head"], {"build_id": row[1]}).fetchone()
    assert head is not None
    return Pointer(
        scope_id=scope_id, head_gen=row[0], build_id=row[1], live_gen=row[2], build_head=head[0], is_pinned=row[3]
    )
