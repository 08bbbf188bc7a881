"""Re-pointing: a page of what is to go on under other ids, in one transaction under the scope's lock.

A source is one row and its chunks' ids are made from it, so that content moves by exchanging two rows' ids: all of it at
once, whatever its size. What takes pages is the lineage of others that names it, and a prefix of many sources.
"""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from activities.contracts.repoint import FAILURES_MAX, MovedPage, failed_rename
from activities.store.database import Store
from activities.store.requests import audit, note_step, step_result
from activities.store.scopes import find_scope
from activities.store.sources.access import allowed, check_granted, ensure_sources
from activities.store.sources.pair import MoveRefused, Pair, fitting, refusal
from activities.store.sql import queries
from headwater.contracts import FailedRename
from headwater.contracts.deletion import check_tenant
from headwater.errors import AccessError, HeadwaterError, LimitError
from headwater.models import Authorization, Scope

ACTION: Final = "repoint"
FAILED_ACTION: Final = "repoint_failed"

Ids = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Move:
    """What one page is asked to do, by whom. ``after`` is where the page before ended; None: the first."""

    from_id: str
    to_id: str
    authorization: Authorization
    page_size: int
    is_prefix: bool = False  # the ids are prefixes: all sources below them move
    max_records: int | None = None
    after: str | None = None
    passes_over: bool = False  # of a prefix: what cannot be moved is reported, and the others move


def move_page(
    store: Store,
    scope: Scope,
    move: Move,
    *,
    request_no: int,
    step: str,
    actor: str | None,
    service_principals: Collection[tuple[str, str]] = (),
) -> MovedPage:
    """What the page did. A repeat of the step answers the same.

    Who has no grant for both ends is refused before any transaction, and again under the lock, for every page.
    """
    check_tenant(move.authorization.tenant_id, scope.tenant_id)
    with store.connection() as connection:
        known = step_result(connection, store.schema, request_no, step)
        if known is not None:
            return MovedPage.model_validate(known)
        scope_id = find_scope(connection, store.schema, scope)
        page = _Page(connection, store.schema, scope, scope_id, move, service_principals)
        ids = page.next_ids()
        if page.is_stale(ids):
            return MovedPage()
        while True:
            try:
                with connection.transaction():
                    page.lock()
                    known = step_result(connection, store.schema, request_no, step)
                    if known is not None:
                        return MovedPage.model_validate(known)
                    done = page.write(ids, actor)
                    note_step(connection, store.schema, request_no, step, done.model_dump(mode="json", by_alias=True))
                    return done
            except _NewIds as new:
                # Made by themselves: a push that names one for the first time makes its row without the scope's lock.
                ensure_sources(connection, store.schema, scope_id, new.ids)


class _NewIds(Exception):
    """Something is to go on under ids that have no row yet."""

    def __init__(self, ids: Sequence[str]) -> None:
        super().__init__(ids)
        self.ids = ids


def note_failure(store: Store, failure: FailedRename, *, request_no: int, step: str, actor: str | None) -> None:
    """Writes down, once a ``step``, that a pair was not moved."""
    detail = Jsonb(failure.model_dump(mode="json", by_alias=True))
    noted = {"request_no": request_no, "actor": actor, "action": FAILED_ACTION, "detail": detail}
    with store.connection() as connection, connection.transaction():
        if step_result(connection, store.schema, request_no, step) is None:
            note_step(connection, store.schema, request_no, step, {})
            connection.execute(queries(store.schema, "repoint")["note_failure"], noted)


