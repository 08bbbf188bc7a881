"""A source goes on under another id: at once, with text, vectors and status, and without the grants of the old one."""

from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import pytest

from activities.contracts.repoint import MovedPage
from activities.store import Store
from activities.store.sources.pair import MoveRefused
from headwater.contracts import Grants
from headwater.contracts.access import ExpiringGrant
from headwater.errors import AccessError, LimitError, ScopeError, ValidationError
from headwater.models import Scope
from tests.integration.asked import delete_sources, grant, new_request, who
from tests.integration.moving import ALICE, ALICES, SERVICES, audits, hosts, many_edges, many_rows, move, parents_of
from tests.integration.seen import of_schema, seen, source_row, table
from tests.integration.staging_factory import Corpus, Document, make_corpus, publish

LATER = datetime.now(UTC) + timedelta(days=1)


def everything(store: Store) -> dict[str, list[dict[str, Any]]]:
    """All that a move could have changed."""
    return {name: table(store, name) for name in ("source", "lineage", "forward", "audit", "request_step", "ingestion")}


def test_all_of_a_source_goes_on_under_the_new_id_as_it_was(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("doc:a", ["one", "two", "three"], grants=ALICES))
    hosts(store, corpus, Document("summary:a", ["short"], grants=ALICES, lineage=["doc:a", "doc:a#0002", "note"]))
    grant(store, corpus, "doc:b", 1, principal_ids=("alice",))
    untouched = {name: table(store, name) for name in ("chunk", "span", "revision", "document_version")}
    done = move(store, corpus, "doc:a", "doc:b", authorization=ALICE, services=())
    assert done == MovedPage(moved_sources=1, moved_chunks=3, rewritten_edges=2)
    assert seen(store, corpus, "alice") == {"doc:b": ["one", "two", "three"], "summary:a": ["short"]}
    assert parents_of(store, "summary:a") == ["doc:b", "doc:b#0002", "note"]
    assert {name: table(store, name) for name in untouched} == untouched
    told = {
        "from": "doc:a",
        "to": "doc:b",
        "moved_chunks": 3,
        "rewritten_edges": 2,
        "principal": "alice",
        "as_service": False,
    }
    assert audits(store) == [told]


def test_grants_stay_with_their_id(store: Store, corpus: Corpus) -> None:
    ends = (ExpiringGrant(principal_id="carol", expires_at=LATER), ExpiringGrant(group_id="hr", expires_at=LATER))
    hosts(
        store, corpus, Document("a", ["text"], grants=Grants(principal_ids=("alice",), access_version=7, expiring=ends))
    )
    grant(
        store,
        corpus,
        "b",
        3,
        principal_ids=("bob",),
        expiring=[{"principal_id": "carol", "expires_at": LATER + timedelta(1)}],
    )
    before = {each: granted_row(store, each) for each in ("a", "b")}
    move(store, corpus, "a", "b")
    assert {each: granted_row(store, each) for each in ("a", "b")} == before
    assert seen(store, corpus, "bob") == {"b": ["text"]} and not seen(store, corpus, "alice")
    move(store, corpus, "b", "a")
    assert {each: granted_row(store, each) for each in ("a", "b")} == before
    assert seen(store, corpus, "alice") == {"a": ["text"]} and not seen(store, corpus, "bob")


def granted_row(store: Store, source_id: str) -> dict[str, Any]:
    row = source_row(store, source_id)
    ends = {
        each["grantee_id"]: each["expires_at"]
        for each in table(store, "expiring_grant")
        if each["source_pk"] == row["source_pk"]
    }
    return {"grants": row["grants"], "expiring": row["expiring"], "version": row["access_version"], "ends": ends}


def test_a_destination_that_was_never_heard_of_has_no_grants(store: Store, corpus: Corpus) -> None:
    ends = (ExpiringGrant(principal_id="carol", expires_at=LATER),)
    hosts(store, corpus, Document("a", ["text"], grants=Grants(everyone=True, access_version=7, expiring=ends)))
    before = granted_row(store, "a")
    move(store, corpus, "a", "b")
    assert seen(store, corpus) == {"b": ["text"]} and not seen(store, corpus, "alice")
    assert granted_row(store, "a") == before
    assert granted_row(store, "b") == {"grants": [], "expiring": [], "version": 0, "ends": {}}


