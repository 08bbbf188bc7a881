"""When a listed document is read again, and when it is left alone."""

from dataclasses import replace

import pytest

from activities.plan import Plan, plan
from activities.store.pages.listing import Known
from headwater.connectors import Change, ChangeKind, GrantSet

PARSERS = frozenset({"markdown/2", "unsupported/1"})
SEEN = Change(kind=ChangeKind.UPSERT, source_id="folder:a/b.md", locator="b.md", version="v1")
HIDDEN = GrantSet(withheld="grants_unreadable")
HELD = Known(
    source_id="folder:a/b.md",
    source_pk=1,
    state="indexed",
    source_version="v1",
    raw_sha256=b"raw",
    parser="markdown/2",
    rule_version=3,
    content_hash=b"content",
)


@pytest.mark.parametrize(
    ("case", "seen", "held", "expected"),
    [
        ("unchanged and visible", SEEN, HELD, Plan.NOTHING),
        ("never held", SEEN, None, Plan.READ),
        ("another version", replace(SEEN, version="v2"), HELD, Plan.READ),
        ("a version that says nothing", replace(SEEN, version=None), replace(HELD, source_version=None), Plan.READ),
        ("read too soon after a write", SEEN, replace(HELD, source_version=None), Plan.READ),
        ("a newer parser", SEEN, replace(HELD, parser="markdown/1"), Plan.READ),
        ("not visible at the pointer", SEEN, replace(HELD, content_hash=None), Plan.READ),
        ("listed before, never read", SEEN, replace(HELD, state="pending", content_hash=None), Plan.READ),
        ("listed before, no status", SEEN, replace(HELD, state=None), Plan.READ),
        ("partial", SEEN, replace(HELD, state="partial"), Plan.NOTHING),
        ("empty", SEEN, replace(HELD, state="empty"), Plan.NOTHING),
        ("failed at this version", SEEN, replace(HELD, state="failed", content_hash=None), Plan.NOTHING),
        ("failed while its old text is visible", SEEN, replace(HELD, state="no_text"), Plan.NOTHING),
        ("unsupported until a parser comes", SEEN, replace(HELD, state="unsupported", parser="unsupported/0"), Plan.READ),
        ("quarantined at an older version", SEEN, replace(HELD, state="quarantined", source_version="v0"), Plan.READ),
        ("an older access rule", SEEN, replace(HELD, rule_version=2), Plan.GRANTS),
        ("an older access rule on a failed document", SEEN, replace(HELD, rule_version=2, state="failed"), Plan.GRANTS),
        ("a connector that tells no labels", SEEN, replace(HELD, label="old"), Plan.NOTHING),
        ("the same label", replace(SEEN, label="new"), replace(HELD, label="new"), Plan.NOTHING),
        ("another label", replace(SEEN, label="new"), replace(HELD, label="old"), Plan.LABEL),
        ("the first label", replace(SEEN, label="new"), HELD, Plan.LABEL),
        ("another label on a failed document", replace(SEEN, label="new"), replace(HELD, state="failed"), Plan.LABEL),
        ("another label of what another one published and holds", replace(SEEN, label="new"),
         replace(HELD, label="old", is_named_elsewhere=True), Plan.NOTHING),
        ("held by another one under another label", replace(SEEN, label="new"),
         replace(HELD, label="old", is_member=False, is_named_elsewhere=True), Plan.GRANTS),
        ("another version of what another one published", replace(SEEN, label="new", version="v2"),
         replace(HELD, is_named_elsewhere=True), Plan.READ),
        ("another label and an older access rule", replace(SEEN, label="new"), replace(HELD, rule_version=2), Plan.LABEL),
        ("another label and another version", replace(SEEN, label="new", version="v2"), HELD, Plan.READ),
        ("another label, not visible", replace(SEEN, label="new"), replace(HELD, content_hash=None), Plan.READ),
        ("another label of what is forgotten", replace(SEEN, label="new"),
         replace(HELD, tombstone="forgotten", tombstone_version="v1"), Plan.NOTHING),
        ("grants that its origin changed", replace(SEEN, access="new"), replace(HELD, access="old"), Plan.GRANTS),
        ("grants that its origin says for the first time", replace(SEEN, access="new"), HELD, Plan.GRANTS),
        ("the same grants", replace(SEEN, access="same"), replace(HELD, access="same"), Plan.NOTHING),
        ("grants that went with a tombstone", replace(SEEN, access="same"), replace(HELD, access=""), Plan.GRANTS),
        ("new and withheld", replace(SEEN, grants=HIDDEN, access="x"), None, Plan.GRANTS),
        ("withheld now", replace(SEEN, version="v2", grants=HIDDEN, access="x"), HELD, Plan.GRANTS),
        ("withheld still", replace(SEEN, version="v2", grants=HIDDEN, access="x"), replace(HELD, access="x"), Plan.NOTHING),
        ("withheld by a connector without fingerprints", replace(SEEN, grants=HIDDEN), None, Plan.GRANTS),
        ("refused at this version", SEEN, replace(HELD, state="denied", content_hash=None), Plan.NOTHING),
        ("refused at this version, readable before", SEEN, replace(HELD, freshness="unavailable", access=""), Plan.NOTHING),
        ("refused at another version", replace(SEEN, version="v2"), replace(HELD, state="denied"), Plan.READ),
        ("refused under an older rule", SEEN, replace(HELD, state="denied", rule_version=2), Plan.READ),
        ("refused until it has another version, of which it tells none", replace(SEEN, version=None),
         replace(HELD, state="denied", source_version=None), Plan.READ),
        ("held by another one of the same owner", SEEN, replace(HELD, is_member=False), Plan.GRANTS),
        ("held by another one at another version", replace(SEEN, version="v2"), replace(HELD, is_member=False), Plan.READ),
        ("an older access rule and another version", replace(SEEN, version="v2"), replace(HELD, rule_version=2), Plan.READ),
    ],
)  # fmt: skip
def test_a_listed_document(case: str, seen: Change, held: Known | None, expected: Plan) -> None:
    assert plan(seen, held, full=False, rule_version=3, parsers=PARSERS) is expected, case


def test_full_reads_whatever_was_recorded() -> None:
    for held in (HELD, replace(HELD, state="failed"), replace(HELD, rule_version=2), None):
        assert plan(SEEN, held, full=True, rule_version=3, parsers=PARSERS) is Plan.READ


@pytest.mark.parametrize(
    ("held", "left_alone"),
    [
        (replace(HELD, tombstone="revoked"), True),
        (replace(HELD, tombstone="legal_hold"), True),
        (replace(HELD, tombstone="forgotten", tombstone_version="v1"), True),
        (replace(HELD, tombstone="forgotten", tombstone_version="v0"), False),
        (replace(HELD, tombstone="forgotten", tombstone_version=None), False),
    ],
)
def test_what_must_not_be_served_is_not_read_either(held: Known, left_alone: bool) -> None:
    unread = replace(held, state=None, source_version=None)
    for full in (True, False):
        what = plan(SEEN, unread, full=full, rule_version=9, parsers=PARSERS)
        assert what is (Plan.NOTHING if left_alone else Plan.READ)
