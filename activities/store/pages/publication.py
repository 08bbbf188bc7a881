"""The writes of a publication, decided by the judge: a few statements for all documents of a page, sent together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from activities.contracts import PublishedPage
from activities.store.pages.inheritance import Inherited
from activities.store.pages.item_outcome import HIDDEN, describe, owned, why_withheld
from activities.store.pages.judge import HIDING, Asked, Candidate, Outcome
from activities.store.pointer import Pointer, end_sources, fork, move_pointer
from activities.store.sources.access import GrantedSet, NewGrants, write_grants
from activities.store.sources.tombstones import drop_grants, write_tombstones
from headwater.contracts import SyncFailure
from headwater.states import FAILED

MAX_FAILURES: Final = 100
REGRANTING: Final = (Outcome.PUBLISHED, Outcome.UNCHANGED, Outcome.FAILED, Outcome.GRANTED)


@dataclass(frozen=True, slots=True)
class Judged:
    """A document, what becomes of it, and the grants it asks for."""

    candidate: Candidate
    outcome: Outcome
    asked: Asked | None
    is_hidden: bool = False  # with what it rests on
    is_spared: bool = False  # older texts of it rested on what is hidden now, the new one does not

    @property
    def denial(self) -> str:
        """Why nobody may read it. Asked of what is denied only."""
        denial = self.candidate.denial or (None if self.asked is None else self.asked.denial)
        assert denial is not None, "it is denied"
        return denial

    @property
    def why_withheld(self) -> str | None:
        return why_withheld(self.candidate, self.outcome, is_hidden=self.is_hidden)


@dataclass(frozen=True, slots=True)
class Publication:
    """One page, under its scope's lock."""

    connection: psycopg.Connection
    schema: str
    sql: Mapping[str, bytes]
    page_id: int
    connector_id: int | None  # None: a host's
    pointer: Pointer
    judged: Sequence[Judged]
    inherited: Sequence[Inherited] = ()

    def write(self) -> PublishedPage:
        regranted = self._regranted()
        self._lock_sources(regranted)
        generation = self._write_spans()
        write_grants(self.connection, self.schema, regranted)
        self._hide(generation)
        self._write_status()
        if self.connector_id is not None:
            self._write_withheld()
            self._write_members()
        result = self._result(generation, regranted)
        self._run(
            "finish_page",
            ords=[each.candidate.ord for each in self.judged],
            outcomes=[each.outcome.value for each in self.judged],
            rev_ids=[each.candidate.rev_id for each in self.judged if each.candidate.rev_id is not None],
            result=Jsonb(self._kept(result)),
        )
        return result

    def _regranted(self) -> list[NewGrants]:
        """The sources whose grants change, with the new ones."""
        changed = [
            NewGrants(each.candidate.source_pk, each.asked.access_version, each.asked.granted)
            for each in self.judged
            if each.outcome in REGRANTING and each.asked is not None and each.asked.change == "set"
            if each.candidate.source_pk is not None
        ]
        if self.connector_id is None:
            return changed
        # What its origin shares with more than a source may have is withheld: nobody reads it.
        nobody = GrantedSet(frozenset(), {})
        return changed + [
            NewGrants(each.source_pk, (each.access_version or 0) + 1, nobody)
            for each in self._with(Outcome.DENIED)
            if each.source_pk is not None and (each.held or each.ends)
        ]

    def _lock_sources(self, regranted: Sequence[NewGrants]) -> None:
        published, deleted = self._with(Outcome.PUBLISHED), self._with(Outcome.DELETED)
        left = self._with(Outcome.DROPPED)  # they may be given another owner
        written = [each.source_pk for each in regranted] + _pks([*published, *deleted, *left])
        hidden = [source_id for each in self.inherited for source_id in each.ids]
        if hidden:
            self._run("lock_with_hidden", scope_id=self.pointer.scope_id, source_pks=written, source_ids=hidden)
        elif written:
            self._run("lock_sources", source_pks=written)

    def _write_spans(self) -> int:
        """What readers see changes here. The generation they see afterwards, or will when the pointer is released."""
        published, deleted = self._with(Outcome.PUBLISHED), self._with(Outcome.DELETED)
        if not published and not deleted:
            return self.pointer.live_gen
        gen = self.pointer.head_gen + 1
        if published:
            if self.pointer.is_rolled_back:
                fork(self.connection, self.schema, self.pointer, gen)
                gen += 1
            self._open(published, gen)
        if deleted:
            end_sources(self.connection, self.schema, _pks(deleted), gen)
        move_pointer(self.connection, self.schema, self.pointer, gen, published=len(published), deleted=len(deleted))
        return gen

    def _open(self, published: Sequence[Candidate], gen: int) -> None:
        self._run(
            "show_revisions",
            gen=gen,
            build_id=self.pointer.build_id,
            connector_id=self.connector_id,
            source_pks=_pks(published),
            rev_ids=[each.rev_id for each in published],
            version_ids=[each.version_id for each in published],
            numbers=[each.number for each in published],
        )
        cleared = [each for each in published if each.clears_tombstone]
        # As if their older texts had been hidden first, and then replaced: no rollback shows those either.
        spared = [each.candidate for each in self.judged if each.is_spared and not each.candidate.clears_tombstone]
        if cleared or spared:
            self._run(
                "clear_tombstones",
                scope_id=self.pointer.scope_id,
                gen=gen,
                cleared=_pks([*cleared, *spared]),
                cleared_ids=[each.source_id for each in cleared],
                ungranted=_pks([each for each in cleared if each.wanted is None]),
            )

    def _hide(self, gen: int) -> None:
        for each in self.inherited:
            scope_id, ids = self.pointer.scope_id, each.ids
            write_tombstones(
                self.connection, self.schema, scope_id, ids, reason=each.reason, gen=gen, root=each.source_id
            )
            drop_grants(self.connection, self.schema, scope_id, ids)

    def _write_status(self) -> None:
        failed = self._with(Outcome.FAILED)
        if noted := [*self._with(Outcome.PUBLISHED, Outcome.UNCHANGED), *failed]:
            self._run(
                "note_status",
                noted=_ords(noted),
                source_pks=_pks(noted),
                failed=_ords([*failed, *self._emptied()]),
                kept=_ords([each for each in failed if each.seen_chunks]),
            )
        if hidden := [(each.candidate, why) for each in self.judged if (why := each.why_withheld)]:
            candidates, reasons = zip(*hidden, strict=True)
            self._run("note_withheld", withheld=_pks(candidates), reasons=list(reasons), versions=[None] * len(hidden))
        if lost := self._with(Outcome.LOST):
            self._run("read_again", lost=_pks(lost))

    def _write_withheld(self) -> None:
        hidden = [each for each in self._with(Outcome.TOMBSTONED) if each.kind == "upsert"]
        if hidden:
            self._run(
                "note_forgotten_version",
                scope_id=self.pointer.scope_id,
                hidden=[each.source_id for each in hidden],
                versions=[each.version for each in hidden],
            )
        denied = [each for each in self.judged if each.outcome is Outcome.DENIED]
        if withheld := [*hidden, *[each.candidate for each in denied]]:
            # Without a hiding tombstone of its own it is hidden for what it rests on.
            reasons = [each.tombstone if each.tombstone in HIDING else HIDDEN for each in hidden]
            reasons += [each.denial for each in denied]
            # What its origin refused at a version is not asked for again at that version.
            versions = [each.version if each.state == "denied" else None for each in withheld]
            self._run("note_withheld", withheld=_pks(withheld), reasons=reasons, versions=versions)

    def _write_members(self) -> None:
        seen = (*REGRANTING, Outcome.DENIED, Outcome.STALE, Outcome.TOMBSTONED)
        members = [each for each in self.judged if each.outcome in seen]
        if members:
            # Where grants were asked for and not applied, the membership does not claim the rule either.
            applied = (*REGRANTING, Outcome.DENIED)
            self._run(
                "note_members",
                ords=_ords([each.candidate for each in members]),
                members=_pks([each.candidate for each in members]),
                has_grants=[each.candidate.wanted is not None and each.outcome in applied for each in members],
                is_narrowed=[each.asked is not None and each.asked.is_narrowed for each in members],
                is_refused=[each.outcome is Outcome.DENIED and each.candidate.state == "denied" for each in members],
            )
        absent = [each for each in self._with(Outcome.ABSENT) if each.kind == "delete" and each.source_pk is not None]
        foreign = [each for each in self._with(Outcome.OWNED) if each.kind == "delete"]
        if absent or foreign:
            self._run("drop_members", connector_id=self.connector_id, dropped=_pks([*absent, *foreign]))
            self._run("drop_pending", absent=_pks(absent))
        if dropped := self._with(Outcome.DROPPED):
            self._run("leave_to_others", connector_id=self.connector_id, dropped=_pks(dropped))

    def _result(self, generation: int, regranted: Sequence[NewGrants]) -> PublishedPage:
        emptied = self._emptied()
        shown = {each.candidate.source_pk for each in self.judged if each.candidate.seen_seq is not None}
        failures = [
            SyncFailure(source_id=each.source_id, state=each.state or "failed", reason=each.reason)
            for each in [*self._with(Outcome.FAILED), *emptied]
        ]
        foreign = [each for each in self._with(Outcome.OWNED) if each.kind == "upsert"]
        failures += [SyncFailure(source_id=each.source_id, state="failed", reason=owned(each)) for each in foreign]
        return PublishedPage(
            upserted=len(self._with(Outcome.PUBLISHED)) - len(emptied),
            deleted=len(self._with(Outcome.DELETED)),
            skipped=len(self._with(Outcome.UNCHANGED)),
            regranted=sum(each.source_pk in shown for each in regranted),
            withheld=len(self._with(Outcome.TOMBSTONED, Outcome.DENIED)),
            failed=len(failures),
            generation=generation,
            failures=failures[:MAX_FAILURES],
        )

    def _kept(self, result: PublishedPage) -> dict[str, Any]:
        """What a repeat returns; and for a host, what became of each of its documents."""
        kept = result.model_dump(mode="json")
        if self.connector_id is not None:
            return kept
        items = [describe(each.candidate, each.outcome, each.asked, is_hidden=each.is_hidden) for each in self.judged]
        return kept | {"items": [asdict(each) for each in items]}

    def _emptied(self) -> list[Candidate]:
        """Those that failed and have nothing in the place of the text that readers saw: it is no more."""
        return [each for each in self._with(Outcome.PUBLISHED) if each.state in FAILED]

    def _with(self, *outcomes: Outcome) -> list[Candidate]:
        return [each.candidate for each in self.judged if each.outcome in outcomes]

    def _run(self, name: str, **parameters: object) -> None:
        self.connection.execute(self.sql[name], {"page_id": self.page_id, **parameters})


def _ords(candidates: Sequence[Candidate]) -> list[int]:
    return [candidate.ord for candidate in candidates]


def _pks(candidates: Sequence[Candidate]) -> list[int]:
    return [candidate.source_pk for candidate in candidates if candidate.source_pk is not None]
