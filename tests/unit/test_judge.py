"""What becomes of a document when its page is published: one line of the table for each rule."""

from dataclasses import replace

import pytest

from activities.store.judge import Candidate, Outcome, judge
from headwater.states import FAILED

US, OTHER = 7, 8

# A staged revision of a document that readers see an older reading of.
STAGED = Candidate(
    ord=0,
    kind="upsert",
    source_id="folder:a/x.md",
    rev_id=100,
    source_pk=1,
    owner=US,
    owner_name="folder-a",
    fence_gen=0,
    base_gen=10,
    source_seq=5,
    seen_seq=4,
    is_known=True,
    is_read=True,
    state="indexed",
    reason=None,
    is_unchanged=False,
    wanted=None,
    held=[],
    is_expiring=False,
)
NEW = replace(STAGED, owner=None, owner_name=None, seen_seq=None, is_known=False)
NOTHING_STAGED = replace(STAGED, rev_id=None, base_gen=None, source_seq=None)
UNCHANGED = replace(NOTHING_STAGED, state=None, is_unchanged=True)
BROKEN = replace(NOTHING_STAGED, state="failed", reason="it is broken")
DELETE = replace(NOTHING_STAGED, kind="delete", state=None)
GRANTS = replace(NOTHING_STAGED, kind="grants", state=None)


@pytest.mark.parametrize(
    ("candidate", "outcome"),
    [
        (STAGED, Outcome.PUBLISHED),
        (NEW, Outcome.PUBLISHED),
        (replace(STAGED, seen_seq=5), Outcome.STALE),
        (replace(STAGED, seen_seq=6), Outcome.STALE),
        (replace(STAGED, fence_gen=11), Outcome.FENCED),
        (replace(NEW, fence_gen=11), Outcome.FENCED),
        (replace(STAGED, fence_gen=10), Outcome.PUBLISHED),
        (replace(STAGED, fence_gen=11, seen_seq=6), Outcome.FENCED),
        (replace(STAGED, owner=OTHER), Outcome.OWNED),
        (replace(STAGED, owner=OTHER, fence_gen=11), Outcome.OWNED),
        (replace(STAGED, owner=None), Outcome.OWNED),
        (replace(BROKEN, owner=OTHER), Outcome.OWNED),
        (replace(UNCHANGED, owner=OTHER), Outcome.OWNED),
        (UNCHANGED, Outcome.UNCHANGED),
        (replace(UNCHANGED, seen_seq=None), Outcome.LOST),
        (replace(NOTHING_STAGED, state="indexed"), Outcome.LOST),
        (BROKEN, Outcome.FAILED),
        (replace(BROKEN, seen_seq=None, owner=None, is_known=False), Outcome.FAILED),
        (DELETE, Outcome.DELETED),
        (replace(DELETE, seen_seq=None), Outcome.DELETED),
        (replace(DELETE, is_known=False), Outcome.DELETED),
        (replace(DELETE, seen_seq=None, is_known=False), Outcome.ABSENT),
        (replace(DELETE, source_pk=None, owner=None, seen_seq=None, is_known=False), Outcome.ABSENT),
        (replace(DELETE, owner=OTHER), Outcome.OWNED),
        (GRANTS, Outcome.GRANTED),
        (replace(GRANTS, seen_seq=None), Outcome.GRANTED),
        (replace(GRANTS, seen_seq=None, is_known=False), Outcome.ABSENT),
        (replace(GRANTS, owner=OTHER), Outcome.OWNED),
    ],
)
def test_a_document_is_judged_by_what_the_store_holds(candidate: Candidate, outcome: Outcome) -> None:
    assert judge(candidate, US) is outcome


@pytest.mark.parametrize("state", sorted(FAILED))
def test_every_failed_state_is_a_failure(state: str) -> None:
    assert judge(replace(BROKEN, state=state), US) is Outcome.FAILED


NUMBERS = {("principal", "alice"): 1, ("group", "staff"): 2, ("group", "alice"): 3, ("everyone", ""): 4}


def wanting(principals: list[str], groups: list[str], *, everyone: bool = False) -> dict[str, object]:
    return {"principal_ids": principals, "group_ids": groups, "everyone": everyone}


@pytest.mark.parametrize(
    ("candidate", "grants"),
    [
        (STAGED, None),
        (replace(STAGED, wanted=wanting([], [])), None),
        (replace(STAGED, wanted=wanting([], []), held=[1]), []),
        (replace(STAGED, wanted=wanting(["alice"], ["staff", "alice"], everyone=True)), [1, 2, 3, 4]),
        (replace(STAGED, wanted=wanting(["alice", "alice"], ["staff"]), held=[1, 2]), None),
        (replace(STAGED, wanted=wanting(["alice"], []), held=[1], is_expiring=True), [1]),
        (replace(STAGED, wanted=None, held=[1], is_expiring=True), None),
    ],
)
def test_grants_are_renewed_when_they_differ(candidate: Candidate, grants: list[int] | None) -> None:
    assert candidate.new_grants(NUMBERS) == grants
