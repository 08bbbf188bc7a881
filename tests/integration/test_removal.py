"""What is removed of hidden sources: all of their text and nothing else, once, whatever stops it in between."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from activities.store import Store
from activities.store.builds import builds, slabs
from activities.store.pages.ingest import accept_page
from activities.store.pages.publish import publish_page
from activities.store.sources import removal as removal_module
from activities.store.sources.removal import finish_layer, finished_layers, remove_rag
from headwater.contracts import IngestSource
from headwater.contracts.deletion import Reason
from tests.integration.asked import new_request
from tests.integration.derivations import add_derived, star
from tests.integration.hiding import JANITOR, derived, found, hide
from tests.integration.seen import of_schema, outcomes, statuses, table
from tests.integration.staging_factory import EVERYONE, Corpus, Document, publish, stage

KEPT = ("source", "lineage", "span", "tombstone")


def remove(store: Store, corpus: Corpus, source_id: str, reason: Reason = "forgotten") -> int:
    """How many chunk rows hiding the source and removing its text took."""
    request_no = new_request(store, corpus, "PropagateDeletion")
    hide(store, corpus, source_id, reason, by=JANITOR, request_no=request_no)
    return remove_rag(store, corpus.scope, request_no=request_no)


def texts(store: Store) -> dict[str, set[str]]:
    """All text that the store holds, by source: stored documents and passages, titles and metadata with them."""
    query = """
      SELECT s.source_id, v.text, v.title, v.uri, v.metadata, v.locators, v.headings, c.body
      FROM {schema}.document_version v JOIN {schema}.source s USING (source_pk)
      LEFT JOIN {schema}.revision r USING (version_id) LEFT JOIN {schema}.chunk c USING (rev_id)"""
    held: dict[str, set[str]] = {}
    with store.connection() as connection:
        for source_id, *parts in connection.execute(of_schema(store, query), {}):
            held.setdefault(source_id, set()).update(str(part) for part in parts if part not in (None, "", {}, []))
    return held


@pytest.fixture
def summaries(store: Store, corpus: Corpus) -> Corpus:
    publish(store, corpus, Document("doc", ["an older text"], grants=EVERYONE, title="old", metadata={"by": "bob"}))
    publish(
        store, corpus,
        Document("doc", ["one", "two"], title="a title", uri="file://doc", locators=[{"page": 1}], grants=EVERYONE),
        derived("summary", "doc#0001"), derived("note"),
    )  # fmt: skip
    return corpus


def test_all_text_of_what_is_hidden_goes_and_its_rows_stay(store: Store, summaries: Corpus, database: str) -> None:
    request_no = new_request(store, summaries, "PropagateDeletion")
    hide(store, summaries, "doc", request_no=request_no)
    before = {name: table(store, name) for name in KEPT}
    assert remove_rag(store, summaries.scope, request_no=request_no) == 4
    assert texts(store) == {"doc": set(), "summary": set(), "note": {"text of note"}}
    assert {name: table(store, name) for name in KEPT} == before
    assert set(statuses(store, summaries)) == {"note"}
    assert sorted(row["n_chunks"] for row in table(store, "revision")) == [0, 0, 0, 1]
    assert found(database, summaries) == {"note"}
    assert hide(store, summaries, "doc", by=JANITOR).ids == ("doc", "summary"), "a repeated walk finds the same"


def test_a_hold_removes_nothing_and_neither_does_what_comes_after_it(store: Store, summaries: Corpus) -> None:
    before = texts(store)
    assert remove(store, summaries, "summary", "legal_hold") == 0
    assert texts(store) == before
    assert remove(store, summaries, "doc", "forgotten") == 3, "what is not held goes"
    assert texts(store) == {**before, "doc": set()}
    assert remove(store, summaries, "summary", "revoked") == 0 and texts(store)["summary"]


def test_a_correction_removes_what_was_derived_and_keeps_the_source(store: Store, summaries: Corpus) -> None:
    before = texts(store)
    assert remove(store, summaries, "doc", "corrected") == 1
    assert texts(store) == {**before, "summary": set()}
    assert set(statuses(store, summaries)) == {"doc", "note"}


def test_a_source_that_is_brought_back_meanwhile_keeps_its_new_text(
    store: Store, summaries: Corpus, database: str
) -> None:
    request_no = new_request(store, summaries, "PropagateDeletion")
    hide(store, summaries, "doc", request_no=request_no)
    publish(store, summaries, Document("doc", ["the new text"], grants=EVERYONE, version="v2"))
    assert remove_rag(store, summaries.scope, request_no=request_no) == 4
    assert texts(store)["doc"] == {"the new text"}
    assert found(database, summaries) == {"doc", "note"}
    assert set(statuses(store, summaries)) == {"doc", "note"}


def test_a_page_on_its_way_goes_on_without_what_was_removed(store: Store, summaries: Corpus, database: str) -> None:
    page_id = stage(store, summaries, Document("doc", ["staged before"]), Document("new", ["is new"], grants=EVERYONE))
    assert remove(store, summaries, "doc") == 5, "what was staged is among it"
    published = publish_page(store, page_id, fence=summaries.fence)
    assert published.upserted == 1 and outcomes(store, page_id)[1] == "published"
    assert found(database, summaries) == {"note", "new"} and texts(store)["doc"] == set()


def test_what_is_on_its_way_is_not_published_without_its_text(store: Store, summaries: Corpus) -> None:
    page_id = stage(store, summaries, Document("summary", ["made anew, of nothing"], grants=EVERYONE))
    remove(store, summaries, "doc", "corrected")
    assert publish_page(store, page_id, fence=summaries.fence).upserted == 0
    assert outcomes(store, page_id) == ["lost"], "it is read again"


def test_what_a_host_sent_of_a_held_dependant_stays(store: Store, summaries: Corpus) -> None:
    hide(store, summaries, "summary", "legal_hold", by=JANITOR)
    sent = [IngestSource(source_id=each, text=f"sent of {each}", title=f"{each} anew") for each in ("doc", "summary")]
    request_no = new_request(store, summaries, "IngestSources")
    accept_page(store, summaries.build, sent, request_no=request_no, actor="tests")
    remove(store, summaries, "doc", "forgotten")
    assert [row["data"] for row in table(store, "staged_part")] == [b"sent of summary"]
    assert {row["title"] for row in table(store, "ingest_item")} == {None, "summary anew"}


def test_a_removal_that_is_stopped_goes_on_and_counts_each_passage_once(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("root"))
    add_derived(store, corpus, star(300))
    request_no = new_request(store, corpus, "PropagateDeletion")
    hide(store, corpus, "root", request_no=request_no)
    pages: list[int] = []

    def stop() -> None:
        pages.append(len(table(store, "chunk")))
        if len(pages) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        remove_rag(store, corpus.scope, request_no=request_no, after_page=stop)
    assert 0 < pages[-1] < 301
    assert remove_rag(store, corpus.scope, request_no=request_no) == 301
    assert remove_rag(store, corpus.scope, request_no=request_no) == 301 and not table(store, "chunk")


def test_a_removal_waits_for_no_partition_but_its_own(store: Store, summaries: Corpus) -> None:
    other = builds.begin_build(store, summaries.scope, space=None, large_chunks=0).slab
    slabs.ensure_slab(store, other)
    with ThreadPoolExecutor(1) as pool, store.connection() as connection, connection.transaction():
        connection.execute(f"LOCK TABLE headwater.chunk_s{other:d}".encode())
        assert pool.submit(remove, store, summaries, "doc").result(20) == 4


def test_a_page_of_a_removal_is_small() -> None:
    assert removal_module._as_many_as_fit([(1, 1_500), (2, 500), (3, 1)]) == [1, 2]
    assert removal_module._as_many_as_fit([(1, 8_000), (2, 1)]) == [1]
    assert removal_module._as_many_as_fit([]) == []


def test_what_a_layer_removed_is_remembered_for_its_request(store: Store, corpus: Corpus) -> None:
    ours, theirs = new_request(store, corpus), new_request(store, corpus)
    finish_layer(store, ours, "rag", 7)
    finish_layer(store, ours, "wiki", 0)
    finish_layer(store, ours, "wiki", 0)
    assert finished_layers(store, ours) == {"rag": 7, "wiki": 0} and finished_layers(store, theirs) == {}
