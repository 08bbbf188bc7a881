"""Publishing a page: spans, grants, status and the live pointer in one short transaction under the scope's lock.

Everything slow was staged before. Here one round trip takes the lock and reads what the judge needs, and one more
writes what it decided. A reader sees the whole page or nothing of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from activities.contracts import PublishedPage
from activities.store.database import Store
from activities.store.judge import Candidate, Outcome, judge
from activities.store.lease import stale_fence
from activities.store.pointer import Pointer, end_sources, fork, move_pointer
from activities.store.sql import queries
from headwater.contracts import SyncFailure
from headwater.errors import PermanentError

MAX_FAILURES: Final = 100
REGRANTING: Final = (Outcome.PUBLISHED, Outcome.UNCHANGED, Outcome.FAILED, Outcome.GRANTED)


class PageConflict(PermanentError):
    """The page cannot be published as it is: it is not wholly staged, or its build is not the live one."""


@dataclass(frozen=True, slots=True)
class _Page:
    build_id: int
    connector_id: int
    state: str
    result: dict[str, object] | None
    scope_id: int
    build_head: int
    fence: int
    is_leased: bool


def publish_page(
    store: Store, page_id: int, *, fence: int | None, sql: Mapping[str, bytes] | None = None
) -> PublishedPage:
    """What publishing the page did. A repeat changes nothing and returns the same.

    Raises `StaleFence` when the lease `fence` was given to another run meanwhile, `PageConflict` when the page is not
    ready. `sql` is `queries(schema, "publish")` unless a test brings statements with a fault of its own making.
    """
    sql = sql or queries(store.schema, "publish")
    key = {"page_id": page_id}
    with store.connection() as connection, connection.pipeline() as pipeline:
        connection.execute(sql["plan_once"], {})
        connection.execute(sql["ensure_grantees"], key)
        named = connection.execute(sql["grantees"], key)
        unfinished = connection.execute(sql["unfinished"], key)
        pipeline.sync()  # commits the grantees, and waits for nothing
        with connection.transaction():
            connection.execute(sql["plan_once"], {})
            locked = connection.execute(sql["lock_scope"], key)
            pages = connection.cursor(row_factory=class_row(_Page)).execute(sql["page"], key)
            candidates = connection.cursor(row_factory=class_row(Candidate)).execute(sql["candidates"], key)
            page, scope = pages.fetchone(), locked.fetchone()
            if page is None or scope is None:
                raise PageConflict(f"Page {page_id} is not there: start the sync again.")
            if page.result is not None:
                return PublishedPage.model_validate(page.result)
            if page.fence != fence or not page.is_leased:
                raise stale_fence(page.connector_id)
            pointer = Pointer(
                scope_id=page.scope_id,
                build_id=page.build_id,
                head_gen=scope[0],
                live_gen=scope[2],
                build_head=page.build_head,
            )
            judged = [(each, judge(each, page.connector_id)) for each in candidates.fetchall()]
            _check_ready(page_id, page, scope[1], judged, unfinished.fetchone())
            grantees = {(kind, name): number for kind, name, number in named.fetchall()}
            return _Publication(
                connection, store.schema, sql, page_id, page.connector_id, pointer, judged, grantees
            ).write()


def _check_ready(
    page_id: int,
    page: _Page,
    live_build: int | None,
    judged: Sequence[tuple[Candidate, Outcome]],
    unfinished: tuple[int, int, int] | None,
) -> None:
    if page.build_id != live_build:
        raise PageConflict(f"Page {page_id} was staged for a build that is not the live one: start the sync again.")
    unread = sum(not candidate.is_read for candidate, _ in judged)
    if unread:
        raise PageConflict(f"Page {page_id} has {unread} documents that were not read yet: prepare it first.")
    if unfinished is not None:
        rev_id, wanted, there = unfinished
        raise PageConflict(f"Revision {rev_id} has {there} of its {wanted} chunks: embed page {page_id} first.")


@dataclass(frozen=True, slots=True)
class _Publication:
    """The writes of one page: a few statements for all its documents, sent together."""

    connection: psycopg.Connection
    schema: str
    sql: Mapping[str, bytes]
    page_id: int
    connector_id: int
    pointer: Pointer
    judged: Sequence[tuple[Candidate, Outcome]]
    grantees: Mapping[tuple[str, str], int]

    def write(self) -> PublishedPage:
        regranted = self._regranted()
        if changed := [*regranted, *_pks(self._with(Outcome.PUBLISHED, Outcome.DELETED))]:
            self._run("lock_sources", source_pks=changed)
        generation = self._write_spans()
        self._write_grants(regranted)
        self._write_status()
        self._write_members()
        result = self._result(generation)
        self._run(
            "note_outcomes",
            ords=[candidate.ord for candidate, _ in self.judged],
            outcomes=[outcome.value for _, outcome in self.judged],
        )
        self._run("drop_cuts")
        self._run("finish_page", result=Jsonb(result.model_dump(mode="json")))
        return result

    def _regranted(self) -> dict[int, list[int]]:
        """The grantees of each source whose grants change."""
        wanted = ((each.source_pk, each.new_grants(self.grantees)) for each in self._with(*REGRANTING))
        return {source_pk: grants for source_pk, grants in wanted if source_pk is not None and grants is not None}

    def _write_spans(self) -> int:
        """What readers see changes here. The generation they see afterwards."""
        published, deleted = self._with(Outcome.PUBLISHED), self._with(Outcome.DELETED)
        if not published and not deleted:
            return self.pointer.live_gen
        gen = self.pointer.head_gen + 1
        if published:
            if self.pointer.is_rolled_back:
                fork(self.connection, self.schema, self.pointer, gen)
                gen += 1
            rev_ids = [candidate.rev_id for candidate in published]
            self._run("close_replaced", gen=gen, build_id=self.pointer.build_id, published=_pks(published))
            self._run("open_spans", gen=gen, rev_ids=rev_ids)
            self._run("number_versions", rev_ids=rev_ids)
            self._run("own_sources", rev_ids=rev_ids, connector_id=self.connector_id)
        if deleted:
            end_sources(self.connection, self.schema, _pks(deleted), gen)
        move_pointer(self.connection, self.schema, self.pointer, gen, published=len(published), deleted=len(deleted))
        return gen

    def _write_grants(self, regranted: Mapping[int, Sequence[int]]) -> None:
        if regranted:
            # unnest takes no ragged arrays, so each goes as the text of one.
            ids = ["{" + ",".join(map(str, grants)) + "}" for grants in regranted.values()]
            self._run("set_grants", regranted=list(regranted), grants=ids)
            self._run("end_expiring", source_pks=list(regranted))

    def _write_status(self) -> None:
        failed = self._with(Outcome.FAILED)
        if noted := [*self._with(Outcome.PUBLISHED, Outcome.UNCHANGED), *failed]:
            self._run(
                "note_status",
                noted=_ords(noted),
                source_pks=_pks(noted),
                failed=_ords(failed),
                kept=_ords([each for each in failed if each.seen_seq is not None]),
            )
        if lost := self._with(Outcome.LOST):
            self._run("read_again", lost=_pks(lost))

    def _write_members(self) -> None:
        members = [(each, outcome) for each, outcome in self.judged if outcome in (*REGRANTING, Outcome.STALE)]
        if members:
            # A stale document's grants were not applied, so its membership does not claim the rule either.
            granted = [each.wanted is not None and outcome in REGRANTING for each, outcome in members]
            self._run("note_members", members=_pks([each for each, _ in members]), has_grants=granted)
        absent = [each for each in self._with(Outcome.ABSENT) if each.kind == "delete" and each.source_pk is not None]
        foreign = [each for each in self._with(Outcome.OWNED) if each.kind == "delete"]
        if absent or foreign:
            self._run("drop_members", connector_id=self.connector_id, dropped=_pks([*absent, *foreign]))
            self._run("drop_pending", absent=_pks(absent))

    def _result(self, generation: int) -> PublishedPage:
        failures = [
            SyncFailure(source_id=each.source_id, state=each.state or "failed", reason=each.reason)
            for each in self._with(Outcome.FAILED)
        ]
        foreign = [each for each in self._with(Outcome.OWNED) if each.kind == "upsert"]
        failures += [SyncFailure(source_id=each.source_id, state="failed", reason=_owned(each)) for each in foreign]
        return PublishedPage(
            upserted=len(self._with(Outcome.PUBLISHED)),
            deleted=len(self._with(Outcome.DELETED)),
            skipped=len(self._with(Outcome.UNCHANGED)),
            failed=len(failures),
            generation=generation,
            failures=failures[:MAX_FAILURES],
        )

    def _with(self, *outcomes: Outcome) -> list[Candidate]:
        return [candidate for candidate, outcome in self.judged if outcome in outcomes]

    def _run(self, name: str, **parameters: object) -> None:
        self.connection.execute(self.sql[name], {"page_id": self.page_id, **parameters})


def _ords(candidates: Sequence[Candidate]) -> list[int]:
    return [candidate.ord for candidate in candidates]


def _pks(candidates: Sequence[Candidate]) -> list[int]:
    return [candidate.source_pk for candidate in candidates if candidate.source_pk is not None]


def _owned(candidate: Candidate) -> str:
    holder = f"connector {candidate.owner_name}" if candidate.owner_name else "a host"
    return f"This id belongs to {holder} of the same corpus: delete it there first, or leave it out here."
