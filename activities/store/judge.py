"""What becomes of each document of a page, decided from what the store holds under the scope's lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headwater.states import FAILED


class Outcome(StrEnum):
    PUBLISHED = "published"  # readers see the staged revision from now on
    UNCHANGED = "unchanged"  # readers see it already
    FAILED = "failed"  # it could not be read; an older text stays readable, marked stale
    OWNED = "owned"  # its id belongs to another connector or to a host
    FENCED = "fenced"  # deleted since it was read: the deletion wins
    STALE = "stale"  # a newer reading was published meanwhile
    LOST = "lost"  # believed unchanged, but readers do not see it: it is read again next time
    GRANTED = "granted"  # only its grants are renewed
    DELETED = "deleted"
    ABSENT = "absent"  # there is nothing to delete or to grant


@dataclass(frozen=True, slots=True)
class Candidate:
    """One document of a page, and what the store holds of its source."""

    ord: int
    kind: str  # upsert, grants or delete
    source_id: str
    rev_id: int | None  # the staged revision, if reading it gave one
    source_pk: int | None  # None: the id was never heard of
    owner: int | None  # connector that holds the source
    owner_name: str | None
    fence_gen: int | None  # generation of its last deletion, 0: never deleted
    base_gen: int | None  # the scope's head before the staged content was read
    source_seq: int | None  # order of that reading among all readings of the source
    seen_seq: int | None  # the same of the text readers see now; None: they see none
    is_known: bool  # it has a status
    is_read: bool  # nothing is left to do for it but publishing
    state: str | None  # what reading it gave
    reason: str | None
    is_unchanged: bool
    wanted: Mapping[str, Any] | None  # the names it is to be granted to; None: leave its grants as they are
    held: Sequence[int] | None  # the grantees it has, in order
    is_expiring: bool  # some of its grants end by themselves

    def is_foreign(self, connector_id: int) -> bool:
        """Somebody else's. A text that readers see and no connector owns is a host's."""
        if self.owner is None:
            return self.seen_seq is not None
        return self.owner != connector_id

    def new_grants(self, grantees: Mapping[tuple[str, str], int]) -> list[int] | None:
        """The grantees it is to have from now on, by their names' numbers; None if that changes nothing."""
        if self.wanted is None:
            return None
        names = [("principal", name) for name in self.wanted["principal_ids"]]
        names += [("group", name) for name in self.wanted["group_ids"]]
        names += [("everyone", "")] if self.wanted["everyone"] else []
        numbers = sorted({grantees[name] for name in names})
        return None if numbers == self.held and not self.is_expiring else numbers


def judge(candidate: Candidate, connector_id: int) -> Outcome:
    """What becomes of `candidate`, which connector `connector_id` brings."""
    if candidate.source_pk is None:
        return Outcome.ABSENT
    if candidate.is_foreign(connector_id):
        return Outcome.OWNED
    is_held = candidate.is_known or candidate.seen_seq is not None
    if candidate.kind == "delete":
        return Outcome.DELETED if is_held else Outcome.ABSENT
    if candidate.kind == "grants":
        return Outcome.GRANTED if is_held else Outcome.ABSENT
    if candidate.rev_id is not None:
        return _judge_revision(candidate)
    if candidate.state in FAILED:
        return Outcome.FAILED
    return Outcome.UNCHANGED if candidate.is_unchanged and candidate.seen_seq is not None else Outcome.LOST


def _judge_revision(candidate: Candidate) -> Outcome:
    assert candidate.fence_gen is not None and candidate.base_gen is not None and candidate.source_seq is not None
    if candidate.fence_gen > candidate.base_gen:
        return Outcome.FENCED
    if candidate.seen_seq is not None and candidate.seen_seq >= candidate.source_seq:
        return Outcome.STALE
    return Outcome.PUBLISHED
