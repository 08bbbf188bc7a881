"""What a connector remembers: as the contract says, and moved with the checkpoint, exactly once."""

import json

import pytest

from activities.store import Store
from activities.store.pages.lease import StaleFence, advance, begin_pass
from activities.store.pages.memory import StoredMemory
from activities.store.pages.publish import publish_page
from headwater.connectors import Forgotten, Link
from headwater.testing import check_memory
from tests.integration.seen import table
from tests.integration.staging_factory import Corpus, make_corpus, stage

A, B, C = Link("a", "root", {"name": "A"}), Link("b", "root", {"name": "B"}, due="crawl"), Link("c", "a")


def memory_of(store: Store, corpus: Corpus, *, pass_no: int = 1, seq: int = 1) -> StoredMemory:
    return StoredMemory(store, connector_id=corpus.connector.connector_id, pass_no=pass_no, seq=seq)


def list_with(store: Store, corpus: Corpus, *changes: Link | Forgotten, seq: int = 1) -> int:
    """A page during whose listing the changes were written."""
    memory = memory_of(store, corpus, seq=seq)
    memory.write(changes)
    page_id = stage(store, corpus)
    with store.connection() as connection:
        connection.execute(
            "UPDATE headwater.page SET memory = %s, seq = %s, pass_no = 1 WHERE page_id = %s",
            (memory.written.to_json(), seq, page_id),
        )
    return page_id


def pass_by(store: Store, corpus: Corpus, page_id: int) -> None:
    publish_page(store, page_id, fence=corpus.fence)
    advance(store, page_id, fence=corpus.fence)


def links(memory: StoredMemory) -> list[Link]:
    return [link for found in memory.links(["a", "b", "c"]).values() for link in found]


def durable(store: Store) -> list[tuple[str, str]]:
    return sorted((row["node"], row["parent"]) for row in table(store, "link"))


def test_the_store_keeps_the_contract_of_memories(store: Store, corpus: Corpus) -> None:
    check_memory(memory_of(store, corpus))


def test_it_keeps_the_contract_over_rows_that_are_there(store: Store, corpus: Corpus) -> None:
    pass_by(
        store, corpus, list_with(store, corpus, A, B, Link("both", "far"), Link("a", "many", due="x"), Link("z", "due"))
    )
    memory = memory_of(store, corpus, seq=2)
    memory.write([Forgotten()])
    check_memory(memory)


def test_what_is_written_is_durable_when_the_checkpoint_has_passed(store: Store, corpus: Corpus) -> None:
    page_id = list_with(store, corpus, A, B)
    assert durable(store) == []
    publish_page(store, page_id, fence=corpus.fence)
    assert durable(store) == []
    advance(store, page_id, fence=corpus.fence)
    assert durable(store) == [("a", "root"), ("b", "root")]
    assert links(memory_of(store, corpus, seq=2)) == [A, B]
    assert memory_of(store, corpus, seq=2).due(limit=9) == [B]


def test_a_page_behind_sees_what_the_ones_before_it_wrote(store: Store, corpus: Corpus) -> None:
    pass_by(store, corpus, list_with(store, corpus, A, B))
    list_with(store, corpus, Forgotten("a"), C, Link("b", "root"), seq=2)
    third = memory_of(store, corpus, seq=3)
    assert links(third) == [Link("b", "root"), C]
    assert third.due(limit=9) == [] and list(third.children("a", limit=9)) == [C]
    assert links(memory_of(store, corpus, seq=2)) == [A, B], (
        "a page that is listed again sees nothing of its first attempt"
    )


def test_a_page_that_is_passed_twice_is_remembered_once(store: Store, corpus: Corpus) -> None:
    first = list_with(store, corpus, A)
    pass_by(store, corpus, first)
    second = list_with(store, corpus, Forgotten("a"), seq=2)
    pass_by(store, corpus, second)
    advance(store, second, fence=corpus.fence)
    assert durable(store) == []


def test_a_pass_that_is_given_up_leaves_what_its_published_pages_wrote(store: Store, corpus: Corpus) -> None:
    pass_by(store, corpus, list_with(store, corpus, A))
    list_with(store, corpus, B, seq=2)
    begin_pass(
        store, corpus.connector.connector_id, owner="sync:acme/library/handbook:folder-a", run="run-2", full=False
    )
    assert links(memory_of(store, corpus, pass_no=2)) == [A]


def test_a_run_that_was_overtaken_remembers_nothing(store: Store, corpus: Corpus) -> None:
    page_id = list_with(store, corpus, A)
    publish_page(store, page_id, fence=corpus.fence)
    begin_pass(
        store, corpus.connector.connector_id, owner="sync:acme/library/handbook:folder-a", run="run-2", full=False
    )
    with pytest.raises(StaleFence):
        advance(store, page_id, fence=corpus.fence)
    assert durable(store) == []


def test_each_connector_remembers_for_itself(store: Store, corpus: Corpus) -> None:
    other = make_corpus(store, connector="folder-b")
    pass_by(store, corpus, list_with(store, corpus, A, B))
    pass_by(store, other, list_with(store, other, Forgotten(), C))
    assert links(memory_of(store, corpus, seq=2)) == [A, B] and links(memory_of(store, other, seq=2)) == [C]


def test_a_memory_that_nobody_asked_writes_nothing(store: Store, corpus: Corpus) -> None:
    memory = memory_of(store, corpus)
    assert memory.written.to_json() is None and not memory.is_used
    memory.links(["a"])
    assert memory.is_used
    memory.write([Forgotten()])
    assert json.loads(memory.written.to_json() or "") == {"all": True, "nodes": [], "links": [], "put": []}
