"""What becomes of each document of a page, decided from what the store holds under the scope's lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from activities.store.pages.listed_grants import grants_of
from activities.store.sources.access import (
    TOO_WIDE,
    Change,
    GrantedSet,
    Grantee,
    HeldGrants,
    compare,
    granted_set,
    narrowed,
)
from headwater.contracts import Grants
from headwater.contracts.deletion import Reason
from headwater.states import FAILED

# Tombstones that hide a source itself. One that was corrected hides only what was derived from it.
HIDING: Final = frozenset({"revoked", "forgotten", "legal_hold"})


class Outcome(StrEnum):
    PUBLISHED = "published"  # readers see the staged revision from now on
    UNCHANGED = "unchanged"  # readers see it already
    FAILED = "failed"  # it could not be read; an older text stays readable, marked stale
    OWNED = "owned"  # its id belongs to another connector or to a host
    TOMBSTONED = "tombstoned"  # it must not be served: revoked, held, or forgotten and not newer than that
    DENIED = "denied"  # withheld by its connector, or more grantees than a source may have
    CONFLICT = "conflict"  # its host expected another revision, or has older grants than the store
    FENCED = "fenced"  # deleted since it was read: the deletion wins
    MOVED = "moved"  # its id was exchanged for another one's since it was accepted or read
    STALE = "stale"  # a newer reading was published meanwhile
    LOST = "lost"  # believed unchanged, but readers do not see it: it is read again next time
    GRANTED = "granted"  # only its grants are renewed
    DELETED = "deleted"
    DROPPED = "dropped"  # its connector holds it no more, and another one of the same owner does
    ABSENT = "absent"  # there is nothing to delete or to grant


@dataclass(frozen=True, slots=True)
class Candidate:
    """One document of a page, and what the store holds of its source."""

    ord: int
    kind: str  # upsert, grants or delete
    source_id: str
    rev_id: int | None  # the staged revision, if reading it gave one
    version_id: int | None  # its text
    source_pk: int | None  # None: the id was never heard of
    is_moved: bool  # it was accepted or read for the source that has another id by now
    owner: int | None  # connector that holds the source
    owner_name: str | None
    is_hosts: bool  # no connector holds it, and it has a text: a host's
    fence_gen: int | None  # generation of its last deletion, 0: never deleted
    base_gen: int | None  # the scope's head before the staged content was read
    source_seq: int | None  # order of that reading among all readings of the source
    chunks: int | None  # of the staged revision
    seen_seq: int | None  # order of the reading that the build shows; None: it shows none
    same_seq: int | None  # the same, when this one was found equal to it; None: it was not said
    seen_revision: int | None  # public number of what the build shows
    seen_chunks: int | None
    number: int | None  # public number of the staged text: the next one of its source, unless it has one already
    known_state: str | None  # status; None: it has none
    is_read: bool  # nothing is left to do for it but publishing
    state: str | None  # what reading it gave
    reason: str | None
    version: str | None  # the connector's version of what was read
    is_unchanged: bool
    expected_revision: int | None  # the host's; None: whatever there is
    tombstone: Reason | None  # reason of the source's own
    tombstone_gen: int | None
    tombstone_seq: int | None  # last reading of the source before it
    tombstone_version: str | None  # connector's version of what was forgotten
    parents: (
        Mapping[str, Reason | None] | None
    )  # what the text, staged or else shown, rests on, with the tombstones' reasons
    wanted: Mapping[str, Any] | None  # the grants it is to have; None: leave them as they are
    held: Sequence[int] | None  # grantees without an end, in order
    ends: Mapping[str, str] | None  # when the grants of the others end
    access_version: int | None
    is_shared: bool = False  # its owner and the connector that brings it count as one
    is_held_elsewhere: bool = False  # another connector of that owner holds it too,
    is_granted_elsewhere: bool = False  #   and has said who may read it
    is_origins_word: bool = False  # its origin itself says who may read it

    @property
    def grants(self) -> Grants | None:
        """The grants it is to have. A connector's are those of the next version."""
        if self.wanted is None:
            return None
        if "access_version" in self.wanted:
            return Grants.model_validate(self.wanted)
        return grants_of(self.wanted, access_version=(self.access_version or 0) + 1)

    @property
    def denial(self) -> str | None:
        """Why its origin lets nobody read it, who may being unknown, or its content being refused."""
        if self.state == "denied":
            return self.reason or "denied"
        return None if self.wanted is None else self.wanted.get("withheld")

    @property
    def keeps_older_text(self) -> bool:
        """Readers see a text that is no longer its origin's, which could not be read."""
        state = self.state if self.kind == "upsert" else self.known_state
        return bool(self.seen_chunks) and self.rev_id is None and state in FAILED

    @property
    def only_narrows(self) -> bool:
        """Of its grants only what was granted before is applied: whom its origin lets in now, it lets in to another text."""
        return self.is_origins_word and self.keeps_older_text

    @property
    def is_known(self) -> bool:
        """It has a status, or a text that the build shows."""
        return self.known_state not in (None, "pending") or self.seen_seq is not None

    @property
    def shown_revision(self) -> int:
        """The public number of what readers may see, 0: nothing."""
        return 0 if self.tombstone in HIDING else self.seen_revision or 0

    @property
    def clears_tombstone(self) -> bool:
        """It is published in place of a forgotten text. Asked of what is published only."""
        return self.tombstone == "forgotten"

    def is_foreign(self, connector_id: int | None) -> bool:
        """Somebody else's. A text that no connector holds is a host's, and so is whoever comes without a connector."""
        if self.owner is None:
            return connector_id is not None and self.is_hosts
        return self.owner != connector_id and not self.is_shared


