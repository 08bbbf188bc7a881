"""Publishing a page: what each document becomes, and that it happens for all of them at once or not at all."""

import pytest

from activities.contracts import PublishedPage
from activities.store import Store
from activities.store.connectors import ensure_connector
from activities.store.pages.lease import StaleFence, begin_pass
from activities.store.pages.publish import PageConflict, PublishingHeld, publish_page
from headwater.connectors import GrantSet
from tests.integration.asked import delete_sources
from tests.integration.builds_by_hand import flip, start_build
from tests.integration.seen import outcomes, seen, source_row, statuses, table
from tests.integration.staging_factory import (
    EVERYONE,
    Corpus,
    Document,
    deleted,
    failed,
    granted,
    make_corpus,
    publish,
    stage,
    unchanged,
)


def test_a_page_is_published_as_one_generation(store: Store, corpus: Corpus) -> None:
    result = publish(store, corpus, Document("a", ["one", "two"]), Document("b", ["three"]))
    assert result == PublishedPage(upserted=2, generation=1)
    assert seen(store, corpus) == {"a": ["one", "two"], "b": ["three"]}


def test_a_new_revision_replaces_the_old_one(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"]))
    assert publish(store, corpus, Document("a", ["new"])) == PublishedPage(upserted=1, generation=2)
    assert seen(store, corpus) == {"a": ["new"]}
    assert source_row(store, "a")["revision"] == 2


def test_repeating_a_publication_changes_nothing_and_returns_the_same(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("b", ["old"]))
    page = stage(store, corpus, Document("a", ["one"], grants=EVERYONE), failed("c"), deleted("b"))
    first = publish_page(store, page, fence=corpus.fence)
    before = {
        name: table(store, name) for name in ("span", "source", "ingestion", "scope", "pointer_log", "membership")
    }
    assert publish_page(store, page, fence=corpus.fence) == first
    assert {name: table(store, name) for name in before} == before


def test_a_page_that_changes_nothing_visible_takes_no_generation(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one"]))
    result = publish(store, corpus, unchanged("a", grants=EVERYONE), failed("b"))
    assert (result.generation, result.skipped, result.failed) == (1, 1, 1)
    assert [row["gen"] for row in table(store, "pointer_log")] == [1]


def test_an_older_reading_is_stale(store: Store, corpus: Corpus) -> None:
    page = stage(store, corpus, Document("a", ["older"], seq=3))
    publish(store, corpus, Document("a", ["newer"], seq=4))
    assert publish_page(store, page, fence=corpus.fence).upserted == 0
    assert outcomes(store, page) == ["stale"]
    assert seen(store, corpus) == {"a": ["newer"]}


def test_the_same_reading_is_not_published_twice(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["first"], seq=3))
    assert publish(store, corpus, Document("a", ["second"], seq=3)).upserted == 0
    assert seen(store, corpus) == {"a": ["first"]}


def test_a_deletion_beats_what_was_staged_before_it(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"]))
    page = stage(store, corpus, Document("a", ["new"]))
    delete_sources(store, corpus.build.scope_id, ["a"])
    result = publish_page(store, page, fence=corpus.fence)
    assert (result.upserted, result.failed, result.generation) == (0, 0, 2)
    assert outcomes(store, page) == ["fenced"]
    assert seen(store, corpus) == {}
    assert statuses(store, corpus) == {}


def test_a_source_that_is_added_again_has_its_new_grants_alone(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"], grants=GrantSet(principal_ids=("alice",))))
    publish(store, corpus, deleted("a"))
    assert (source_row(store, "a")["grants"], source_row(store, "a")["access_version"]) == ([], 2)
    publish(store, corpus, Document("a", ["old"], grants=GrantSet(principal_ids=("bob",))))
    assert seen(store, corpus, "alice") == {}
    assert seen(store, corpus, "bob") == {"a": ["old"]}
    assert source_row(store, "a")["access_version"] == 3


def test_a_source_that_is_added_again_without_grants_is_read_by_nobody(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", grants=EVERYONE))
    publish(store, corpus, deleted("a"))
    publish(store, corpus, Document("a"))
    assert seen(store, corpus, "alice") == {}


def test_narrowed_grants_and_new_text_are_seen_together(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["open"], grants=GrantSet(principal_ids=("alice", "bob"))))
    publish(store, corpus, Document("a", ["secret"], grants=GrantSet(principal_ids=("bob",))))
    assert seen(store, corpus, "alice") == {}
    assert seen(store, corpus, "bob") == {"a": ["secret"]}


def test_grants_that_are_the_same_keep_their_version(store: Store, corpus: Corpus) -> None:
    grants = GrantSet(principal_ids=("alice", "bob"), group_ids=("staff",), everyone=True)
    publish(store, corpus, Document("a", grants=grants))
    publish(store, corpus, granted("a", GrantSet(principal_ids=("bob", "alice"), group_ids=("staff",), everyone=True)))
    publish(store, corpus, Document("a", ["new"]))
    assert source_row(store, "a")["access_version"] == 1


def test_a_group_a_person_and_everyone_of_one_name_are_three_grantees(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["for the group"], grants=GrantSet(group_ids=("x",))))
    publish(store, corpus, Document("b", ["for the person"], grants=GrantSet(principal_ids=("x",))))
    assert seen(store, corpus, "x") == {"b": ["for the person"]}


def test_a_document_shared_with_more_than_a_source_may_have_is_withheld(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one"], grants=GrantSet(principal_ids=("alice",))))
    wide = GrantSet(group_ids=tuple(f"g{number}" for number in range(33)))
    result = publish(store, corpus, Document("a", ["two"], grants=wide))
    assert (result.upserted, result.withheld, result.failed) == (0, 1, 0)
    assert seen(store, corpus) == {"a": ["one"]} and seen(store, corpus, "alice") == {}
    assert statuses(store, corpus) == {"a": ("indexed", "unavailable", "too_many_grantees")}
    publish(store, corpus, Document("a", ["two"], grants=GrantSet(principal_ids=("alice",))))
    assert seen(store, corpus, "alice") == {"a": ["two"]}
    assert statuses(store, corpus) == {"a": ("indexed", "current", None)}


def test_grants_of_a_known_source_are_renewed_alone(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["one"], grants=GrantSet(principal_ids=("alice",))))
    result = publish(store, corpus, granted("a", GrantSet(principal_ids=("bob",))), granted("nobody", EVERYONE))
    assert result == PublishedPage(regranted=1, generation=1)
    assert seen(store, corpus, "alice") == {}
    assert seen(store, corpus, "bob") == {"a": ["one"]}


def test_a_source_of_another_connector_is_refused_by_name(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["ours"], grants=EVERYONE))
    other = make_corpus(store, connector="folder-b")
    page = stage(store, other, Document("a", ["theirs"], grants=GrantSet()), Document("b", ["their own"]))
    result = publish_page(store, page, fence=other.fence)
    assert (result.upserted, result.failed) == (1, 1)
    assert result.failures[0].source_id == "a" and "folder-a" in (result.failures[0].reason or "")
    assert seen(store, corpus, "anyone") == {"a": ["ours"]}
    assert publish(store, other, deleted("a")) == PublishedPage(generation=2)
    assert seen(store, corpus)["a"] == ["ours"]


def test_a_deleted_source_may_be_published_by_another_connector(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["ours"]))
    publish(store, corpus, deleted("a"))
    other = make_corpus(store, connector="folder-b")
    assert publish(store, other, Document("a", ["theirs"])).upserted == 1
    assert seen(store, corpus) == {"a": ["theirs"]}