@dataclass(frozen=True, slots=True)
class _Page:
    connection: Connection
    schema: str
    scope: Scope
    scope_id: int
    move: Move
    services: Collection[tuple[str, str]]

    def next_ids(self) -> Sequence[Ids]:
        """The pairs that the page may concern, of a prefix one more than fit at most.

        Read before the lock: what begins with the prefix since then comes too late for this page, and is moved by nobody.
        """
        move = self.move
        if not move.is_prefix:
            return [(move.from_id, move.to_id)]
        rows = self._run(
            "next_ids",
            first=move.from_id,
            beyond=beyond(move.from_id),
            to_prefix=move.to_id,
            after=move.after or "",
            limit=move.page_size + 1,
        )
        return [(each, move.to_id + each.removeprefix(move.from_id)) for (each,) in rows]

    def is_stale(self, ids: Sequence[Ids]) -> bool:
        """Whether nothing is left to do, found out before anything is locked. Checks the grants."""
        self._granted(ids)
        return not ids or (self._only_edges and not self._read(ids)[0].is_under_way)

    def lock(self) -> None:
        self._run("plan_once")
        self._run("lock_scope")

    def write(self, ids: Sequence[Ids], actor: str | None) -> MovedPage:
        granted, is_service = self._granted(ids)
        looked_at = self._read(ids)
        if self.move.is_prefix:
            looked_at = fitting(looked_at, self.move.page_size)
        elif self._only_edges and not looked_at[0].is_under_way:
            return MovedPage()
        pairs, failures = self._movable(looked_at, granted)
        self._check_records(pairs)
        moved = [pair for pair in pairs if pair.is_held and not self._only_edges]
        self._exchange(moved)
        edges, last = self._rewrite(pairs)
        detail = {"principal": self.move.authorization.principal_id, "as_service": is_service}
        unended = self._note(pairs, moved, edges, actor, detail)
        self._audit_failures(failures, actor)
        done = MovedPage(
            moved_sources=len(moved),
            moved_chunks=sum(pair.chunks for pair in moved),
            rewritten_edges=sum(edges.values()),
            failures=failures[:FAILURES_MAX],
            failed=len(failures),
        )
        if not self.move.is_prefix:
            return done.model_copy(update={"after": last or ""}) if unended else done
        until = _last_before(looked_at, unended)
        is_more = bool(unended) or len(looked_at) < len(ids)
        return done.model_copy(update={"until": until, "after": (until or self.move.after or "") if is_more else None})

    @property
    def _only_edges(self) -> bool:
        """A page that goes on with one pair: what its origin holds by now came later, and is not meant."""
        return self.move.after is not None and not self.move.is_prefix

    def _granted(self, ids: Iterable[Ids]) -> tuple[set[str] | None, bool]:
        """Those of the ids that may be moved (None: all), and whether only a service principal's right lets them."""
        both = [each for pair in ids for each in pair]
        asked = self.move.authorization
        if not self.move.passes_over:
            return None, check_granted(
                self.connection, self.schema, self.scope_id, self.scope, asked, both, self.services
            )
        granted = allowed(self.connection, self.schema, self.scope_id, asked, both)
        if (asked.tenant_id, asked.principal_id) in self.services:
            return None, not granted.issuperset(both)
        return granted, False

    def _read(self, ids: Sequence[Ids]) -> Sequence[Pair]:
        most = max(self.move.page_size, self.move.max_records or 0) + 1
        with self.connection.cursor(row_factory=class_row(Pair)) as cursor:
            named = {
                "scope_id": self.scope_id,
                "from_ids": "|".join(from_id for from_id, _ in ids),
                "to_ids": "|".join(to_id for _, to_id in ids),
                "edges_max": most,
            }
            return cursor.execute(queries(self.schema, "repoint")["pairs"], named).fetchall()

    def _movable(self, pairs: Sequence[Pair], granted: set[str] | None) -> tuple[list[Pair], list[FailedRename]]:
        movable: list[Pair] = []
        failures: list[FailedRename] = []
        for pair in pairs:
            error = self._fault(pair, granted)
            if error is None:
                movable.append(pair)
            elif self.move.passes_over:
                failures.append(failed_rename(pair.from_id, pair.to_id, str(error), error.code))
            else:
                raise error
        return movable, failures

    def _fault(self, pair: Pair, granted: set[str] | None) -> HeadwaterError | None:
        for each in (pair.from_id, pair.to_id):
            if granted is not None and each not in granted:
                return AccessError(f"{self.move.authorization.principal_id} has no grant for {each}.")
        sentence = None if self._only_edges else refusal(pair)
        return None if sentence is None else MoveRefused(sentence)

    def _check_records(self, pairs: Sequence[Pair]) -> None:
        most = self.move.max_records
        if most is None:
            return
        chunks = sum(pair.chunks for pair in pairs if pair.is_held and not self._only_edges)
        edges = sum(pair.edges for pair in pairs)
        if chunks + edges > most:
            some = "at least " if edges > most else ""
            raise LimitError(
                f"The move of {self.move.from_id} concerns {some}{chunks + edges:,} records ({chunks:,} passages, the others "
                f"name it as what they rest on), and max_records allows {most:,}: raise it, or leave it out."
            )

    def _exchange(self, pairs: Sequence[Pair]) -> None:
        if not pairs:
            return
        if new := [pair.to_id for pair in pairs if pair.to_pk is None]:
            raise _NewIds(new)
        from_pks, to_pks = [pair.from_pk for pair in pairs], [pair.to_pk for pair in pairs]
        self._run("lock_sources", source_pks=_array([*to_pks, *from_pks]))
        self._run("step_aside", to_pks=_array(to_pks))
        self._run("drop_status", to_pks=_array(to_pks))
        self._run("exchange", **_ids(pairs), from_pks=_array(from_pks), to_pks=_array(to_pks))
        if expiring := [pair for pair in pairs if pair.is_expiring]:
            self._run("exchange_expiring", **_ids(expiring))

    def _rewrite(self, pairs: Sequence[Pair]) -> tuple[Mapping[str, int], str | None]:
        """How many edges of each origin were rewritten, and the place of the last one."""
        naming = [pair for pair in pairs if pair.edges]
        if not naming:
            return {}, None
        start = _place("" if self.move.is_prefix else self.move.after or "")
        rows = self._run("rewrite_edges", **_ids(naming), **start, limit=self.move.page_size).fetchall()
        return {from_id: edges for from_id, edges, _ in rows}, rows[-1][2] if rows else None

    def _note(
        self,
        pairs: Sequence[Pair],
        moved: Collection[Pair],
        edges: Mapping[str, int],
        actor: str | None,
        detail: Mapping[str, Any],
    ) -> set[str]:
        """Remembers and audits what was done. The origins that are still named by edges."""
        chunks = {pair.from_id: pair.chunks for pair in moved}
        for pair in pairs:
            if not pair.is_work:
                nothing = {"from": pair.from_id, "to": pair.to_id, "moved_chunks": 0, "rewritten_edges": 0, **detail}
                audit(self.connection, self.schema, self.scope_id, actor=actor, action=ACTION, detail=nothing)
        worked = [pair for pair in pairs if pair.is_work]
        if not worked:
            return set()
        rows = self._run(
            "note_moves",
            **_ids(worked),
            chunks=_array(chunks.get(pair.from_id, 0) for pair in worked),
            edges=_array(edges.get(pair.from_id, 0) for pair in worked),
            actor=actor,
            action=ACTION,
            detail=Jsonb(dict(detail)),
        )
        return {from_id for (from_id,) in rows}

    def _audit_failures(self, failures: Sequence[FailedRename], actor: str | None) -> None:
        if failures:
            details = Jsonb([each.model_dump(mode="json", by_alias=True) for each in failures])
            self._run("audit_failures", details=details, actor=actor, action=FAILED_ACTION)

    def _run(self, name: str, **parameters: Any) -> Any:
        return self.connection.execute(queries(self.schema, "repoint")[name], {"scope_id": self.scope_id, **parameters})


def _last_before(pairs: Sequence[Pair], unended: Collection[str]) -> str | None:
    """The last id before the first that the next page has to look at again."""
    ended = list(itertools.takewhile(lambda each: each not in unended, (pair.from_id for pair in pairs)))
    return ended[-1] if ended else None


def beyond(prefix: str) -> str:
    """The first string after all that begin with ``prefix``, in byte order. Ids are ASCII."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _ids(pairs: Sequence[Pair]) -> dict[str, str]:
    """Both ids of each pair, joined by a sign that no id has: an array of thousands took longer to bind than to use."""
    return {"from_ids": "|".join(pair.from_id for pair in pairs), "to_ids": "|".join(pair.to_id for pair in pairs)}


def _array(numbers: Iterable[int | None]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _place(after: str) -> dict[str, Any]:
    """The place of an edge as a cursor names it. What cannot be one stands for itself: a cursor is only where to begin."""
    source_id, _, rest = after.partition("#")
    version_id, _, ord_ = rest.partition("#")
    numbers = [int(each) if each.isdigit() and len(each) < 16 else 0 for each in (version_id, ord_)]
    return {"source_id": source_id, "version_id": numbers[0], "ord": min(numbers[1], 2**15 - 1)}
