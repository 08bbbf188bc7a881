"""What becomes of a document when its page is published: one line of the table for each rule."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from activities.store.pages.judge import Candidate, Outcome, ask, judge
from headwater.states import FAILED

US, OTHER = 7, 8

# A staged revision of a document that readers see an older reading of.
STAGED = Candidate(
    ord=0,
    kind="upsert",
    source_id="folder:a/x.md",
    rev_id=100,
    version_id=200,
    source_pk=1,
    is_moved=False,
    owner=US,
    owner_name="folder-a",
    is_hosts=False,
    fence_gen=0,
    base_gen=10,
    source_seq=5,
    chunks=2,
    seen_seq=4,
    same_seq=None,
    seen_revision=3,
    seen_chunks=1,
    number=4,
    known_state="indexed",
    is_read=True,
    state="indexed",
    reason=None,
    version="v2",
    is_unchanged=False,
    expected_revision=None,
    tombstone=None,
    tombstone_gen=None,
    tombstone_seq=None,
    tombstone_version=None,
    parents=None,
    wanted=None,
    held=[],
    ends=None,
    access_version=7,
)
NOTHING_SEEN = replace(STAGED, seen_seq=None, seen_revision=None, seen_chunks=None)
NEW = replace(NOTHING_SEEN, owner=None, owner_name=None, number=1, known_state="pending")
NOTHING_STAGED = replace(STAGED, rev_id=None, version_id=None, base_gen=None, source_seq=None, chunks=None)
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
        (replace(STAGED, owner=None, is_hosts=True), Outcome.OWNED),
        (replace(NEW, is_hosts=True), Outcome.OWNED),
        (replace(BROKEN, owner=OTHER), Outcome.OWNED),
        (replace(UNCHANGED, owner=OTHER), Outcome.OWNED),
        (replace(UNCHANGED, same_seq=4), Outcome.UNCHANGED),
        (replace(UNCHANGED, same_seq=3), Outcome.LOST),
        (replace(UNCHANGED, same_seq=3, source_seq=5), Outcome.LOST),
        (replace(UNCHANGED, same_seq=2, source_seq=3), Outcome.STALE),
        (UNCHANGED, Outcome.UNCHANGED),
        (replace(UNCHANGED, seen_seq=None), Outcome.LOST),
        (replace(NOTHING_STAGED, state="indexed"), Outcome.LOST),
        (BROKEN, Outcome.FAILED),
        (replace(BROKEN, seen_seq=None, owner=None, known_state=None), Outcome.FAILED),
        (DELETE, Outcome.DELETED),
        (replace(DELETE, seen_seq=None), Outcome.DELETED),
        (replace(DELETE, known_state=None), Outcome.DELETED),
        (replace(DELETE, seen_seq=None, known_state=None), Outcome.ABSENT),
        (replace(DELETE, source_pk=None, owner=None, seen_seq=None, known_state=None), Outcome.ABSENT),
        (replace(DELETE, owner=OTHER), Outcome.OWNED),
        (GRANTS, Outcome.GRANTED),
        (replace(GRANTS, seen_seq=None), Outcome.GRANTED),
        (replace(GRANTS, seen_seq=None, known_state=None), Outcome.ABSENT),
        (replace(GRANTS, owner=OTHER), Outcome.OWNED),
    ],
)
def test_a_document_is_judged_by_what_the_store_holds(candidate: Candidate, outcome: Outcome) -> None:
    assert judge(candidate, US) is outcome


@pytest.mark.parametrize("state", sorted(FAILED))
def test_every_failed_state_is_a_failure(state: str) -> None:
    assert judge(replace(BROKEN, state=state), US) is Outcome.FAILED


HOSTS = replace(STAGED, owner=None, owner_name=None, is_hosts=True, version=None)
HOSTS_NEW = replace(NEW, version=None)


@pytest.mark.parametrize(
    ("candidate", "outcome"),
    [
        (HOSTS, Outcome.PUBLISHED),
        (HOSTS_NEW, Outcome.PUBLISHED),
        (replace(HOSTS, owner=OTHER), Outcome.OWNED),
        (replace(HOSTS, fence_gen=11), Outcome.FENCED),
        (replace(HOSTS, seen_seq=5), Outcome.STALE),
        (replace(HOSTS, is_moved=True), Outcome.MOVED),
        (replace(HOSTS_NEW, is_moved=True, expected_revision=0), Outcome.MOVED),
        (replace(UNCHANGED, owner=None, is_moved=True), Outcome.MOVED),
        (replace(BROKEN, owner=None, is_moved=True), Outcome.MOVED),
        (replace(HOSTS, expected_revision=3), Outcome.PUBLISHED),
        (replace(HOSTS, expected_revision=2), Outcome.CONFLICT),
        (replace(HOSTS, expected_revision=4), Outcome.CONFLICT),
        (replace(HOSTS, expected_revision=0), Outcome.CONFLICT),
        (replace(HOSTS_NEW, expected_revision=0), Outcome.PUBLISHED),
        (replace(HOSTS_NEW, expected_revision=1), Outcome.CONFLICT),
        # Whoever compares is told what is there, also when the other writer read later, or deleted it.
        (replace(HOSTS, expected_revision=2, seen_seq=6), Outcome.CONFLICT),
        (replace(HOSTS_NEW, expected_revision=2, fence_gen=11), Outcome.CONFLICT),
        (replace(HOSTS_NEW, expected_revision=0, fence_gen=11), Outcome.FENCED),
        (replace(UNCHANGED, owner=None, expected_revision=2), Outcome.CONFLICT),
        (replace(UNCHANGED, owner=None, expected_revision=3), Outcome.UNCHANGED),
        (replace(BROKEN, owner=None, expected_revision=2), Outcome.CONFLICT),
    ],
)
def test_a_document_of_a_host_is_compared_with_what_it_expects(candidate: Candidate, outcome: Outcome) -> None:
    assert judge(candidate, None) is outcome


FORGOTTEN = replace(
    STAGED, tombstone="forgotten", tombstone_gen=10, tombstone_seq=4, tombstone_version="v1", version="v2"
)


@pytest.mark.parametrize(
    ("candidate", "connector_id", "outcome"),
    [
        (FORGOTTEN, US, Outcome.PUBLISHED),
        (replace(FORGOTTEN, version="v1"), US, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, version=None), US, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, tombstone_version=None), US, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, base_gen=9), US, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, tombstone_seq=5), US, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, fence_gen=11), US, Outcome.FENCED),
        (replace(FORGOTTEN, owner=OTHER), US, Outcome.OWNED),
        (replace(FORGOTTEN, owner=None, is_moved=True), None, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, owner=None, version=None), None, Outcome.PUBLISHED),
        (replace(FORGOTTEN, owner=None, base_gen=9), None, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, owner=None, tombstone_seq=5), None, Outcome.TOMBSTONED),
        # Readers see nothing of it, whatever has not been removed yet.
        (replace(FORGOTTEN, owner=None, expected_revision=0), None, Outcome.PUBLISHED),
        (replace(FORGOTTEN, owner=None, expected_revision=3), None, Outcome.CONFLICT),
        (replace(FORGOTTEN, tombstone="revoked"), US, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, tombstone="legal_hold"), US, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, owner=None, tombstone="revoked"), None, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, owner=None, tombstone="legal_hold"), None, Outcome.TOMBSTONED),
        (replace(FORGOTTEN, tombstone="corrected", version="v1", base_gen=9), US, Outcome.PUBLISHED),
        (replace(UNCHANGED, tombstone="revoked"), US, Outcome.TOMBSTONED),
        (replace(UNCHANGED, tombstone="forgotten"), US, Outcome.TOMBSTONED),
        (replace(BROKEN, tombstone="forgotten"), US, Outcome.TOMBSTONED),
        (replace(GRANTS, tombstone="revoked"), US, Outcome.TOMBSTONED),
        (replace(DELETE, tombstone="revoked"), US, Outcome.DELETED),
    ],
)
def test_only_a_newer_text_takes_the_place_of_a_forgotten_one(
    candidate: Candidate, connector_id: int | None, outcome: Outcome
) -> None:
    assert judge(candidate, connector_id) is outcome


NUMBERS = {("principal", "alice"): 1, ("group", "staff"): 2, ("group", "alice"): 3, ("everyone", ""): 4}
AT = "2027-01-01T00:00:00+00:00"


def wanting(principals: list[str], groups: list[str], *, everyone: bool = False) -> dict[str, object]:
    return {"principal_ids": principals, "group_ids": groups, "everyone": everyone}


@pytest.mark.parametrize(
    ("candidate", "change", "permanent", "version"),
    [
        (replace(STAGED, wanted=wanting([], [])), "unchanged", set(), 7),
        (replace(STAGED, wanted=wanting([], []), held=[1]), "set", set(), 8),
        (replace(STAGED, wanted=wanting(["alice"], ["staff", "alice"], everyone=True)), "set", {1, 2, 3, 4}, 8),
        (replace(STAGED, wanted=wanting(["alice", "alice"], ["staff"]), held=[1, 2]), "unchanged", {1, 2}, 7),
        (replace(STAGED, wanted=wanting(["alice"], []), held=[1], ends={"2": AT}), "set", {1}, 8),
    ],
)
def test_grants_of_a_connector_are_renewed_when_they_differ(
    candidate: Candidate, change: str, permanent: set[int], version: int
) -> None:
    asked = ask(candidate, NUMBERS)
    assert asked is not None
    assert (str(asked.change), set(asked.granted.permanent), asked.access_version) == (change, permanent, version)


def test_a_document_without_grants_asks_for_none() -> None:
    assert ask(replace(STAGED, held=[1], ends={"2": AT}), NUMBERS) is None


def versioned(version: int, **more: object) -> dict[str, object]:
    return {"principal_ids": ["alice"], "group_ids": [], "everyone": False, "access_version": version, **more}


@pytest.mark.parametrize(
    ("wanted", "outcome"),
    [
        (versioned(8), Outcome.PUBLISHED),
        (versioned(7), Outcome.CONFLICT),
        (versioned(7, principal_ids=[], group_ids=["staff"], expires_at=AT), Outcome.CONFLICT),
        (versioned(7, principal_ids=[], group_ids=["staff"]), Outcome.PUBLISHED),
        (versioned(6, principal_ids=[], group_ids=["staff"]), Outcome.CONFLICT),
        (versioned(8, principal_ids=[f"p{number}" for number in range(1_025)]), Outcome.DENIED),
        (versioned(8, group_ids=[f"g{number}" for number in range(33)]), Outcome.DENIED),
    ],
)
def test_grants_of_a_host_win_by_their_version_alone(wanted: dict[str, object], outcome: Outcome) -> None:
    candidate = replace(HOSTS, held=[2], wanted=wanted)
    assert judge(candidate, None, ask(candidate, NUMBERS)) is outcome


SHARED = replace(STAGED, owner=OTHER, owner_name="drive-b", is_shared=True, is_held_elsewhere=True)


@pytest.mark.parametrize(
    ("candidate", "outcome"),
    [
        (SHARED, Outcome.PUBLISHED),
        (replace(SHARED, is_shared=False), Outcome.OWNED),
        (replace(DELETE, owner=OTHER, is_shared=True, is_held_elsewhere=True), Outcome.DROPPED),
        (replace(DELETE, owner=US, is_shared=True, is_held_elsewhere=True), Outcome.DROPPED),
        (replace(DELETE, owner=OTHER, is_shared=True), Outcome.DELETED),
        (replace(DELETE, owner=OTHER), Outcome.OWNED),
        (replace(DELETE, known_state="pending", seen_seq=None, is_held_elsewhere=True), Outcome.DROPPED),
    ],
)
def test_connectors_that_count_as_one_owner_share_a_source(candidate: Candidate, outcome: Outcome) -> None:
    assert judge(candidate, US) is outcome


WITHHELD = {"principal_ids": [], "group_ids": [], "everyone": False, "withheld": "grants_unreadable"}


def test_what_its_connector_withholds_is_denied_for_its_reason_and_granted_to_nobody() -> None:
    candidate = replace(GRANTS, wanted=WITHHELD, held=[1])
    asked = ask(candidate, {})
    assert asked is not None and (asked.denial, asked.granted.permanent) == ("grants_unreadable", frozenset())
    assert judge(candidate, US, asked) is Outcome.DENIED
    new = replace(candidate, owner=None, owner_name=None, seen_seq=None, known_state="pending", held=[])
    assert judge(new, US, ask(new, {})) is Outcome.DENIED


def test_what_one_connector_withholds_is_not_hidden_while_another_one_knows_its_grants() -> None:
    candidate = replace(GRANTS, wanted=WITHHELD, held=[1], is_shared=True, is_held_elsewhere=True)
    assert judge(candidate, US, ask(candidate, {})) is Outcome.DENIED
    known = replace(candidate, is_granted_elsewhere=True)
    asked = ask(known, {})
    assert asked is not None and (asked.change, asked.granted.permanent) == ("unchanged", frozenset({1}))
    assert judge(known, US, asked) is Outcome.GRANTED


def test_a_connectors_grants_may_end() -> None:
    wanted = {
        **WITHHELD,
        "withheld": None,
        "expiring": [{"group_id": "eng", "expires_at": "2030-01-01T00:00:00+00:00"}],
    }
    asked = ask(replace(GRANTS, wanted=wanted), {("group", "eng"): 4})
    assert asked is not None and asked.change == "set"
    assert asked.granted.expiring == {4: datetime(2030, 1, 1, tzinfo=UTC)}


def test_what_its_origin_refuses_is_denied_unless_another_connector_has_it() -> None:
    refused = replace(NOTHING_STAGED, state="denied", reason="It may not be downloaded.")
    assert (judge(refused, US), refused.denial) == (Outcome.DENIED, "It may not be downloaded.")
    elsewhere = replace(refused, is_shared=True, is_held_elsewhere=True, is_granted_elsewhere=True)
    assert judge(elsewhere, US) is Outcome.GRANTED