def test_an_empty_document_is_published_without_chunks(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"]))
    assert publish(store, corpus, Document("a", [])).upserted == 1
    assert seen(store, corpus) == {}
    assert len(table(store, "span")) == 2
    assert statuses(store, corpus) == {"a": ("empty", "current", None)}


def test_a_failed_document_keeps_its_last_good_text_and_says_so(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["good"]), failed("b", "encrypted", "it has a password"))
    result = publish(store, corpus, failed("a", "no_text", "it is a picture"))
    assert [(f.source_id, f.state, f.reason) for f in result.failures] == [("a", "no_text", "it is a picture")]
    assert seen(store, corpus) == {"a": ["good"]}
    assert statuses(store, corpus) == {
        "a": ("no_text", "stale", "it is a picture"),
        "b": ("encrypted", "current", "it has a password"),
    }


def test_a_document_that_is_good_again_is_healthy_again(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["good"]))
    publish(store, corpus, failed("a"))
    assert publish(store, corpus, unchanged("a")).skipped == 1
    assert statuses(store, corpus) == {"a": ("indexed", "current", None)}


def test_a_document_believed_unchanged_that_nobody_sees_is_read_again(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, failed("a"))
    assert publish(store, corpus, unchanged("a")).skipped == 0
    assert [row["source_version"] for row in table(store, "ingestion")] == [None]


def test_failures_are_counted_beyond_the_hundred_that_are_named(store: Store, corpus: Corpus) -> None:
    result = publish(store, corpus, *[failed(f"f{number:03d}") for number in range(120)])
    assert (result.failed, len(result.failures)) == (120, 100)


def test_a_document_that_was_never_there_is_not_counted_as_deleted(store: Store, corpus: Corpus) -> None:
    assert publish(store, corpus, deleted("a")) == PublishedPage()


