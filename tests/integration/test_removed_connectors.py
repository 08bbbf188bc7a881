"""The row of a connector that was removed stays for what it left behind, and no longer."""

from activities.store import Store, connector_removal
from activities.store.connectors import ensure_connector
from activities.store.garbage.garbage import Keep, collect
from activities.store.pages import lease
from activities.store.pointer import end_sources, lock_pointer
from activities.store.sources.removal import remove_rag
from tests.integration.asked import new_request
from tests.integration.hiding import hide
from tests.integration.seen import source_row, table
from tests.integration.staging_factory import EVERYONE, Corpus, Document, publish

WEEK = Keep(generations=100, seconds=7 * 86400)


def remove(store: Store, corpus: Corpus) -> None:
    """The corpus's connector ends, and leaves its documents behind."""
    key = corpus.connector.connector_id
    lease.end_pass(store, key, fence=corpus.fence, pass_no=1, paused=False, error=None)
    fence = connector_removal.begin_removal(store, key, owner="removal", run="run-1", actor=None).fence
    after: int | None = 0
    while after is not None:
        scope_id, name = corpus.build.scope_id, corpus.connector.name
        after = connector_removal.keep_page(store, key, fence=fence, scope_id=scope_id, name=name, after=after)
    connector_removal.drop_connector(store, key, fence=fence, deleted=0, actor=None)


def gc(store: Store, corpus: Corpus) -> None:
    for _ in collect(store, corpus.scope, WEEK):
        pass


def delete(store: Store, corpus: Corpus, source_id: str) -> None:
    with store.connection() as connection, connection.transaction():
        pointer = lock_pointer(connection, store.schema, corpus.build.scope_id)
        source_pk = source_row(store, source_id)["source_pk"]
        end_sources(connection, store.schema, [source_pk], pointer.head_gen + 1)


def connectors(store: Store) -> tuple[list[str], int]:
    """Their names, and how many checkpoints there are."""
    return [row["name"] for row in table(store, "connector")], len(table(store, "checkpoint"))


def test_the_row_goes_with_the_last_document_that_was_left_behind(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"), Document("b"))
    remove(store, corpus)
    for source_id in ("a", "b"):
        gc(store, corpus)
        assert connectors(store) == (["folder-a"], 1)
        delete(store, corpus, source_id)
    gc(store, corpus)
    assert connectors(store) == ([], 0)


def test_what_was_forgotten_since_keeps_no_row(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", grants=EVERYONE))
    remove(store, corpus)
    request_no = new_request(store, corpus, "PropagateDeletion")
    hide(store, corpus, "a", request_no=request_no)
    gc(store, corpus)
    assert connectors(store) == (["folder-a"], 1), "it has a status still"
    remove_rag(store, corpus.scope, request_no=request_no)
    gc(store, corpus)
    assert (connectors(store), source_row(store, "a")["owner"]) == (([], 0), None)


def test_one_that_left_nothing_behind_goes_at_once(store: Store, corpus: Corpus) -> None:
    remove(store, corpus)
    assert connectors(store) == ([], 0)


def test_one_that_was_made_again_stays(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"))
    remove(store, corpus)
    delete(store, corpus, "a")
    ensure_connector(store, corpus.build.scope_id, "folder-a", "folder", {"root": "/nowhere"}, new_rule=False)
    gc(store, corpus)
    assert connectors(store) == (["folder-a"], 1)


def test_a_corpus_collects_its_own_alone(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"))
    remove(store, corpus)
    delete(store, corpus, "a")
    with store.connection() as connection:
        connection.execute("INSERT INTO headwater.scope (tenant_id, resource_id, corpus_id) VALUES ('t2', 'r', 'c')")
        other = connection.execute("SELECT max(scope_id) FROM headwater.scope").fetchone()
        assert other is not None
        connection.execute("UPDATE headwater.connector SET scope_id = %s", other)
    gc(store, corpus)
    assert connectors(store) == (["folder-a"], 1)
