"""Sources that a host deletes: at once, once, whoever owns them, and without what was derived from them."""

import pytest

from activities.store import Store
from activities.store.generations import listing
from activities.store.pages.publish import publish_page
from activities.store.sources.deletion import delete_once
from activities.store.sources.removal import remove_rag
from headwater.contracts import DeleteSourcesResult
from headwater.errors import ValidationError
from headwater.models import Scope
from tests.integration.asked import grant, new_request
from tests.integration.hiding import derived, found, hide
from tests.integration.seen import seen, source_row, statuses, table
from tests.integration.staging_factory import EVERYONE, Corpus, Document, make_corpus, publish, stage


def delete(store: Store, corpus: Corpus, *source_ids: str, request_no: int | None = None) -> DeleteSourcesResult:
    number = new_request(store, corpus, "DeleteSources") if request_no is None else request_no
    return delete_once(store, corpus.scope, source_ids, request_no=number, actor="host")


def outcome(result: DeleteSourcesResult) -> dict[str, bool]:
    return {each.source_id: each.deleted for each in result.sources}


def test_what_was_derived_stays_until_it_is_propagated(store: Store, corpus: Corpus, database: str) -> None:
    publish(store, corpus, derived("doc"), derived("summary", "doc"))
    (before,) = table(store, "scope")
    result = delete(store, corpus, "doc", "unheard-of")
    assert outcome(result) == {"doc": True, "unheard-of": False}
    assert result.generation == before["head_gen"] + 1
    assert found(database, corpus) == {"summary"}
    assert set(statuses(store, corpus)) == {"summary"} and not source_row(store, "doc")["grants"]


def test_a_deleted_id_is_not_deleted_again(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("doc"))
    delete(store, corpus, "doc")
    assert outcome(delete(store, corpus, "doc")) == {"doc": False}
    grant(store, corpus, "doc", 9, principal_ids=("alice",))
    assert outcome(delete(store, corpus, "doc")) == {"doc": True}, "its grants were there"


def test_what_is_not_there_to_be_deleted_takes_no_generation(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("doc"), derived("summary", "doc"))
    with store.connection() as connection:  # as what hosts push
        connection.execute("UPDATE headwater.source SET owner = NULL")
    request_no = new_request(store, corpus, "PropagateDeletion")
    hidden = hide(store, corpus, "doc", request_no=request_no)
    remove_rag(store, corpus.scope, request_no=request_no)

    result = delete(store, corpus, "summary", "unheard-of")
    assert outcome(result) == {"summary": False, "unheard-of": False}
    assert result.generation == hidden.gen == table(store, "scope")[0]["head_gen"]
    assert listing(store, corpus.scope)["generations"][0]["generation"] == hidden.gen


def test_a_repeated_request_answers_the_same_and_deletes_nothing_new(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("doc"))
    request_no = new_request(store, corpus, "DeleteSources")
    first = delete(store, corpus, "doc", request_no=request_no)
    publish(store, corpus, derived("doc"))
    assert delete(store, corpus, "doc", request_no=request_no) == first
    assert set(seen(store, corpus)) == {"doc"}
    audits = [row["detail"] for row in table(store, "audit") if row["action"] == "delete_sources"]
    assert audits == [{"sources": 1, "deleted": ["doc"]}]


def test_a_deletion_beats_what_was_staged_before_it_also_of_an_id_without_a_text(store: Store, corpus: Corpus) -> None:
    page_id = stage(store, corpus, Document("new", grants=EVERYONE))
    delete(store, corpus, "new")
    assert publish_page(store, page_id, fence=corpus.fence).upserted == 0
    assert not seen(store, corpus)


def test_one_tenant_deletes_nothing_of_another(store: Store, corpus: Corpus) -> None:
    other = make_corpus(store, "umbrella/library/handbook")
    for each in (corpus, other):
        publish(store, each, derived("doc"))
    delete(store, corpus, "doc")
    assert not seen(store, corpus) and set(seen(store, other)) == {"doc"}


def test_a_corpus_that_was_never_indexed_is_named(store: Store, corpus: Corpus) -> None:
    with pytest.raises(ValidationError, match="acme/library/nowhere does not exist"):
        delete_once(store, Scope.parse("acme/library/nowhere"), ["a"], request_no=1, actor=None)
