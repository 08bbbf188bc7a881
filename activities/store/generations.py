"""The live pointer, moved by hand: back or forward to a retained generation, held there, let go again.

What can be shown, by whoever reads or moves the pointer: generation N of a scope, if min_gen <= N <= head_gen and the last
row of pointer_log with gen <= N and a kind of publish, delete, fork or flip names a build that is live or retired. Readers
see that build at N, under today's grants, fences and tombstones. N needs no row of its own: an older release wrote none for
a propagated deletion. The floor (min_gen) is read in the same statement as the spans: collection may raise it at any moment.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypedDict

import psycopg
from psycopg.rows import class_row, dict_row

from activities.store.database import Store
from activities.store.requests import InvalidInput, audit, note_step, step_result
from activities.store.sql import queries
from headwater.contracts import SetGenerationResult
from headwater.errors import LimitError, ValidationError
from headwater.models import Scope

MAX_LIMIT: Final = 1000
STEP: Final = "move"
# Above every generation that is taken, and below the end of an open span: a build at its head.
HEAD: Final = 2**63 - 2


class GenerationStatus(TypedDict):
    generation: int
    build: int
    kind: str
    at: str
    sources: int
    language: str | None  # of the build's words; None: it was made before there were any


class GenerationListing(TypedDict):
    corpus: str
    live_generation: int
    live_build: int
    pinned: bool
    head_generation: int
    oldest_generation: int
    generations: list[GenerationStatus]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a scope stands while its lock is held."""

    scope_id: int
    head_gen: int
    min_gen: int
    live_build: int
    live_gen: int
    pinned: bool

    @property
    def base_gen(self) -> int:
        """What the next publication goes on from: the build's head while pinned, else what readers see."""
        return HEAD if self.pinned else self.live_gen


def set_generation(
    store: Store, scope: Scope, generation: int, *, actor: str | None = None, request_no: int | None = None
) -> SetGenerationResult:
    """Readers see what they saw at `generation`, under today's grants and deletions; the next publication forks there.

    A pinned corpus stays pinned. `InvalidInput` names the generations that can be shown. With a ``request_no`` it is done
    once: a repeat moves nothing, whatever was published since.
    """
    with store.connection() as connection, connection.transaction():
        place = _lock(connection, store.schema, scope)
        if _is_first(connection, store.schema, request_no) and generation != place.live_gen:
            build_id = _build_at(connection, store.schema, scope, place, generation)
            _move(connection, store.schema, place, build_id, generation, pinned=place.pinned, kind="rollback")
            detail = {"generation": generation, "build": build_id, "from": place.live_gen}
            audit(connection, store.schema, place.scope_id, actor=actor, action="set_generation", detail=detail)
    return _result(store, scope)


def pin(
    store: Store, scope: Scope, *, pinned: bool, actor: str | None = None, request_no: int | None = None
) -> SetGenerationResult:
    """Readers stay where they are while publishing goes on; unpinned, they see the live build's newest state."""
    with store.connection() as connection, connection.transaction():
        place = _lock(connection, store.schema, scope)
        if _is_first(connection, store.schema, request_no) and pinned != place.pinned:
            head = connection.execute(
                queries(store.schema, "generations")["build_head"], {"build_id": place.live_build}
            ).fetchone()
            assert head is not None
            generation = place.live_gen if pinned else max(place.live_gen, head[0])
            kind = "pin" if pinned else "unpin"
            _move(connection, store.schema, place, place.live_build, generation, pinned=pinned, kind=kind)
            detail = {"generation": generation, "build": place.live_build}
            audit(connection, store.schema, place.scope_id, actor=actor, action=kind, detail=detail)
    return _result(store, scope)


def listing(store: Store, scope: Scope, *, limit: int = 100) -> GenerationListing:
    """The generations that readers could be shown, newest first; in the JSON of `headwater generation list`."""
    if not 1 <= limit <= MAX_LIMIT:
        raise LimitError(f"1 to {MAX_LIMIT} generations are listed at once, not {limit}: ask for fewer.")
    named = queries(store.schema, "generations")
    with store.connection() as connection, connection.transaction(), connection.cursor(row_factory=dict_row) as cursor:
        place = cursor.execute(named["place"], scope.model_dump()).fetchone()
        if place is None:
            raise _absent(scope)
        rows = cursor.execute(named["generations"], {"scope_id": place["scope_id"], "limit": limit}).fetchall()
        oldest = _oldest(connection, store.schema, place["scope_id"])
    return {
        "corpus": str(scope),
        "live_generation": place["live_gen"],
        "live_build": place["live_build"],
        "pinned": place["pinned"],
        "head_generation": place["head_gen"],
        "oldest_generation": oldest,
        "generations": [_generation(row) for row in rows],
    }


