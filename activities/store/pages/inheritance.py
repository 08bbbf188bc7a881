"""What is hidden from the start: a text that rests on a source which must not be served, and all that rests on it in turn.

Of a page all texts are shown together, so that one may rest on another: on one that is hidden here, or on one that takes the
place of what was forgotten.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What is hidden with a page, and what becomes of its other documents for that.

    More rests on the `refused` ones than is hidden at once: they are not published. Of the `spared` ones only older texts
    rest on what is hidden: these must not be shown again, and the new ones are.
    """

    hidden: Sequence[Inherited]
    refused: Collection[str]
    spared: Collection[str]


def inherit(published: Sequence[Candidate], closure: Callable[[str], Sequence[str]]) -> Inheritance:
    """What is hidden with those of `published` that rest on what must not be served.

    `closure` gives a source with all that rests on it by now, or raises a `LimitError`.
    """
    cleared = {each.source_id for each in published if each.clears_tombstone}
    hidden: dict[str, Reason] = {}  # by this publication
    inherited: list[Inherited] = []
    refused: set[str] = set()
    waiting = list(published)
    while True:
        found: list[tuple[Candidate, Reason]] = [
            (each, reason) for each in waiting if (reason := _reason(each, hidden, cleared)) is not None
        ]
        if not found:
            return _sparing(inherited, refused, {each.source_id for each in waiting})
        waiting = [each for each in waiting if all(each is not other for other, _ in found)]
        undecided = {each.source_id for each in waiting}  # their new texts count, not what older ones rested on
        for each, reason in found:
            cleared.discard(each.source_id)
            try:
                ids = closure(each.source_id)
            except LimitError:
                refused.add(each.source_id)
                hidden[each.source_id] = (
                    reason  # its older text is still shown, but others of the page rest on this one
                )
                continue
            inherited.append(Inherited(each.source_id, reason, ids))
            for source_id in ids:
                if source_id not in undecided:
                    hidden.setdefault(source_id, reason)


def _sparing(inherited: Sequence[Inherited], refused: Collection[str], shown: Collection[str]) -> Inheritance:
    """Without those of `shown`, which rest on nothing hidden. What was derived from their older texts stays hidden."""
    spared = {source_id for each in inherited for source_id in each.ids if source_id in shown}
    hidden = [replace(each, ids=[source_id for source_id in each.ids if source_id not in spared]) for each in inherited]
    return Inheritance(hidden, refused, spared)


def _reason(candidate: Candidate, hidden: dict[str, Reason], cleared: set[str]) -> Reason | None:
    """The gravest reason among those of what it rests on. A correction hides by itself."""
    reasons = {
        hidden.get(parent, None if parent in cleared else reason)
        for parent, reason in (candidate.parents or {}).items()
        if parent != candidate.source_id
    }
    return next((reason for reason in GRAVEST_FIRST if reason in reasons), None)