def test_a_deleted_source_leaves_no_status_and_no_membership(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"), failed("b"))
    assert publish(store, corpus, deleted("a"), deleted("b")) == PublishedPage(deleted=2, generation=2)
    assert table(store, "ingestion") == table(store, "membership") == []


def test_revision_numbers_have_no_gaps(store: Store, corpus: Corpus) -> None:
    late = stage(store, corpus, Document("a", ["never"], seq=1))
    publish(store, corpus, Document("a", ["one"], seq=2))
    publish_page(store, late, fence=corpus.fence)
    publish(store, corpus, Document("a", ["two"], seq=3))
    numbers = sorted(row["revision"] for row in table(store, "document_version") if row["revision"] is not None)
    assert numbers == [1, 2]


def test_the_rule_that_a_page_was_listed_under_is_what_counts(store: Store, corpus: Corpus) -> None:
    page = stage(store, corpus, Document("a", grants=EVERYONE), Document("b"))
    config = {"access": {"rules": ["everyone"]}}
    ensure_connector(store, corpus.build.scope_id, corpus.connector.name, "folder", config, new_rule=True)
    publish_page(store, page, fence=corpus.fence)
    assert sorted(row["rule_version"] for row in table(store, "membership")) == [0, corpus.connector.rule_version]


def test_what_staging_needed_is_dropped_when_it_is_published(store: Store, corpus: Corpus) -> None:
    page = stage(store, corpus, Document("a"))
    with store.connection() as connection:
        connection.execute(
            "INSERT INTO headwater.cut (rev_id, starts, ends, sha256, metadata)"
            " SELECT rev_id, '{0}', '{9}', '{x}', '[]' FROM headwater.revision"
        )
    publish_page(store, page, fence=corpus.fence)
    assert table(store, "cut") == []


def test_a_run_whose_lease_was_taken_over_writes_nothing(store: Store, corpus: Corpus) -> None:
    page = stage(store, corpus, Document("a"))
    owner = f"sync:{corpus.scope}:{corpus.connector.name}"
    taken = begin_pass(store, corpus.connector.connector_id, owner=owner, run="run-2", full=False)
    with pytest.raises(StaleFence):
        publish_page(store, page, fence=corpus.fence)
    assert seen(store, corpus) == {} and outcomes(store, page) == [None]
    assert publish_page(store, page, fence=taken.fence).upserted == 1


def test_a_page_that_is_not_wholly_staged_is_refused(store: Store, corpus: Corpus) -> None:
    unread = stage(store, corpus, Document("a", is_read=False))
    with pytest.raises(PageConflict, match="1 documents that were not read"):
        publish_page(store, unread, fence=corpus.fence)
    short = stage(store, corpus, Document("b", ["one", "two"], missing_chunks=1))
    with pytest.raises(PageConflict, match="1 of its 2 chunks"):
        publish_page(store, short, fence=corpus.fence)
    with pytest.raises(PageConflict, match="Page 999 is not there"):
        publish_page(store, 999, fence=corpus.fence)
    assert seen(store, corpus) == {}


@pytest.mark.parametrize("is_hosts", [False, True])
def test_a_page_of_a_build_that_is_no_longer_shown_is_left_as_it_is(
    store: Store, corpus: Corpus, is_hosts: bool
) -> None:
    publish(store, corpus, Document("a", ["one"]), Document("b", ["kept"]))
    page = stage(store, corpus, Document("a", ["two"], grants=EVERYONE), deleted("b"), is_hosts=is_hosts)
    flip(store, corpus, start_build(store, corpus))
    before = {name: table(store, name) for name in ("span", "source", "ingestion", "scope", "page", "page_item")}
    result = publish_page(store, page, fence=None if is_hosts else corpus.fence)
    assert result == PublishedPage(is_stale_build=True, generation=2)
    assert {name: table(store, name) for name in before} == before
    assert seen(store, corpus) == {"a": ["one"], "b": ["kept"]}


def test_publishing_waits_while_a_reindex_is_about_to_end(store: Store, corpus: Corpus) -> None:
    pages = [stage(store, corpus, Document("a")), stage(store, corpus, Document("b"), is_hosts=True)]
    hold = "UPDATE headwater.scope SET held_until = clock_timestamp() + %s * interval '1 hour'"
    for page in pages:
        with store.connection() as connection:
            connection.execute(hold, (1,))
        fence = corpus.fence if page == pages[0] else None
        with pytest.raises(PublishingHeld, match="right after it"):
            publish_page(store, page, fence=fence)
        with store.connection() as connection:
            connection.execute(hold, (-1,))
        assert publish_page(store, page, fence=fence).upserted == 1


def test_a_page_that_was_published_answers_whatever_has_happened_since(store: Store, corpus: Corpus) -> None:
    page = stage(store, corpus, Document("a", ["one"]))
    first = publish_page(store, page, fence=corpus.fence)
    with store.connection() as connection:
        connection.execute("UPDATE headwater.scope SET held_until = clock_timestamp() + interval '1 hour'")
    flip(store, corpus, start_build(store, corpus))
    assert publish_page(store, page, fence=corpus.fence) == first
