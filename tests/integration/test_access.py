"""Grants of hosts: replaced as a whole, ordered by their version, ending when they say, and nobody's by omission."""

from datetime import UTC, datetime, timedelta

import pytest

from activities.store import Store
from activities.store.sources.access import authorize, ends_of, set_access
from headwater.connectors import GrantSet
from headwater.contracts import AccessOutcome, Conflict, Grants, SourceGrants
from headwater.errors import AccessError, ScopeError, ValidationError
from headwater.models import Scope
from tests.integration.asked import grant, grant_all, may_read, new_request, who
from tests.integration.hiding import derived, found
from tests.integration.seen import seen, source_row, table
from tests.integration.staging_factory import EVERYONE, Corpus, Document, deleted, publish
from tests.integration.waiting import until

LATER = datetime.now(UTC) + timedelta(days=1)
BEFORE = datetime.now(UTC) - timedelta(days=1)


def test_a_set_replaces_the_one_before(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("one", grants=EVERYONE))
    version = source_row(store, "one")["access_version"]
    outcome = grant(store, corpus, "one", version + 5, principal_ids=("alice",), group_ids=("hr",))
    assert outcome == AccessOutcome(source_id="one", outcome="set", access_version=version + 5)
    assert may_read(store, corpus, "one", who("alice")) and may_read(store, corpus, "one", who("carol", "hr"))
    assert not may_read(store, corpus, "one", who("carol", "eng"))
    assert set(seen(store, corpus, "alice")) == {"one"} and not seen(store, corpus, "bob")


def test_an_empty_set_revokes(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("one", grants=EVERYONE))
    assert grant(store, corpus, "one", 9).outcome == "set"
    assert not seen(store, corpus, "alice") and not may_read(store, corpus, "one", who("alice"))


def test_the_same_set_at_the_same_version_changes_nothing(store: Store, corpus: Corpus) -> None:
    sets = {"principal_ids": ("alice", "bob"), "expiring": [{"group_id": "hr", "expires_at": LATER}]}
    grant(store, corpus, "one", 3, **sets)
    before = table(store, "source"), table(store, "expiring_grant")
    outcome = grant(store, corpus, "one", 3, **{**sets, "principal_ids": ("bob", "alice")})
    assert outcome == AccessOutcome(source_id="one", outcome="unchanged", access_version=3)
    assert (table(store, "source"), table(store, "expiring_grant")) == before


@pytest.mark.parametrize(
    ("version", "sets"),
    [
        (2, {"principal_ids": ("alice",)}),
        (3, {"principal_ids": ("alice", "bob")}),
        (3, {"principal_ids": ("alice",), "expires_at": LATER}),
        (3, {"expiring": [{"principal_id": "alice", "expires_at": LATER}]}),
        (3, {}),
    ],
)
def test_a_late_writer_loses(store: Store, corpus: Corpus, version: int, sets: dict[str, object]) -> None:
    grant(store, corpus, "one", 3, principal_ids=("alice",))
    outcome = grant(store, corpus, "one", version, **sets)
    conflict = Conflict(expected=version, actual=3)
    assert outcome == AccessOutcome(source_id="one", outcome="conflict", access_version=3, conflict=conflict)
    assert may_read(store, corpus, "one", who("alice")) and not may_read(store, corpus, "one", who("bob"))


def test_another_end_at_the_same_version_is_a_conflict(store: Store, corpus: Corpus) -> None:
    grant(store, corpus, "one", 3, principal_ids=("alice",), expires_at=LATER)
    later = LATER + timedelta(seconds=1)
    assert grant(store, corpus, "one", 3, principal_ids=("alice",), expires_at=later).outcome == "conflict"


def test_an_unknown_id_gets_a_row_and_keeps_its_grants_until_its_text_comes(store: Store, corpus: Corpus) -> None:
    grant(store, corpus, "folder:elsewhere/new.md", 1, principal_ids=("alice",))
    publish(store, corpus, Document("folder:elsewhere/new.md", ["the text"]))
    assert seen(store, corpus, "alice") == {"folder:elsewhere/new.md": ["the text"]}
    assert not seen(store, corpus, "bob")


def test_everyone_is_granted_only_in_so_many_words(store: Store, corpus: Corpus) -> None:
    grant(store, corpus, "none", 1)
    grant(store, corpus, "all", 1, everyone=True)
    assert not may_read(store, corpus, "none", who("alice")) and may_read(store, corpus, "all", who("a stranger"))
    assert not may_read(store, corpus, "all", who("alice", tenant="another"))


def test_too_many_grantees_are_denied_and_the_set_stays(store: Store, corpus: Corpus) -> None:
    grant(store, corpus, "one", 1, principal_ids=("alice",))
    wide = tuple(f"group-{number}" for number in range(33))
    fitting = SourceGrants(source_id="two", access_version=1, group_ids=wide[:32])
    outcomes = grant_all(
        store,
        corpus,
        [
            SourceGrants(source_id="one", access_version=2, group_ids=wide),
            SourceGrants(source_id="new", access_version=2, group_ids=wide),
            fitting,
        ],
    )
    assert [(each.outcome, each.access_version, each.reason) for each in outcomes] == [
        ("denied", 1, "too_many_grantees"),
        ("denied", 0, "too_many_grantees"),
        ("set", 1, None),
    ]
    assert may_read(store, corpus, "one", who("alice")) and source_row(store, "one")["access_version"] == 1
    assert "new" not in {row["source_id"] for row in table(store, "source")}
    assert wide[32] not in {row["name"] for row in table(store, "grantee")}


