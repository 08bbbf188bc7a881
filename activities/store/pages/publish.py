"""Publishing a page: spans, grants, status and the live pointer in one short transaction under the scope's lock.

Everything slow was staged before. Here one round trip takes the lock and reads what the judge needs, and one more
writes what it decided; a page with grants asks for their numbers between the two. A reader sees the whole page or nothing of it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import psycopg
from psycopg.rows import class_row

from activities.contracts import PublishedPage
from activities.store.database import Store
from activities.store.pages.inheritance import Inheritance, Inherited, inherit
from activities.store.pages.judge import Candidate, Outcome, ask, judge
from activities.store.pages.lease import stale_fence
from activities.store.pages.publication import Judged, Publication
from activities.store.pointer import Pointer
from activities.store.sources.access import Grantee, ensure_grantees, grantee_numbers
from activities.store.sources.tombstones import closure
from activities.store.sql import queries
from headwater.contracts import Grants
from headwater.errors import PermanentError, TransientError


class PageConflict(PermanentError):
    """The page cannot be published as it is: it is not wholly staged."""


class PublishingHeld(TransientError):
    """A re-index is about to show its build: publishing waits for that, two seconds at most."""


@dataclass(frozen=True, slots=True)
class _Scope:
    head_gen: int
    live_build: int | None
    live_gen: int
    pinned: bool
    is_held: bool


@dataclass(frozen=True, slots=True)
class _Page:
    build_id: int
    connector_id: int | None  # None: a host's
    result: dict[str, object] | None
    scope_id: int
    tenant_id: str
    build_head: int
    lease: int | None  # fence of the connector's lease; None: nobody has it


def publish_page(
    store: Store, page_id: int, *, fence: int | None = None, sql: Mapping[str, bytes] | None = None
) -> PublishedPage:
    """What publishing the page did. A repeat changes nothing and returns the same; `page_outcomes` tells of each document.

    Raises `StaleFence` when the lease `fence` was given to another run meanwhile, `PageConflict` when the page is not
    ready, `PublishingHeld` when it has to wait. A page of another build than readers see is left as it is
    (`is_stale_build`). `sql` is `queries(schema, "publish")` unless a test brings statements with a fault of its own making.
    """
    sql = sql or queries(store.schema, "publish")
    with store.connection() as connection:
        while True:
            try:
                return _publish(connection, store.schema, page_id, fence, sql)
            except _NewNames as new:
                # Made by themselves, without the scope's lock: two publishers of one new name wait for no publication.
                ensure_grantees(connection, store.schema, new.tenant_id, new.grants)


class _NewNames(Exception):
    """The page grants to names that have no number yet."""

    def __init__(self, tenant_id: str, grants: Sequence[Grants]) -> None:
        super().__init__(tenant_id, grants)
        self.tenant_id = tenant_id
        self.grants = grants


def _publish(
    connection: psycopg.Connection, schema: str, page_id: int, fence: int | None, sql: Mapping[str, bytes]
) -> PublishedPage:
    key = {"page_id": page_id}
    with connection.pipeline(), connection.transaction():
        connection.execute(sql["plan_once"], {})
        unfinished = connection.execute(sql["unfinished"], key)
        scopes = connection.cursor(row_factory=class_row(_Scope)).execute(sql["lock_scope"], key)
        pages = connection.cursor(row_factory=class_row(_Page)).execute(sql["page"], key)
        connection.execute(queries(schema, "repoint")["follow_moves"], key)  # before it is read what the page rests on
        candidates = connection.cursor(row_factory=class_row(Candidate)).execute(sql["candidates"], key)
        page, scope = pages.fetchone(), scopes.fetchone()
        if page is None or scope is None:
            raise PageConflict(f"Page {page_id} is not there: start the sync again.")
        if page.result is not None:
            return PublishedPage.model_validate(page.result)
        if page.connector_id is not None and (page.lease is None or page.lease != fence):
            raise stale_fence(page.connector_id)
        if scope.is_held:
            raise PublishingHeld("A re-index of this corpus is about to end: the page is published right after it.")
        if page.build_id != scope.live_build:
            return PublishedPage(is_stale_build=True, generation=scope.live_gen)
        found = candidates.fetchall()
        _check_ready(page_id, found, unfinished.fetchone())
        wanted = _grants_of(found)
        numbers = grantee_numbers(connection, schema, page.tenant_id, wanted)
        if numbers is None:
            raise _NewNames(page.tenant_id, wanted)
        pointer = Pointer(
            scope_id=page.scope_id,
            build_id=page.build_id,
            head_gen=scope.head_gen,
            live_gen=scope.live_gen,
            build_head=page.build_head,
            is_pinned=scope.pinned,
        )
        judged, inherited = _judge_all(connection, schema, page, found, numbers)
        return Publication(connection, schema, sql, page_id, page.connector_id, pointer, judged, inherited).write()


def _judge_all(
    connection: psycopg.Connection,
    schema: str,
    page: _Page,
    candidates: Sequence[Candidate],
    numbers: Mapping[Grantee, int],
) -> tuple[list[Judged], Sequence[Inherited]]:
    """What becomes of each document, and which of them are hidden with all that rests on them."""
    judged = [Judged(each, judge(each, page.connector_id, asked := ask(each, numbers)), asked) for each in candidates]
    published = [each.candidate for each in judged if each.outcome is Outcome.PUBLISHED]
    inherited = inherit(published, lambda root: closure(connection, schema, page.scope_id, root))
    if not inherited.hidden and not inherited.refused:
        return judged, []
    hidden = {source_id for each in inherited.hidden for source_id in each.ids}
    return [_inheriting(each, inherited, hidden) for each in judged], inherited.hidden


def _inheriting(judged: Judged, inherited: Inheritance, hidden: Collection[str]) -> Judged:
    source_id = judged.candidate.source_id
    return replace(
        judged,
        outcome=Outcome.TOMBSTONED if source_id in inherited.refused else judged.outcome,
        is_hidden=source_id in hidden,
        is_spared=source_id in inherited.spared,
    )


def _grants_of(candidates: Sequence[Candidate]) -> list[Grants]:
    """The sets that are asked for. Of one that is too wide nothing is applied, so its names are not made either."""
    return [grants for each in candidates if (grants := each.grants) is not None and not grants.is_too_wide]


def _check_ready(page_id: int, candidates: Sequence[Candidate], unfinished: tuple[int, int, int] | None) -> None:
    unread = sum(not candidate.is_read for candidate in candidates)
    if unread:
        raise PageConflict(f"Page {page_id} has {unread} documents that were not read yet: prepare it first.")
    if unfinished is not None:
        rev_id, wanted, there = unfinished
        raise PageConflict(f"Revision {rev_id} has {there} of its {wanted} chunks: embed page {page_id} first.")