@dataclass(frozen=True, slots=True)
class Asked:
    """The grants that a page asks for, and what comes of asking."""

    granted: GrantedSet
    access_version: int
    change: Change
    denial: str | None = None  # why nobody may read it, although some were to
    is_narrowed: bool = False  # not all of them are let in, until there is a newer text


def ask(candidate: Candidate, numbers: Mapping[Grantee, int]) -> Asked | None:
    """What comes of the grants that ``candidate`` asks for, by the ``numbers`` of the names; None if they are to stay.

    A host's come with a version of their own. A connector's have none: it is raised whenever they differ.
    """
    grants = candidate.grants
    if grants is None or candidate.wanted is None or candidate.source_pk is None:
        return None
    ends = {int(number): datetime.fromisoformat(end) for number, end in (candidate.ends or {}).items()}
    stored = candidate.access_version or 0
    held = HeldGrants(
        candidate.source_id, candidate.source_pk, stored, GrantedSet(frozenset(candidate.held or ()), ends)
    )
    if candidate.denial is not None and candidate.is_granted_elsewhere:
        return Asked(
            held.granted, stored, "unchanged"
        )  # what one of them cannot find out does not hide what another one knows
    if (denial := candidate.denial or (TOO_WIDE if grants.is_too_wide else None)) is not None:
        return Asked(GrantedSet(frozenset(), {}), grants.access_version, "set", denial=denial)
    granted = wanted = granted_set(grants, numbers)
    if candidate.only_narrows:
        granted = narrowed(held.granted, wanted)
    is_narrowed = granted != wanted
    if "access_version" not in candidate.wanted and granted == held.granted:
        return Asked(granted, stored, "unchanged", is_narrowed=is_narrowed)
    change = compare(held, grants.access_version, granted)
    return Asked(granted, grants.access_version, change, is_narrowed=is_narrowed)


def judge(candidate: Candidate, connector_id: int | None, asked: Asked | None = None) -> Outcome:
    """What becomes of `candidate`, which connector `connector_id` brings, or a host if that is None."""
    if candidate.source_pk is None:
        return Outcome.ABSENT
    if candidate.is_foreign(connector_id):
        return Outcome.OWNED
    if candidate.kind == "delete":
        if candidate.is_held_elsewhere:
            return Outcome.DROPPED
        return Outcome.DELETED if candidate.is_known else Outcome.ABSENT
    if candidate.tombstone in HIDING and not _is_newer_than_tombstone(candidate, connector_id):
        return Outcome.TOMBSTONED
    if asked is not None and asked.denial is not None:
        return Outcome.DENIED
    if candidate.denial is not None and not candidate.is_granted_elsewhere:
        return Outcome.DENIED
    if candidate.kind == "grants" or candidate.denial is not None:
        return Outcome.GRANTED if candidate.is_known else Outcome.ABSENT
    if candidate.expected_revision not in (None, candidate.shown_revision):
        return Outcome.CONFLICT
    if candidate.is_moved:  # also what stages nothing: it was found equal, or failed, next to another source's text
        return Outcome.MOVED
    if candidate.rev_id is not None and (refused := _refused(candidate)):
        return refused
    if asked is not None and asked.change == "conflict":
        return Outcome.CONFLICT
    if candidate.rev_id is not None:
        return Outcome.PUBLISHED
    if candidate.state in FAILED:
        return Outcome.FAILED
    return _judge_unchanged(candidate)


def _judge_unchanged(candidate: Candidate) -> Outcome:
    """Unchanged it is only as long as readers see what it was found equal to."""
    if not candidate.is_unchanged or candidate.seen_seq is None:
        return Outcome.LOST
    if candidate.same_seq in (None, candidate.seen_seq):
        return Outcome.UNCHANGED
    return Outcome.LOST if candidate.source_seq is None or candidate.source_seq > candidate.seen_seq else Outcome.STALE


def _refused(candidate: Candidate) -> Outcome | None:
    assert candidate.fence_gen is not None and candidate.base_gen is not None and candidate.source_seq is not None
    if candidate.fence_gen > candidate.base_gen:
        return Outcome.FENCED
    if candidate.seen_seq is not None and candidate.seen_seq >= candidate.source_seq:
        return Outcome.STALE
    return None


def _is_newer_than_tombstone(candidate: Candidate, connector_id: int | None) -> bool:
    """Whether it may be published in place of what was forgotten: it was read since, and a connector shows another version.

    Of what was revoked or is held nothing is newer. Without a version there is no telling, so it stays forgotten.
    """
    if candidate.tombstone != "forgotten" or candidate.rev_id is None or candidate.is_moved:
        return False
    assert candidate.base_gen is not None and candidate.source_seq is not None
    assert candidate.tombstone_gen is not None and candidate.tombstone_seq is not None
    if candidate.base_gen < candidate.tombstone_gen or candidate.source_seq <= candidate.tombstone_seq:
        return False
    versions = (candidate.version, candidate.tombstone_version)
    return connector_id is None or (None not in versions and versions[0] != versions[1])