def test_a_grant_ends_by_itself(store: Store, corpus: Corpus) -> None:
    grant(
        store, corpus, "one", 1, principal_ids=("alice",),
        expiring=[{"principal_id": "bob", "expires_at": BEFORE}, {"group_id": "hr", "expires_at": LATER}],
    )  # fmt: skip
    readers = [who("alice"), who("bob"), who("carol", "hr")]
    assert [may_read(store, corpus, "one", reader) for reader in readers] == [True, False, True]


def test_access_ends_at_query_time_without_any_event(store: Store, corpus: Corpus, database: str) -> None:
    publish(store, corpus, derived("doc"), derived("note"))
    grant(store, corpus, "doc", 9, everyone=True, expires_at=LATER)
    assert found(database, corpus) == {"doc", "note"}
    with store.connection() as connection:
        connection.execute("UPDATE headwater.expiring_grant SET expires_at = clock_timestamp() + interval '0.3 s'")
        rows = table(store, "source"), table(store, "expiring_grant"), table(store, "scope")
        is_over = "SELECT bool_and(expires_at < clock_timestamp()) FROM headwater.expiring_grant"
        until(lambda: connection.execute(is_over).fetchone() == (True,))
        assert found(database, corpus) == {"note"}
    assert (table(store, "source"), table(store, "expiring_grant"), table(store, "scope")) == rows


def test_the_end_of_a_set_is_the_end_of_each_of_its_grants(store: Store, corpus: Corpus) -> None:
    grant(
        store, corpus, "one", 1, principal_ids=("alice",), everyone=True, expires_at=BEFORE,
        expiring=[{"principal_id": "bob", "expires_at": LATER}],
    )  # fmt: skip
    assert not any(may_read(store, corpus, "one", who(name)) for name in ("alice", "bob", "carol"))


def test_of_two_ends_of_one_name_the_later_counts() -> None:
    def ends(**grants: object) -> dict[tuple[str, str], datetime | None]:
        return ends_of(Grants.model_validate({"access_version": 1, **grants}))

    both = [{"principal_id": "alice", "expires_at": LATER}, {"principal_id": "alice", "expires_at": BEFORE}]
    assert ends(expiring=both) == {("principal", "alice"): LATER}
    assert ends(expiring=both, expires_at=BEFORE) == {("principal", "alice"): BEFORE}
    assert ends(expiring=both, principal_ids=("alice",)) == {("principal", "alice"): None}
    assert ends(everyone=True, group_ids=("alice",)) == {("everyone", ""): None, ("group", "alice"): None}


def test_a_repeated_request_answers_the_same_and_does_nothing(store: Store, corpus: Corpus) -> None:
    sets = [SourceGrants(source_id="one", access_version=4, principal_ids=("alice",))]
    request_no = new_request(store, corpus)
    first = set_access(store, corpus.scope, sets, request_no=request_no, actor="host")
    grant(store, corpus, "one", 5)
    assert set_access(store, corpus.scope, sets, request_no=request_no, actor="host") == first
    assert not may_read(store, corpus, "one", who("alice"))
    audits = [row for row in table(store, "audit") if row["actor"] == "host"]
    assert [(row["action"], row["detail"]) for row in audits] == [("set_access", {"sources": 1, "set": ["one"]})]


def test_a_deleted_source_that_comes_back_has_new_grants_only(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("one", grants=GrantSet(principal_ids=("alice",))))
    publish(store, corpus, deleted("one"))
    publish(store, corpus, Document("one", grants=GrantSet(principal_ids=("bob",))))
    assert not seen(store, corpus, "alice") and set(seen(store, corpus, "bob")) == {"one"}
    version = source_row(store, "one")["access_version"]
    assert grant(store, corpus, "one", 1, principal_ids=("alice",)).conflict == Conflict(expected=1, actual=version)


def test_a_corpus_that_was_never_indexed_is_named(store: Store, corpus: Corpus) -> None:
    nowhere = Scope.parse("acme/library/nowhere")
    with pytest.raises(ValidationError, match="acme/library/nowhere does not exist"):
        set_access(store, nowhere, [], request_no=new_request(store, corpus), actor=None)


def test_whoever_acts_on_a_source_needs_a_grant_that_counts_now(store: Store, corpus: Corpus) -> None:
    grant(store, corpus, "one", 3, principal_ids=("alice",), expiring=[{"principal_id": "bob", "expires_at": BEFORE}])
    services = {("acme", "janitor"), ("other", "bob")}

    def ask(*ids: str, by: str = "alice", version: int | None = None) -> bool:
        with store.connection() as connection:
            return authorize(
                connection, store.schema, corpus.scope, who(by, version=version), ids, service_principals=services
            )

    assert ask("one") is False and ask("one", version=3) is False
    assert ask("one", "two", by="janitor") is True
    for ids, by, version in [(("one", "two"), "alice", None), (("one",), "bob", None), (("one",), "alice", 9)]:
        with pytest.raises(
            AccessError, match=rf"{by} has no grant for {ids[-1]} of acme/library/handbook.*SetSourceAcc"
        ):
            ask(*ids, by=by, version=version)
    with store.connection() as connection, pytest.raises(ScopeError, match="tenant other"):
        authorize(connection, store.schema, corpus.scope, who("bob", tenant="other"), ["one"], services)
