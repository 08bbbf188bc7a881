"""What the store's own writers publish is what readers find."""

from collections.abc import Iterator

import pytest

from activities.store import Store
from activities.store.pointer import delete_sources
from headwater import Authorization, Retriever
from headwater.connectors import GrantSet
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


def texts(retriever: Retriever, corpus: Corpus, query: str = "leave") -> list[str]:
    return [hit.text for hit in retriever.retrieve(query, scope=corpus.scope, authorization=ALICE).hits]


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
