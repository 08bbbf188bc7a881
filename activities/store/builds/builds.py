"""A second build of a corpus beside the live one: begun, flipped to, given up, retired. Filling it is `green.py`.

Until the flip it takes no generation and moves no pointer, so that readers and publishing go on as if it were not there.
"""

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Final

import psycopg
from psycopg.rows import class_row

from activities.store.database import Store
from activities.store.requests import InvalidInput, audit
from activities.store.scopes import SpaceSpec
from activities.store.sql import queries
from headwater.errors import PermanentError
from headwater.models import Scope

HOLD_S: Final = 2.0  # publishing waits no longer than this for a build that is about to be flipped to


class BuildConflict(PermanentError):
    """The build cannot be gone on with: it was given up, or documents could not be carried over into it."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A build that is being made, or the live one where there is nothing to do (``is_live``)."""

    build_id: int
    slab: int
    is_live: bool
    generation: int
    sources: int  # that it holds already
    chunks: int


@dataclass(frozen=True, slots=True)
class Flipped:
    """``generation`` None: readers see what the build does not hold, ``missing`` documents, or the other way round."""

    generation: int | None
    former: int | None = None  # the build that readers saw before
    missing: int = 0


@dataclass(frozen=True, slots=True)
class _Live:
    scope_id: int
    is_pinned: bool
    live_gen: int
    build_id: int
    slab: int
    space_id: int
    lexicon: str | None
    is_mismeasured: bool


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a build is made with."""

    space_id: int
    lexicon: str | None


@dataclass(frozen=True, slots=True)
class _Level:
    head_gen: int
    live_build: int
    live_gen: int
    sources: int
    missing: int
    extra: int
    failed: int
    failed_ids: list[str]


def begin_build(
    store: Store, scope: Scope, *, space: SpaceSpec | None, large_chunks: int, actor: str | None = None
) -> Begun:
    """The build that is to become the live one: the one that is being made already, if it is in the same space and lexicon.

    ``space`` None: the live one's own. A build that readers see with the same is made again only to give it a partition of
    its own, which it gets from ``large_chunks`` on, or, where somebody named it, to measure its passages' length anew. One that is being made with others is given up, unless nobody
    named a space.
    """
    with store.connection() as connection:
        shown = connection.execute(queries(store.schema, "builds")["shown_chunks"], scope.model_dump()).fetchone()
        is_large = shown is not None and shown[0] >= large_chunks  # before the lock: the longest read
        with connection.transaction():
            build_id, slab, live_gen = _begin(connection, store.schema, scope, space, is_large=is_large, actor=actor)
    sources, chunks = built_size(store, build_id)
    return Begun(
        build_id=build_id,
        slab=slab,
        is_live=live_gen is not None,
        generation=live_gen or 0,
        sources=sources,
        chunks=chunks,
    )


def _begin(
    connection: psycopg.Connection,
    schema: str,
    scope: Scope,
    space: SpaceSpec | None,
    *,
    is_large: bool,
    actor: str | None,
) -> tuple[int, int, int | None]:
    """Build, slab, and what readers see where it is the live one."""
    sql, scopes = queries(schema, "builds"), queries(schema, "scopes")
    key = scope.model_dump()
    connection.execute(scopes["lock_scope"], key)
    live = connection.cursor(row_factory=class_row(_Live)).execute(sql["scope"], key).fetchone()
    if live is None:
        raise InvalidInput(f"Corpus {scope} has no index yet: sync something into it first.")
    if live.is_pinned:
        raise InvalidInput(f"Corpus {scope} is pinned: run `headwater generation unpin --corpus {scope}` first.")
    shown = _Wanted(live.space_id, live.lexicon)
    wanted = shown if space is None else _Wanted(_ensure_space(connection, scopes, sql, space), space.lexicon)
    current = connection.execute(sql["building"], {"scope_id": live.scope_id}).fetchone()
    if wanted == shown and not (is_large and live.slab == 0) and not (live.is_mismeasured and space is not None):
        if current is not None and space is not None:
            _give_up(connection, schema, live.scope_id, current[0], actor)
        return live.build_id, live.slab, live.live_gen
    if current is not None and _Wanted(*current[2:]) != wanted:
        if space is None:
            return live.build_id, live.slab, live.live_gen
        _give_up(connection, schema, live.scope_id, current[0], actor)
        current = None
    if current is None:
        made = {**asdict(wanted), "scope_id": live.scope_id, "is_large": is_large, "schema": schema}
        current = connection.execute(sql["begin_build"], made).fetchone()
        assert current is not None
        detail = {"build": current[0], "slab": current[1], "space": wanted.space_id, "lexicon": wanted.lexicon}
        audit(connection, schema, live.scope_id, actor=actor, action="reindex.begin", detail=detail)
    connection.execute(sql["try_again"], {"build_id": current[0]})
    return current[0], current[1], None


def _ensure_space(
    connection: psycopg.Connection, scopes: Mapping[str, bytes], sql: Mapping[str, bytes], space: SpaceSpec
) -> int:
    connection.execute(scopes["move_embedder"], asdict(space))
    connection.execute(scopes["ensure_space"], asdict(space))
    found = connection.execute(sql["space"], asdict(space)).fetchone()
    assert found is not None
    return int(found[0])


def flip_build(store: Store, build_id: int, *, actor: str | None = None) -> Flipped:
    """Readers see the build from now on, if it holds what they see now; `BuildConflict` where it never will.

    That it does is found out before the lock. Under it only what has changed since is looked at: a generation was taken.
    """
    sql, key = queries(store.schema, "builds"), {"build_id": build_id}
    with store.connection() as connection:
        if earlier := connection.execute(sql["first_flip"], key).fetchone():
            former = connection.execute(sql["former"], key).fetchone()
            return Flipped(generation=earlier[0], former=former[0] if former else None)
        levels = connection.cursor(row_factory=class_row(_Level))
        with connection.transaction():
            connection.execute(sql["look_up"], {})
            level = levels.execute(sql["level"], key).fetchone()
        with connection.transaction():
            scope = connection.execute(sql["lock_scope_of"], key).fetchone()
            if level is None or scope is None:
                raise BuildConflict(f"Build {build_id} is not there: start the re-index again.")
            scope_id, head_gen, live_build, live_gen, is_pinned = scope
            check_building(connection, store.schema, build_id)
            if is_pinned:
                raise BuildConflict("The corpus was pinned meanwhile: unpin it, then run the re-index again to end it.")
            if (level.head_gen, level.live_build, level.live_gen) != (head_gen, live_build, live_gen):
                connection.execute(sql["look_up"], {})
                level = levels.execute(sql["level"], key).fetchone()
                assert level is not None
            if level.missing > level.failed or level.extra:
                return Flipped(generation=None, missing=level.missing + level.extra)
            if level.failed:
                raise BuildConflict(_failed(level))
            gen = head_gen + 1
            connection.execute(sql["retire_live"], {"live_build": live_build})
            connection.execute(sql["flip"], {**key, "scope_id": scope_id, "gen": gen, "sources": level.sources})
            detail = {"build": build_id, "from": live_build, "generation": gen}
            audit(connection, store.schema, scope_id, actor=actor, action="reindex.flip", detail=detail)
        _forget_pages(connection, sql, build_id)
        return Flipped(generation=gen, former=live_build)


def built_size(store: Store, build_id: int) -> tuple[int, int]:
    """Sources and chunks of the build's newest state."""
    with store.connection() as connection:
        found = connection.execute(queries(store.schema, "builds")["built"], {"build_id": build_id}).fetchone()
    assert found is not None
    return found[0], found[1]


