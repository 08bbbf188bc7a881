"""What the store's own writers publish is what readers find."""

from collections.abc import Iterator
from typing import Any

import pytest

from activities.store import Store
from headwater import Authorization, Retriever
from headwater.connectors import GrantSet
from tests.integration.asked import delete_sources
from tests.integration.builds_by_hand import flip, start_build
from tests.integration.staging_factory import (
    EVERYONE,
    Corpus,
    Document,
    deleted,
    granted,
    make_corpus,
    publish,
    roll_back,
    stage,
)

ALICE = Authorization(principal_id="alice", tenant_id="acme")


@pytest.fixture
def published(store: Store) -> Corpus:
    return make_corpus(store, dimensions=64)


@pytest.fixture
def retriever(database: str) -> Iterator[Retriever]:
    with Retriever.connect(database, embedder="hash:64") as retriever:
        yield retriever


def texts(retriever: Retriever, corpus: Corpus, query: str = "leave", **arguments: Any) -> list[str]:
    hits = retriever.retrieve(query, scope=corpus.scope, authorization=ALICE, **arguments).hits
    return sorted(hit.text for hit in hits)


def test_a_published_document_is_found_with_its_place(store: Store, published: Corpus, retriever: Retriever) -> None:
    page = publish(
        store,
        published,
        Document(
            "folder:a/leave.md",
            ["Leave is thirty days", "Sick leave needs a note"],
            grants=GrantSet(principal_ids=("alice",)),
            title="Leave",
            metadata={"path": "leave.md"},
            chunk_metadata=[{"heading": ["Leave"]}, {"heading": ["Leave", "Sick"]}],
        ),
        Document("folder:a/pay.md", ["Leave is paid"], grants=GrantSet(principal_ids=("bob",))),
    )

    result = retriever.retrieve("sick leave needs a note", scope=published.scope, authorization=ALICE)

    assert result.generation == page.generation
    assert [hit.chunk_id for hit in result.hits] == ["folder:a/leave.md#0002", "folder:a/leave.md#0001"]
    hit, citation = result.hits[0], result.citations[0]
    assert (hit.title, hit.locator, hit.metadata["path"]) == ("Leave", "Leave › Sick", "leave.md")
    assert (hit.provenance.provider, hit.provenance.revision) == ("folder", 1)
    with store.connection() as connection:
        row = connection.execute("SELECT text FROM headwater.document_version WHERE title = 'Leave'").fetchone()
    assert row is not None and row[0][citation.start : citation.end] == hit.text


def test_replaced_deleted_and_revoked_documents_are_not_found(
    store: Store, published: Corpus, retriever: Retriever
) -> None:
    publish(store, published, *(Document(name, [f"leave of {name}"], grants=EVERYONE) for name in ("a", "b", "c")))
    assert len(texts(retriever, published)) == 3

    publish(store, published, Document("a", ["leave again"]), deleted("b"), granted("c", GrantSet()))

    assert texts(retriever, published) == ["leave again"]


def test_a_rollback_shows_the_old_text_and_nothing_that_was_deleted_or_revoked(
    store: Store, published: Corpus, retriever: Retriever
) -> None:
    first = publish(store, published, *(Document(name, [f"leave {name}"], grants=EVERYONE) for name in ("a", "b", "c")))
    publish(store, published, Document("a", ["leave again"]))
    delete_sources(store, published.build.scope_id, ["b"])
    publish(store, published, granted("c", GrantSet()))

    roll_back(store, published, first.generation)

    assert texts(retriever, published) == ["leave a"]


def test_what_is_staged_is_not_found(store: Store, published: Corpus, retriever: Retriever) -> None:
    publish(store, published, Document("a", ["leave a"], grants=EVERYONE))
    stage(store, published, Document("a", ["leave changed"]), Document("b", ["leave b"], grants=EVERYONE))

    assert texts(retriever, published) == ["leave a"]


def test_the_past_is_read_through_rollbacks_forks_deletions_and_revocations(
    store: Store, published: Corpus, retriever: Retriever
) -> None:
    def past(*generations: int) -> list[list[str]]:
        return [texts(retriever, published, generation=generation) for generation in generations]

    publish(store, published, *(Document(name, [f"leave {name}"], grants=EVERYONE) for name in ("a", "b", "c", "d")))
    publish(store, published, Document("a", ["leave again"]))
    delete_sources(store, published.build.scope_id, ["b"])
    publish(store, published, granted("c", GrantSet()))
    assert past(1, 2, 3) == [["leave a", "leave d"], ["leave again", "leave d"], ["leave again", "leave d"]]

    roll_back(store, published, 1)
    fork = publish(store, published, Document("d", ["leave forked"])).generation
    again = publish(store, published, Document("b", ["leave returned"], grants=EVERYONE)).generation

    assert past(1, 2) == [["leave a", "leave d"], ["leave again", "leave d"]]
    assert past(fork, again) == [["leave a", "leave forked"], ["leave a", "leave forked", "leave returned"]]
    assert texts(retriever, published) == ["leave a", "leave forked", "leave returned"]


def test_the_past_is_read_in_the_builds_that_showed_it(store: Store, published: Corpus, retriever: Retriever) -> None:
    def past(*generations: int) -> list[list[str]]:
        return [texts(retriever, published, generation=generation) for generation in generations]

    publish(store, published, *(Document(name, [f"leave {name}"], grants=EVERYONE) for name in ("a", "b")))
    publish(store, published, Document("a", ["leave again"]))
    green = flip(store, published, start_build(store, published, slab=7))
    publish(store, green, Document("a", ["leave in green"]))
    assert past(1, 2, 3, 4) == [
        ["leave a", "leave b"],
        ["leave again", "leave b"],
        ["leave again", "leave b"],
        ["leave b", "leave in green"],
    ]

    roll_back(store, green, 2)
    fork = publish(store, published, Document("b", ["leave in blue"])).generation
    assert texts(retriever, published) == ["leave again", "leave in blue"]
    assert past(4, fork) == [["leave b", "leave in green"], ["leave again", "leave in blue"]]

    delete_sources(store, published.build.scope_id, ["a"])
    assert past(1, 2, 3, 4, fork) == [["leave b"]] * 4 + [["leave in blue"]]
