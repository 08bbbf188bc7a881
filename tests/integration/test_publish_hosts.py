"""Pages that hosts push: owned by nobody, compared with a revision, with versioned grants, all in one transaction."""

from datetime import UTC, datetime, timedelta

import pytest

from activities.contracts import PublishedPage
from activities.store import Store
from activities.store.pages.item_outcome import ItemOutcome, page_outcomes
from activities.store.pages.publish import publish_page
from headwater.contracts import Grants
from tests.integration.asked import delete_sources, grant
from tests.integration.moving import hosts, move
from tests.integration.seen import outcomes, overlaps, seen, source_row, statuses, table
from tests.integration.staging_factory import (
    EVERYONE,
    Corpus,
    Document,
    Noted,
    deleted,
    failed,
    publish,
    push,
    stage,
    unchanged,
)

TOMORROW = datetime.now(UTC).replace(microsecond=250) + timedelta(days=1)


def grants(version: int, *principals: str, **more: object) -> Grants:
    return Grants.model_validate({"principal_ids": principals, "access_version": version, **more})


def test_a_pushed_document_needs_no_connector_and_no_lease(store: Store, corpus: Corpus) -> None:
    page = stage(store, corpus, Document("a", ["one", "two"], grants=grants(3, "ann")), is_hosts=True)
    assert publish_page(store, page) == PublishedPage(upserted=1, generation=1)
    assert seen(store, corpus, "ann") == {"a": ["one", "two"]}
    assert (source_row(store, "a")["owner"], source_row(store, "a")["access_version"]) == (None, 3)
    assert table(store, "membership") == []


def test_a_host_is_told_what_became_of_each_document_in_its_order(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("owned"))
    push(store, corpus, Document("b", ["b1", "b2"]), Document("same", ["kept"]))
    told = push(
        store, corpus,
        Document("same", ["changed"], expected_revision=7), Document("b", ["b3"]), Document("a", []), Document("owned"),
        failed("new", "encrypted", "it has a password"),
    )  # fmt: skip
    assert told == [
        ItemOutcome("same", "conflict", 1, 0, 0, "failed", told[0].reason, expected=7, actual=1),
        ItemOutcome("b", "published", 2, 1, 2, "indexed"),
        ItemOutcome("a", "published", 1, 0, 0, "empty"),
        ItemOutcome("owned", "owned", 1, 0, 0, "failed", told[3].reason),
        ItemOutcome("new", "failed", 0, 0, 0, "encrypted", "it has a password"),
    ]
    assert "another revision" in (told[0].reason or "") and "connector folder-a" in (told[3].reason or "")


def test_what_a_host_was_told_stays_what_it_was(store: Store, corpus: Corpus) -> None:
    page = stage(store, corpus, Document("a", ["one"]), is_hosts=True)
    assert page_outcomes(store, page) is None
    publish_page(store, page)
    told = page_outcomes(store, page)
    push(store, corpus, Document("a", ["two", "three"]))
    delete_sources(store, corpus.build.scope_id, ["a"])
    publish_page(store, page)
    assert page_outcomes(store, page) == told == [ItemOutcome("a", "published", 1, 1, 0, "indexed")]