def _failed(level: _Level) -> str:
    names = ", ".join(level.failed_ids) + (", …" if level.failed > len(level.failed_ids) else "")
    some = "1 document" if level.failed == 1 else f"{level.failed} documents"
    return (
        f"{some} cannot be carried over, so that readers stay where they are: {names}. Delete them or "
        "choose another embedder or chunker; a run with the same ones tries them again."
    )


def check_building(connection: psycopg.Connection, schema: str, build_id: int) -> None:
    """Raises `BuildConflict` when the build is not being made any more."""
    found = connection.execute(queries(schema, "builds")["state"], {"build_id": build_id}).fetchone()
    if found is None or found[0] != "building":
        state = "gone" if found is None else "live" if found[0] == "live" else "given up"
        raise BuildConflict(f"Build {build_id} is {state} by now: start the re-index again.")


def hold_publishing(store: Store, build_id: int) -> None:
    """Publishing into the corpus waits for two seconds at most, or until the flip."""
    sql, key = queries(store.schema, "builds"), {"build_id": build_id}
    with store.connection() as connection, connection.transaction():
        scope = connection.execute(sql["lock_scope_of"], key).fetchone()
        if scope is not None:
            connection.execute(sql["hold"], {"scope_id": scope[0], "hold_s": HOLD_S})