def _lock(connection: psycopg.Connection, schema: str, scope: Scope) -> _Place:
    statement = queries(schema, "generations")["lock_scope"]
    with connection.cursor(row_factory=class_row(_Place)) as cursor:
        place = cursor.execute(statement, scope.model_dump()).fetchone()
    if place is None or place.live_build is None:
        raise _absent(scope)
    return place


def _is_first(connection: psycopg.Connection, schema: str, request_no: int | None) -> bool:
    """Whether the request moves the pointer now; asked under the scope's lock, and noted at once."""
    if request_no is None:
        return True
    if step_result(connection, schema, request_no, STEP) is not None:
        return False
    note_step(connection, schema, request_no, STEP, {})
    return True


def _absent(scope: Scope) -> ValidationError:
    return InvalidInput(f"Corpus {scope} holds nothing yet: sync or push documents into it first.")


def _build_at(connection: psycopg.Connection, schema: str, scope: Scope, place: _Place, generation: int) -> int:
    key = {"scope_id": place.scope_id, "gen": generation}
    found = connection.execute(queries(schema, "generations")["build_at"], key).fetchone()
    if found is None or not found[1] or not place.min_gen <= generation <= place.head_gen:
        oldest = _oldest(connection, schema, place.scope_id)
        kept = f"{oldest} to {place.head_gen} are" if oldest else "nothing was published yet"
        raise InvalidInput(
            f"Generation {generation} of {scope} is not there ({kept}): choose one of "
            f"`headwater generation list --corpus {scope}`."
        )
    return int(found[0])


def _oldest(connection: psycopg.Connection, schema: str, scope_id: int) -> int:
    row = connection.execute(queries(schema, "generations")["oldest"], {"scope_id": scope_id}).fetchone()
    return int(row[0] or 0) if row else 0


def _move(
    connection: psycopg.Connection,
    schema: str,
    place: _Place,
    build_id: int,
    generation: int,
    *,
    pinned: bool,
    kind: str,
) -> None:
    named = queries(schema, "generations")
    to = {"scope_id": place.scope_id, "build_id": build_id, "gen": generation}
    if build_id != place.live_build:  # the one first: a scope has at most one live build at any moment
        connection.execute(named["retire_others"], to)
        connection.execute(named["revive"], to)
    connection.execute(named["point"], to | {"pinned": pinned, "kind": kind})
    builds = {"old_build": place.live_build, "new_build": build_id}
    bases = {"old_gen": place.base_gen, "new_gen": HEAD if pinned else generation}
    if bases["old_gen"] != bases["new_gen"] or build_id != place.live_build:
        connection.execute(named["read_again"], builds | bases)
    if generation != place.live_gen:
        shown = builds | {"old_gen": place.live_gen, "new_gen": generation}
        connection.execute(named["mark_stale"], shown)
        connection.execute(named["mark_current"], shown)


def _result(store: Store, scope: Scope) -> SetGenerationResult:
    """What readers see now. After the lock: counting is not worth holding up a publication."""
    named = queries(store.schema, "generations")
    with store.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        place = cursor.execute(named["place"], scope.model_dump()).fetchone()
        assert place is not None
        stale = connection.execute(named["count_stale"], {"scope_id": place["scope_id"]}).fetchone()
    assert stale is not None
    return SetGenerationResult(
        generation=place["live_gen"], build=place["live_build"], pinned=place["pinned"], stale=stale[0]
    )


def _generation(row: dict[str, Any]) -> GenerationStatus:
    at: datetime = row["at"]
    return {
        "generation": row["generation"],
        "build": row["build"],
        "kind": row["kind"],
        "at": at.astimezone(UTC).isoformat(timespec="seconds"),
        "sources": row["sources"],
        "language": row["language"],
    }
