"""What is hidden from the start: a text that rests on a source which must not be served, and all that rests on it in turn.

Of a page all texts are shown together, so that one may rest on another: on one that is hidden here, or on one that takes the
place of what was forgotten.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from activities.store.pages.judge import Candidate
from headwater.contracts.deletion import Reason
from headwater.errors import LimitError

GRAVEST_FIRST: Final[tuple[Reason, ...]] = ("legal_hold", "revoked", "forgotten")


@dataclass(frozen=True, slots=True)
class Inherited:
    """A document that is hidden as what it rests on is, with all `ids` that rest on it, itself among them."""

    source_id: str
    reason: Reason
    ids: Sequence[str]


def inherit(
    published: Sequence[Candidate], closure: Callable[[str], Sequence[str]]
) -> tuple[list[Inherited], set[str]]:
    """Those of `published` that are hidden, and those that cannot be: more rests on them than is hidden at once.

    `closure` gives a source with all that rests on it by now, or raises a `LimitError`.
    """
    cleared = {each.source_id for each in published if each.clears_tombstone}
    hidden: dict[str, Reason] = {}  # by this publication
    inherited: list[Inherited] = []
    refused: set[str] = set()
    waiting = [each for each in published if each.parents]
    while True:
        found: list[tuple[Candidate, Reason]] = [
            (each, reason) for each in waiting if (reason := _reason(each, hidden, cleared)) is not None
        ]
        if not found:
            return inherited, refused
        waiting = [each for each in waiting if all(each is not other for other, _ in found)]
        for each, reason in found:
            cleared.discard(each.source_id)
            try:
                ids = closure(each.source_id)
            except LimitError:
                refused.add(each.source_id)
                hidden[each.source_id] = reason  # its older text is still shown, but others of the page rest on this one
                continue
            inherited.append(Inherited(each.source_id, reason, ids))
            for source_id in ids:
                hidden.setdefault(source_id, reason)


def _reason(candidate: Candidate, hidden: dict[str, Reason], cleared: set[str]) -> Reason | None:
    """The gravest reason among those of what it rests on. A correction hides by itself."""
    reasons = {
        hidden.get(parent, None if parent in cleared else reason)
        for parent, reason in (candidate.parents or {}).items()
        if parent != candidate.source_id
    }
    return next((reason for reason in GRAVEST_FIRST if reason in reasons), None)