def test_the_status_goes_along_and_that_of_the_destination_ends(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"], state="partial", reason="page 3 is missing"))
    hosts(store, corpus, Document("b", ["old"]))
    delete_sources(store, corpus.build.scope_id, ["b"])
    content = source_row(store, "a")["source_pk"]
    move(store, corpus, "a", "b")
    (status,) = table(store, "ingestion")
    assert (status["source_pk"], status["state"], status["reason"]) == (content, "partial", "page 3 is missing")
    assert source_row(store, "b")["source_pk"] == content and seen(store, corpus) == {"b": ["text"]}


def test_revisions_are_counted_on(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["first"]), Document("a", ["second"]))
    move(store, corpus, "a", "b")
    hosts(store, corpus, Document("b", ["third"], expected_revision=2), Document("a", ["new"], expected_revision=0))
    assert seen(store, corpus) == {"b": ["third"], "a": ["new"]}
    assert (source_row(store, "b")["revision"], source_row(store, "a")["revision"]) == (3, 1)


def test_the_same_step_is_done_once(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"]))
    request_no = new_request(store, corpus)
    done = move(store, corpus, "a", "b", request_no=request_no)
    after = everything(store)
    assert move(store, corpus, "a", "b", request_no=request_no) == done == MovedPage(moved_sources=1, moved_chunks=1)
    assert everything(store) == after


def test_what_was_moved_is_not_moved_again(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"]))
    move(store, corpus, "a", "b")
    assert move(store, corpus, "a", "b") == MovedPage()
    assert seen(store, corpus) == {"b": ["text"]}


def test_an_unknown_origin_moves_nothing(store: Store, corpus: Corpus) -> None:
    before = table(store, "source")
    assert move(store, corpus, "never", "heard") == MovedPage()
    assert table(store, "source") == before and len(audits(store)) == 1


def test_edges_of_an_id_without_a_text_are_rewritten(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("summary", ["short"], lineage=["gone", "gone#0001"]))
    assert move(store, corpus, "gone", "found") == MovedPage(rewritten_edges=2)
    assert parents_of(store, "summary") == ["found", "found#0001"]


def test_parents_keep_their_order_and_are_named_once(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a"), Document("x", lineage=["b", "c", "a"]), Document("y", lineage=["a", "c", "b"]))
    hosts(store, corpus, Document("z", lineage=["c", "ab", "a#0001", "b#0001", "a#00010"]))
    assert move(store, corpus, "a", "b").rewritten_edges == 4
    assert parents_of(store, "x") == ["b", "c"] and parents_of(store, "y") == ["b", "c"]
    assert parents_of(store, "z") == ["c", "ab", "b#0001", "b#00010"]


def test_an_occupied_destination_is_not_overwritten(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["mine"]), Document("b", ["theirs"]))
    before = everything(store)
    with pytest.raises(
        MoveRefused, match=r"^a cannot be moved to b, which has a text of its own that can still be shown"
    ):
        move(store, corpus, "a", "b")
    assert everything(store) == before and seen(store, corpus) == {"a": ["mine"], "b": ["theirs"]}


def test_a_text_that_a_rollback_could_show_occupies_and_a_deleted_one_does_not(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["mine"]), Document("b", ["theirs"]))
    with store.connection() as connection:  # closed, and not fenced: as a fork leaves what it abandons
        closed = of_schema(store, "UPDATE {schema}.span SET gen_to = 3 WHERE source_pk = %(pk)s")
        connection.execute(closed, {"pk": source_row(store, "b")["source_pk"]})
    with pytest.raises(MoveRefused, match="can still be shown"):
        move(store, corpus, "a", "b")
    with store.connection() as connection:  # collected: nothing shows generation 2 any more
        connection.execute(of_schema(store, "UPDATE {schema}.scope SET min_gen = 3"), {})
    assert move(store, corpus, "a", "b").moved_sources == 1
    hosts(store, corpus, Document("c", ["third"]))
    delete_sources(store, corpus.build.scope_id, ["b"])
    assert move(store, corpus, "c", "b").moved_sources == 1
    assert seen(store, corpus) == {"b": ["third"]}


def test_a_tombstone_holds_for_its_id(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"]))
    for end in ("a", "b"):
        for reason in ("corrected", "revoked", "forgotten", "legal_hold"):
            tombstone(store, corpus, end, reason)
            with pytest.raises(MoveRefused, match=f"^a cannot be moved to b: {end} was tombstoned"):
                move(store, corpus, "a", "b")
        with store.connection() as connection:
            connection.execute(of_schema(store, "DELETE FROM {schema}.tombstone"), {})
    assert move(store, corpus, "a", "b").moved_sources == 1


def tombstone(store: Store, corpus: Corpus, source_id: str, reason: str) -> None:
    row = {"scope": corpus.build.scope_id, "id": source_id, "reason": reason}
    with store.connection() as connection:
        connection.execute(of_schema(store, _TOMBSTONE), row)


_TOMBSTONE: LiteralString = """
    INSERT INTO {schema}.tombstone (scope_id, id, reason, gen) VALUES (%(scope)s, %(id)s, %(reason)s, 1)
    ON CONFLICT (scope_id, id) DO UPDATE SET reason = excluded.reason
"""


def test_what_a_connector_holds_is_its_origins_to_rename(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("theirs", ["text"]))
    with pytest.raises(MoveRefused, match="belongs to connector folder-a, whose next sync would bring it back"):
        move(store, corpus, "theirs", "mine")


def test_both_ends_must_be_granted(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"], grants=ALICES))
    many_rows(store, corpus, ["b"])
    for version, missing in ((8, "b"), (9, "a")):
        grant(store, corpus, missing, version, principal_ids=("bob",))
        before = everything(store)
        with pytest.raises(AccessError, match=f"alice has no grant for {missing} of acme/library/handbook"):
            move(store, corpus, "a", "b", authorization=ALICE)
        assert everything(store) == before


def test_a_pinned_version_must_be_that_of_both_ends(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"], grants=ALICES))
    grant(store, corpus, "b", 2, principal_ids=("alice",))
    with pytest.raises(AccessError, match="no grant for b of acme/library/handbook at access version 1"):
        move(store, corpus, "a", "b", authorization=who("alice", version=1))


def test_a_service_principal_needs_no_grant_and_is_audited_as_one(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"]))
    with pytest.raises(AccessError):
        move(store, corpus, "a", "b", services=(("other", "mover"),))
    move(store, corpus, "a", "b", services=SERVICES)
    assert [(each["principal"], each["as_service"]) for each in audits(store)] == [("mover", True)]


def test_who_has_no_right_never_takes_the_scopes_lock(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["text"]))
    with store.connection() as other, other.transaction():
        other.execute(of_schema(store, "SELECT FROM {schema}.scope FOR NO KEY UPDATE"), {})
        with pytest.raises(AccessError):
            move(store, corpus, "a", "b", authorization=ALICE)


def test_another_tenants_authorization_and_an_unknown_corpus_are_refused(store: Store, corpus: Corpus) -> None:
    with pytest.raises(ScopeError):
        move(store, corpus, "a", "b", authorization=who("mover", tenant="other"))
    nowhere = Corpus(Scope.parse("acme/library/nowhere"), corpus.build, corpus.connector, corpus.fence)
    with pytest.raises(ValidationError, match="Corpus acme/library/nowhere does not exist"):
        move(store, nowhere, "a", "b", request_no=new_request(store, corpus))


def test_more_records_than_were_allowed_are_refused_before_anything(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", ["one", "two"]), Document("x", lineage=["a"]), Document("y", lineage=["a#0001"]))
    before = everything(store)
    with pytest.raises(LimitError, match=r"concerns 4 records \(2 passages"):
        move(store, corpus, "a", "b", max_records=3)
    with pytest.raises(LimitError):
        move(store, corpus, "a", "b", max_records=1, page_size=1)
    assert everything(store) == before
    assert move(store, corpus, "a", "b", max_records=4).rewritten_edges == 2


def test_a_source_without_text_moves_with_its_status(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("a", []))
    assert move(store, corpus, "a", "b") == MovedPage(moved_sources=1)
    assert source_row(store, "b")["revision"] == 1


def test_edges_of_other_corpora_stay(store: Store, corpus: Corpus) -> None:
    other = make_corpus(store, "acme/library/other")
    for each in (corpus, other):
        hosts(store, each, Document("a", ["text"]), Document("summary", ["short"]))
        many_edges(store, each, ["summary"], ["a"])
    move(store, corpus, "a", "b")
    assert sorted(row["parent_id"] for row in table(store, "lineage")) == ["a", "b"]
    assert seen(store, other) == {"a": ["text"], "summary": ["short"]}
