"""The operator's view of corpora and sources."""

import json
from datetime import datetime

import pytest

from activities.store import Store
from activities.store.pages.lease import end_pass
from activities.store.status import corpora, keys, source, sources, sources_ending
from headwater.connectors import GrantSet
from headwater.errors import LimitError
from headwater.models import Scope
from headwater.states import SourceState
from tests.integration.asked import delete_sources
from tests.integration.staging_factory import (
    CHUNKER,
    Corpus,
    Document,
    deleted,
    failed,
    make_corpus,
    publish,
    roll_back,
)


def ids(page: object) -> list[str]:
    assert isinstance(page, dict)
    return [each["source_id"] for each in page["sources"]]


def test_an_empty_store_has_no_corpora(store: Store) -> None:
    assert corpora(store) == []


def test_a_corpus_is_shown_with_its_counts(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one", "two"]), Document("b", ["three"]), Document("c", []), failed("d"))
    publish(store, corpus, Document("a", ["one"]))
    end_pass(store, corpus.connector.connector_id, fence=corpus.fence, pass_no=1, paused=False, error="it broke")
    shown = corpora(store)
    assert shown == [
        {
            "corpus": "acme/library/handbook",
            "generation": 2,
            "live_build": corpus.build.build_id,
            "pinned": False,
            "space": {
                "embedder": "hash:8",
                "identity": corpus.build.embedder_identity,
                "dimensions": 8,
                "max_tokens": 16_384,
                "chunker": CHUNKER,
            },
            "language": "english",
            "sources": 4,
            "chunks": 2,
            "by_state": {"indexed": 2, "empty": 1, "failed": 1},
            "connectors": [{"name": "folder-a", "kind": "folder", "last_sync_at": None, "error": "it broke"}],
        }
    ]
    assert json.loads(json.dumps(shown)) == shown


def test_the_keys_are_those_that_readers_see(store: Store, corpus: Corpus) -> None:
    assert keys(store, corpus.scope) == []
    publish(store, corpus, Document("gone", metadata={"old": 1}), Document("b", metadata={"title": "B"}))
    publish(store, corpus, Document("b", ["new"], metadata={"path": "b.md", "year": 2031}))
    parts = [{"heading": ["A"]}, {"heading": ["A", "B"]}]
    publish(
        store, corpus, deleted("gone"), Document("a", ["one", "two"], metadata={"year": None}, chunk_metadata=parts)
    )  # fmt: skip
    assert keys(store, corpus.scope) == [
        {"key": "heading", "sources": 1, "types": ["array"]},
        {"key": "path", "sources": 1, "types": ["string"]},
        {"key": "year", "sources": 2, "types": ["null", "number"]},
    ]
    roll_back(store, corpus, 1)
    assert [each["key"] for each in keys(store, corpus.scope)] == ["title"], "what was deleted stays so"
    assert keys(store, Scope.parse("acme/library/nowhere")) == []


def test_a_finished_sync_is_dated(store: Store, corpus: Corpus) -> None:
    end_pass(store, corpus.connector.connector_id, fence=corpus.fence, pass_no=1, paused=False, error=None)
    connector = corpora(store)[0]["connectors"][0]
    assert datetime.fromisoformat(connector["last_sync_at"] or "").tzinfo is not None
    assert connector["error"] is None


def test_corpora_come_in_order_and_one_can_be_asked_for(store: Store) -> None:
    for name in ("b/r/c", "a/r/d", "B/r/c", "a/r/c"):
        make_corpus(store, name)
    assert [each["corpus"] for each in corpora(store)] == ["B/r/c", "a/r/c", "a/r/d", "b/r/c"]
    assert [each["corpus"] for each in corpora(store, Scope.parse("a/r/d"))] == ["a/r/d"]
    assert corpora(store, Scope.parse("a/r/e")) == []


def test_sources_are_paged_in_byte_order(store: Store, corpus: Corpus) -> None:
    names = ["a", "B", "a-b", "a/b", "ab", "~"]
    publish(store, corpus, *[Document(name) for name in names])
    first = sources(store, corpus.scope, limit=4)
    assert ids(first) == sorted(names)[:4] and first["next_cursor"] == sorted(names)[3]
    second = sources(store, corpus.scope, limit=4, cursor=first["next_cursor"])
    assert ids(second) == sorted(names)[4:] and second["next_cursor"] is None


def test_sources_can_be_listed_by_state(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"), failed("b", "encrypted", "it has a password"), Document("c", []))
    page = sources(store, corpus.scope, state=SourceState.ENCRYPTED)
    assert ids(page) == ["b"]
    assert page["sources"][0]["reason"] == "it has a password"


def test_a_source_is_listed_with_what_readers_see_of_it(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one", "two"]))
    publish(store, corpus, Document("a", ["three"]))
    roll_back(store, corpus, 1)
    row = sources(store, corpus.scope)["sources"][0]
    assert {key: row[key] for key in ("state", "freshness", "reason", "chunks", "bytes", "revision")} == {
        "state": "indexed",
        "freshness": "stale",
        "reason": "rolled back",
        "chunks": 2,
        "bytes": 5,
        "revision": 1,
    }
    assert datetime.fromisoformat(row["updated_at"]).tzinfo is not None


def test_deleted_sources_are_not_listed(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"), Document("b"))
    delete_sources(store, corpus.build.scope_id, ["a"])
    assert ids(sources(store, corpus.scope)) == ["b"]
    assert source(store, corpus.scope, "a") is None
    assert corpora(store)[0]["sources"] == corpora(store)[0]["chunks"] == 1


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_size_above_the_cap_is_refused(store: Store, corpus: Corpus, limit: int) -> None:
    with pytest.raises(LimitError):
        sources(store, corpus.scope, limit=limit)


def test_one_source_is_shown_without_its_text(store: Store, corpus: Corpus) -> None:
    grants = GrantSet(principal_ids=("bob", "alice"), group_ids=("staff",))
    secret = "the launch code is 0000"
    publish(store, corpus, Document("a", ["one", secret], grants=grants, lineage=["p#0002", "o"], title=secret))
    shown = source(store, corpus.scope, "a")
    assert shown is not None
    assert {**shown, "updated_at": ""} == {
        "source_id": "a",
        "state": "indexed",
        "freshness": "current",
        "reason": None,
        "chunks": 2,
        "bytes": 3 + len(secret),
        "revision": 1,
        "updated_at": "",
        "path": None,
        "uri": None,
        "owner": "folder-a",
        "access_version": 1,
        "grants": {"principal_ids": ["alice", "bob"], "group_ids": ["staff"], "everyone": False, "expiring": []},
        "offsets": [
            {"chunk_id": "a#0001", "start": 0, "end": 3},
            {"chunk_id": "a#0002", "start": 5, "end": 5 + len(secret)},
        ],
        "lineage": ["p#0002", "o"],
    }
    assert secret not in json.dumps(shown)


def test_grants_that_end_are_shown_until_they_have(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", grants=GrantSet(principal_ids=("alice", "bob"), everyone=True)))
    with store.connection() as connection:
        connection.execute(
            "INSERT INTO headwater.expiring_grant (source_pk, grantee_id, expires_at)"
            " SELECT 1, grantee_id, CASE name WHEN 'alice' THEN '2999-01-01Z'::timestamptz ELSE now() END"
            " FROM headwater.grantee WHERE name IN ('alice', 'bob')"
        )
        connection.execute(
            "UPDATE headwater.source SET grants = ARRAY(SELECT grantee_id FROM headwater.grantee WHERE kind = 'everyone')"
        )
    shown = source(store, corpus.scope, "a")
    assert shown is not None and shown["grants"] == {
        "principal_ids": [],
        "group_ids": [],
        "everyone": True,
        "expiring": [{"principal_id": "alice", "expires_at": "2999-01-01T00:00:00+00:00"}],
    }


def test_a_source_that_failed_is_shown_too(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, failed("a", "no_text", "it is a picture"))
    shown = source(store, corpus.scope, "a")
    assert shown is not None
    assert (shown["state"], shown["revision"], shown["chunks"], shown["offsets"]) == ("no_text", None, 0, [])


def test_an_unknown_source_or_corpus_is_not_there(store: Store, corpus: Corpus) -> None:
    assert source(store, corpus.scope, "never heard of") is None
    assert source(store, Scope.parse("x/y/z"), "a") is None
    assert sources(store, Scope.parse("x/y/z")) == {"sources": [], "next_cursor": None}


def test_a_source_is_found_by_the_end_of_its_id(store: Store, corpus: Corpus) -> None:
    names = (
        "folder:x-1/letters/my%20lease.md",
        "folder:x-1/lease.md",
        "folder:x-1/old/lease.md",
        "folder:x-1/release.md",
    )
    publish(store, corpus, *(Document(name, ["one"]) for name in names))
    other = make_corpus(store, "acme/library/elsewhere")
    publish(store, other, Document("folder:y-1/lease.md", ["one"]))

    def found(*endings: str, limit: int = 3) -> list[str]:
        return sources_ending(store, corpus.scope, endings, limit=limit)

    assert found("lease.md") == ["folder:x-1/lease.md", "folder:x-1/old/lease.md"]
    assert found("lease.md", limit=1) == ["folder:x-1/lease.md"]
    assert found("letters/my lease.md", "letters/my%20lease.md") == ["folder:x-1/letters/my%20lease.md"]
    assert found("x-1/lease.md") == ["folder:x-1/lease.md"]
    assert found("ease.md") == found("%") == []
