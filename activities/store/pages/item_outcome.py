"""What publishing did with each document of a host's page, in words that a host understands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from activities.store.database import Store
from activities.store.pages.judge import Asked, Candidate, Outcome
from activities.store.sources.access import TOO_WIDE
from activities.store.sql import queries
from headwater.states import HEALTHY, SourceState


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """One document of a published page.

    `revision` is the one that readers may see now, 0 if none; `chunks` are new, `replaced_chunks` are those that readers saw
    before. `expected` and `actual` are set where the two differ: revisions, or versions of the grants if `is_access_conflict`.
    `state` is the source's, for a document that is published or unchanged; otherwise it says what became of the document.
    """

    source_id: str
    outcome: str
    revision: int
    chunks: int
    replaced_chunks: int
    state: str
    reason: str | None = None
    expected: int | None = None
    actual: int | None = None
    is_access_conflict: bool = False

    @property
    def is_skipped(self) -> bool:
        return self.outcome == Outcome.UNCHANGED


REASONS: Final[Mapping[Outcome, str]] = {
    Outcome.DENIED: TOO_WIDE,
    Outcome.FENCED: "The source was deleted while this text was on its way: send it again if it is to be there.",
    Outcome.MOVED: "The source was given another id while this text was on its way: send it again under the id it is to have.",
    Outcome.STALE: "A newer text of this source was published while this one was on its way.",
    Outcome.LOST: "Readers no longer see the text that this one is equal to: send it again.",
}
TOMBSTONED: Final[Mapping[str, str]] = {
    "forgotten": "The source was forgotten while this text was on its way: send it again if it is to be there.",
    "revoked": "The source was revoked: no text of it is published any more.",
    "legal_hold": "The source is under legal hold: no text of it is published.",
}
READABLE: Final = (Outcome.PUBLISHED, Outcome.UNCHANGED)  # unless what they rest on hides them
HIDDEN: Final = "It rests on a source that must not be served, so nobody is shown it."
CORRECTED: Final = (
    "It rests on {0}, which was corrected or rests on what was, so nobody is shown it: publish {0} anew under another id, "
    "and then this text as resting on that."
)


def page_outcomes(store: Store, page_id: int) -> list[ItemOutcome] | None:
    """What became of each document of a host's page, in the page's order; None as long as it is not published.

    It is kept with the page, so that it stays what it was when the page was published.
    """
    with store.connection() as connection:
        row = connection.execute(queries(store.schema, "publish")["page_result"], {"page_id": page_id}).fetchone()
    return None if row is None else [ItemOutcome(**each) for each in row[0].get("items", ())]


def describe(candidate: Candidate, outcome: Outcome, asked: Asked | None, *, is_hidden: bool = False) -> ItemOutcome:
    """What publishing does with ``candidate``, which ``is_hidden`` with what it rests on."""
    is_published = outcome is Outcome.PUBLISHED
    withheld = why_withheld(candidate, outcome, is_hidden=is_hidden)
    expected, actual, is_access = _conflict(candidate, outcome, asked)
    return ItemOutcome(
        source_id=candidate.source_id,
        outcome=outcome.value,
        revision=0 if is_hidden else (candidate.number or 0) if is_published else candidate.shown_revision,
        chunks=(candidate.chunks or 0) if is_published else 0,
        replaced_chunks=(candidate.seen_chunks or 0) if is_published else 0,
        state=SourceState.DENIED.value if withheld else _state(candidate, outcome),
        reason=withheld or _reason(candidate, outcome, is_access_conflict=is_access),
        expected=expected,
        actual=actual,
        is_access_conflict=is_access,
    )


def why_withheld(candidate: Candidate, outcome: Outcome, *, is_hidden: bool) -> str | None:
    """Why nobody is shown a text that is published or unchanged; None if readers may see it.

    A correction hides what rests on it by itself, without a tombstone of its own.
    """
    if outcome not in READABLE:
        return None
    if is_hidden:
        return HIDDEN
    parents = sorted((candidate.parents or {}).items())
    return next(
        (CORRECTED.format(each) for each, why in parents if why == "corrected" and each != candidate.source_id), None
    )


def owned(candidate: Candidate) -> str:
    """Why a document of another owner is not published."""
    holder = f"connector {candidate.owner_name}" if candidate.owner_name else "a host"
    return f"This id belongs to {holder} of the same corpus: delete it there first, or leave it out here."


def _conflict(candidate: Candidate, outcome: Outcome, asked: Asked | None) -> tuple[int | None, int | None, bool]:
    if outcome is not Outcome.CONFLICT:
        return None, None, False
    if candidate.expected_revision not in (None, candidate.shown_revision):
        return candidate.expected_revision, candidate.shown_revision, False
    return (asked.access_version if asked else None), candidate.access_version, True


def _state(candidate: Candidate, outcome: Outcome) -> str:
    if outcome is Outcome.UNCHANGED:
        healthy = candidate.known_state if candidate.known_state in HEALTHY else None
        return healthy or (SourceState.INDEXED if candidate.seen_chunks else SourceState.EMPTY).value
    if outcome in (Outcome.PUBLISHED, Outcome.FAILED):
        return candidate.state or SourceState.INDEXED.value
    withheld = outcome in (Outcome.TOMBSTONED, Outcome.DENIED)
    return (SourceState.DENIED if withheld else SourceState.FAILED).value


def _reason(candidate: Candidate, outcome: Outcome, *, is_access_conflict: bool) -> str | None:
    if outcome in (Outcome.PUBLISHED, Outcome.FAILED):
        return candidate.reason
    if outcome is Outcome.OWNED:
        return owned(candidate)
    if outcome is Outcome.TOMBSTONED:
        return TOMBSTONED.get(candidate.tombstone or "", HIDDEN)
    if outcome is Outcome.CONFLICT:
        if is_access_conflict:
            return (
                "The grants have another set under this access_version, or a newer one: raise it above the stored one."
            )
        return "The source has another revision than expected: look at it again, then send its revision."
    return REASONS.get(outcome)