def give_up_build(store: Store, build_id: int, *, actor: str | None = None) -> bool:
    """Whether the build was still being made; it may be dropped then, and readers never saw it."""
    sql, key = queries(store.schema, "builds"), {"build_id": build_id}
    with store.connection() as connection:
        with connection.transaction():
            scope = connection.execute(sql["lock_scope_of"], key).fetchone()
            if scope is None or not _give_up(connection, store.schema, scope[0], build_id, actor):
                return False
        _forget_pages(connection, sql, build_id)
        return True


def _forget_pages(connection: psycopg.Connection, sql: Mapping[str, bytes], build_id: int) -> None:
    """Its pages go at once, unless one is still being written on: the next collection of garbage takes them then."""
    with contextlib.suppress(psycopg.errors.LockNotAvailable), connection.transaction():
        connection.execute(sql["wait_little"], {})
        connection.execute(sql["forget_pages"], {"build_id": build_id})


def _give_up(connection: psycopg.Connection, schema: str, scope_id: int, build_id: int, actor: str | None) -> bool:
    given_up = connection.execute(queries(schema, "builds")["give_up"], {"build_id": build_id}).rowcount == 1
    if given_up:
        audit(connection, schema, scope_id, actor=actor, action="reindex.abort", detail={"build": build_id})
    return given_up


def retire_build(store: Store, build_id: int, *, after_s: float) -> float:
    """Marks a build that was flipped away from as one to drop, ``after_s`` after that. How long it is still kept.

    A build that readers see again is left alone.
    """
    sql, key = queries(store.schema, "builds"), {"build_id": build_id, "after_s": after_s}
    with store.connection() as connection, connection.transaction():
        connection.execute(sql["lock_scope_of"], key)
        connection.execute(sql["retire"], key)
        kept = connection.execute(sql["kept_for"], key).fetchone()
        return 0.0 if kept is None else max(float(kept[0]), 0.01)


def outgrown(store: Store, *, large_chunks: int, tenants: Collection[str] = ()) -> list[Scope]:
    """The corpora (of ``tenants``, or of all) that have outgrown the shared partition and are not being moved yet.

    For each of them `ReindexCorpus` is started, as an abandoned child with the id
    ``scope_workflow_id("ReindexCorpus", scope)`` and the input ``{"scope": {…}, "promote": true}``: it copies the build,
    vectors included, into a partition of its own, indexes it and flips. One that is being re-indexed already says so by
    `WorkflowAlreadyStartedError`, which is no fault. ``large_chunks`` is `WorkerOptions.partition_chunks`.
    """
    with store.connection() as connection:
        asked = {"limit": large_chunks, "tenants": list(tenants)}
        rows = connection.execute(queries(store.schema, "builds")["outgrown"], asked).fetchall()
    return [Scope(tenant_id=tenant, resource_id=resource, corpus_id=corpus) for tenant, resource, corpus in rows]