def test_an_unchanged_document_is_skipped_with_its_state(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", ["one"], state="partial", reason="page 2 is a picture"))
    told = push(store, corpus, unchanged("a"))
    assert told == [ItemOutcome("a", "unchanged", 1, 0, 0, "partial")] and told[0].is_skipped
    assert seen(store, corpus) == {"a": ["one"]}


@pytest.mark.parametrize(("expected", "published"), [(0, False), (1, False), (2, True), (3, False), (None, True)])
def test_a_revision_is_replaced_only_if_it_is_the_expected_one(
    store: Store, corpus: Corpus, expected: int | None, published: bool
) -> None:
    push(store, corpus, Document("a", ["one"]))
    push(store, corpus, Document("a", ["two"]))
    told = push(store, corpus, Document("a", ["three"], expected_revision=expected, grants=grants(5, "ann")))
    assert seen(store, corpus) == {"a": ["three" if published else "two"]}
    assert (told[0].expected, told[0].actual) == ((None, None) if published else (expected, 2))
    assert source_row(store, "a")["access_version"] == (5 if published else 0)


def test_of_two_who_expect_the_same_revision_one_is_told_of_the_other(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", ["one"]))
    pages = [
        stage(store, corpus, Document("a", [text], expected_revision=1), is_hosts=True) for text in ("first", "second")
    ]
    publish_page(store, pages[1])
    publish_page(store, pages[0])
    assert [outcomes(store, page) for page in pages] == [["conflict"], ["published"]]
    assert seen(store, corpus) == {"a": ["second"]}


def test_a_source_that_must_be_new_may_have_been_deleted_before(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", ["one"], expected_revision=0))
    delete_sources(store, corpus.build.scope_id, ["a"])
    told = push(store, corpus, Document("a", ["two"], expected_revision=0))
    assert (told[0].outcome, told[0].revision) == ("published", 2)


def test_a_deletion_beats_a_push_that_was_staged_before_it(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", ["old"]))
    page = stage(store, corpus, Document("a", ["new"], grants=grants(9, "ann")), is_hosts=True)
    delete_sources(store, corpus.build.scope_id, ["a"])
    publish_page(store, page)
    told = page_outcomes(store, page)
    assert told == [ItemOutcome("a", "fenced", 0, 0, 0, "failed", told[0].reason if told else None)]
    assert seen(store, corpus) == {} and source_row(store, "a")["grants"] == []


def test_a_connector_cannot_take_what_a_host_published(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", ["theirs"], grants=grants(1, "ann")))
    result = publish(store, corpus, Document("a", ["ours"], grants=EVERYONE), failed("b"))
    assert result.failed == 2 and "a host" in (result.failures[1].reason or "")
    assert publish(store, corpus, deleted("a")).deleted == 0
    assert seen(store, corpus, "ann") == {"a": ["theirs"]}


def test_a_host_cannot_take_what_a_connector_published(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["ours"], grants=EVERYONE))
    push(store, corpus, Document("a", ["theirs"], grants=grants(9)))
    assert seen(store, corpus, "anyone") == {"a": ["ours"]}
    delete_sources(store, corpus.build.scope_id, ["a"])
    push(store, corpus, Document("a", ["theirs"]))
    assert seen(store, corpus) == {"a": ["theirs"]}


def test_a_rollback_before_a_hosts_first_text_does_not_give_its_id_away(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("x", ["first"]))
    push(store, corpus, Document("a", ["theirs"]))
    with store.connection() as connection:
        connection.execute("UPDATE headwater.scope SET live_gen = 1")
    assert publish(store, corpus, Document("a", ["ours"])).failed == 1


def test_grants_and_text_of_a_host_change_together(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", ["open"], grants=grants(1, "ann", "bob")))
    push(store, corpus, Document("a", ["secret"], grants=grants(2, "bob")))
    assert (seen(store, corpus, "ann"), seen(store, corpus, "bob")) == ({}, {"a": ["secret"]})


@pytest.mark.parametrize(
    ("asked", "outcome", "version"),
    [
        (grants(1, "bob"), "conflict", 2),
        (grants(2, "bob"), "conflict", 2),
        (grants(2, "ann"), "published", 2),
        (grants(3, "ann"), "published", 3),
        (None, "published", 2),
        (grants(2, "ann", expires_at=TOMORROW), "conflict", 2),
    ],
)
def test_late_grants_lose_and_nothing_of_their_source_is_published(
    store: Store, corpus: Corpus, asked: Grants | None, outcome: str, version: int
) -> None:
    push(store, corpus, Document("a", ["one"], grants=grants(2, "ann")))
    told = push(store, corpus, Document("a", ["two"], grants=asked), Document("b", ["beside"]))
    assert [each.outcome for each in told] == [outcome, "published"]
    assert seen(store, corpus) == {"a": ["one" if outcome == "conflict" else "two"], "b": ["beside"]}
    assert seen(store, corpus, "ann").keys() == {"a"} and seen(store, corpus, "bob") == {}
    assert source_row(store, "a")["access_version"] == version
    if outcome == "conflict" and asked is not None:
        assert (told[0].expected, told[0].actual, told[0].is_access_conflict) == (asked.access_version, 2, True)


def test_grants_that_end_are_kept_with_their_ends(store: Store, corpus: Corpus) -> None:
    ending = grants(1, "ann", expiring=[{"group_id": "staff", "expires_at": TOMORROW.isoformat()}])
    push(store, corpus, Document("a", grants=ending))
    row = source_row(store, "a")
    assert [each["expires_at"] for each in table(store, "expiring_grant")] == [TOMORROW]
    assert row["expiring"] == [each["grantee_id"] for each in table(store, "expiring_grant")]
    assert len(row["grants"]) == 1
    assert [each.outcome for each in push(store, corpus, Document("a", ["same set"], grants=ending))] == ["published"]
    push(store, corpus, Document("a", grants=grants(2, "ann")))
    assert table(store, "expiring_grant") == [] and source_row(store, "a")["expiring"] == []


@pytest.mark.parametrize("wide", [{"group_ids": [f"g{number}" for number in range(33)]}, {}])
def test_more_grantees_than_a_source_may_have_are_denied(store: Store, corpus: Corpus, wide: dict[str, object]) -> None:
    push(store, corpus, Document("a", ["one"], grants=grants(1, "ann")))
    many = grants(2, *[f"p{number}" for number in range(0 if wide else 1_025)], **wide)
    told = push(store, corpus, Document("a", ["two"], grants=many))
    assert told == [ItemOutcome("a", "denied", 1, 0, 0, "denied", "too_many_grantees")]
    assert [row["name"] for row in table(store, "grantee")] == ["ann"]
    assert seen(store, corpus, "ann") == {"a": ["one"]}


def test_new_names_of_two_documents_of_one_page_are_made_once(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", grants=grants(1, "new")), Document("b", grants=grants(1, "new", everyone=True)))
    assert sorted(row["name"] for row in table(store, "grantee")) == ["", "new"]


def test_a_host_has_a_status_and_failures_keep_the_last_good_text(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", ["good"]))
    push(store, corpus, failed("a", "no_text", "it is a picture", grants=grants(1, "ann")))
    assert statuses(store, corpus) == {"a": ("no_text", "stale", "it is a picture")}
    assert seen(store, corpus, "ann") == {"a": ["good"]}


def test_a_host_that_believes_a_hidden_text_unchanged_is_told_to_send_it(store: Store, corpus: Corpus) -> None:
    told = push(store, corpus, Noted("a", status={"unchanged": True}))
    assert told[0].outcome == "lost" and "send it again" in (told[0].reason or "")


def test_a_text_that_was_on_its_way_while_its_source_moved_goes_to_neither_id(store: Store, corpus: Corpus) -> None:
    hosts(store, corpus, Document("from", ["old"], grants=grants(1, "ann")))
    grant(store, corpus, "to", 1, principal_ids=["bob"])
    page = stage(store, corpus, Document("from", ["new"], grants=grants(2, "ann")), is_hosts=True)
    move(store, corpus, "from", "to")
    publish_page(store, page)
    told = page_outcomes(store, page)
    assert told is not None and told[0].outcome == "moved" and "another id" in (told[0].reason or "")
    assert (seen(store, corpus), seen(store, corpus, "ann")) == ({"to": ["old"]}, {})
    assert overlaps(store) == 0
    assert push(store, corpus, Document("from", ["another"]))[0].outcome == "published"
    assert seen(store, corpus) == {"from": ["another"], "to": ["old"]}
