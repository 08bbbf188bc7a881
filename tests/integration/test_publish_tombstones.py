"""Publishing where a tombstone stands: what stays hidden, what takes its place, and what is hidden with what it rests on."""

import pytest

from activities.store import Store
from activities.store.pages import listing
from activities.store.pages.item_outcome import HIDDEN, page_outcomes
from activities.store.pages.publish import publish_page
from activities.store.sources import tombstones
from activities.store.sources.tombstones import closure, drop_grants, write_tombstones
from activities.store.sql import queries
from headwater.connectors import GrantSet
from headwater.contracts import Grants
from headwater.contracts.deletion import Reason
from tests.integration.seen import hidden, outcomes, seen, source_row, statuses, table
from tests.integration.staging_factory import (
    EVERYONE,
    Corpus,
    Document,
    Noted,
    deleted,
    failed,
    granted,
    publish,
    push,
    roll_back,
    stage,
    unchanged,
)

ANN = Grants(principal_ids=("ann",), access_version=1)


def hide(store: Store, corpus: Corpus, source_id: str, reason: Reason = "forgotten") -> None:
    """As a propagated deletion does it."""
    scope_id = corpus.build.scope_id
    with store.connection() as connection, connection.transaction():
        taken = connection.execute(queries(store.schema, "tombstones")["take_generation"], {"scope_id": scope_id})
        row = taken.fetchone()
        assert row is not None
        ids = closure(connection, store.schema, scope_id, source_id)
        write_tombstones(connection, store.schema, scope_id, ids, reason=reason, gen=row[0], root=source_id)
        if reason != "corrected":
            drop_grants(connection, store.schema, scope_id, ids)


def shown(store: Store, corpus: Corpus, principal: str | None = None) -> dict[str, list[str]]:
    """What readers are shown: what the pointer shows, without what is hidden."""
    return {key: texts for key, texts in seen(store, corpus, principal).items() if key not in hidden(store, corpus)}


@pytest.mark.parametrize("reason", ["revoked", "legal_hold", "forgotten"])
def test_a_connector_brings_back_nothing_that_must_not_be_served(store: Store, corpus: Corpus, reason: Reason) -> None:
    publish(store, corpus, Document("a", ["old"], grants=EVERYONE))
    hide(store, corpus, "a", reason)
    page = stage(store, corpus, Document("a", ["same version"], grants=EVERYONE), Document("b", ["beside"]))
    result = publish_page(store, page, fence=corpus.fence)
    assert (result.upserted, result.withheld, result.failed) == (1, 1, 0)
    assert outcomes(store, page) == ["tombstoned", "published"]
    assert shown(store, corpus) == {"b": ["beside"]}
    assert source_row(store, "a")["grants"] == []
    assert statuses(store, corpus)["a"] == ("indexed", "unavailable", reason)


def test_a_withheld_document_that_was_only_listed_is_denied(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"]))
    hide(store, corpus, "a")
    with store.connection() as connection:
        connection.execute("UPDATE headwater.ingestion SET state = 'pending'")
    publish(store, corpus, Document("a", ["again"]))
    assert statuses(store, corpus) == {"a": ("denied", "current", "forgotten")}


@pytest.mark.parametrize("line", [unchanged("a"), failed("a"), granted("a", EVERYONE)])
def test_no_other_line_of_a_page_weakens_a_tombstone(store: Store, corpus: Corpus, line: Noted) -> None:
    publish(store, corpus, Document("a", ["old"], grants=EVERYONE))
    hide(store, corpus, "a")
    page = stage(store, corpus, line)
    publish_page(store, page, fence=corpus.fence)
    assert outcomes(store, page) == ["tombstoned"]
    assert source_row(store, "a")["grants"] == [] and len(table(store, "tombstone")) == 1


def test_a_newer_version_takes_the_place_of_a_forgotten_text(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"], grants=GrantSet(principal_ids=("ann",))))
    hide(store, corpus, "a")
    publish(store, corpus, Document("a", ["new"], version="v2", grants=GrantSet(principal_ids=("bob",))))
    assert table(store, "tombstone") == []
    assert (shown(store, corpus, "ann"), shown(store, corpus, "bob")) == ({}, {"a": ["new"]})


def test_no_rollback_shows_a_text_that_was_forgotten_and_replaced(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"]))
    publish(store, corpus, Document("b", ["b"]))
    hide(store, corpus, "a")
    publish(store, corpus, Document("a", ["new"], version="v2"))
    for generation in (1, 2, 3):
        roll_back(store, corpus, generation)
        assert "a" not in shown(store, corpus)
    publish(store, corpus, Document("c", ["c"]))
    assert "a" not in shown(store, corpus)


def test_a_newer_version_after_a_rollback_hides_the_forgotten_text_in_the_fork_too(
    store: Store, corpus: Corpus
) -> None:
    publish(store, corpus, Document("a", ["old"]))
    publish(store, corpus, Document("b", ["b"]))
    roll_back(store, corpus, 1)
    hide(store, corpus, "a")
    generation = publish(store, corpus, Document("a", ["new"], version="v2")).generation
    assert shown(store, corpus) == {"a": ["new"]}
    for earlier in range(1, generation):
        roll_back(store, corpus, earlier)
        assert "a" not in shown(store, corpus)


def test_a_forgotten_document_whose_grants_were_not_listed_is_asked_for_them_again(
    store: Store, corpus: Corpus
) -> None:
    publish(store, corpus, Document("a", ["old"], grants=EVERYONE))
    hide(store, corpus, "a")
    with store.connection() as connection:  # as a page does that was listed before, and published its grants since
        connection.execute("UPDATE headwater.membership SET rule_version = 1")
    publish(store, corpus, Document("a", ["new"], version="v2"))
    assert shown(store, corpus, "anyone") == {}
    assert [row["rule_version"] for row in table(store, "membership")] == [0]


def test_what_was_read_before_it_was_forgotten_stays_forgotten(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"]))
    ours = stage(store, corpus, Document("a", ["read before"], version="v2"))
    hide(store, corpus, "a")
    assert publish_page(store, ours, fence=corpus.fence).withheld == 1
    assert shown(store, corpus) == {}


def test_a_text_of_unknown_version_that_was_forgotten_takes_that_of_the_next_reading(
    store: Store, corpus: Corpus
) -> None:
    publish(store, corpus, Document("a", ["old"], version=None))
    hide(store, corpus, "a")
    publish(store, corpus, Document("a", ["old"], version="v1"))
    assert [row["source_version"] for row in table(store, "tombstone")] == ["v1"]
    publish(store, corpus, Document("a", ["new"], version="v2"))
    assert shown(store, corpus) == {"a": ["new"]}


def test_a_host_replaces_what_was_forgotten_by_sending_it_later(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("a", ["old"], grants=ANN))
    before = stage(store, corpus, Document("a", ["sent before"]), is_hosts=True)
    hide(store, corpus, "a")
    publish_page(store, before)
    told = page_outcomes(store, before)
    assert told is not None
    assert (told[0].outcome, told[0].revision, told[0].state) == ("tombstoned", 0, "denied")
    assert push(store, corpus, Document("a", ["new"], expected_revision=0))[0].revision == 2
    assert shown(store, corpus) == {"a": ["new"]} and shown(store, corpus, "ann") == {}


@pytest.mark.parametrize("reason", ["revoked", "legal_hold"])
def test_a_host_brings_back_nothing_that_was_revoked_or_is_held(store: Store, corpus: Corpus, reason: Reason) -> None:
    push(store, corpus, Document("a", ["old"]))
    hide(store, corpus, "a", reason)
    told = push(store, corpus, Document("a", ["new"], grants=Grants(principal_ids=("ann",), access_version=99)))
    assert told[0].outcome == "tombstoned" and told[0].reason
    assert shown(store, corpus) == {} and source_row(store, "a")["grants"] == []


def test_a_deletion_at_the_origin_leaves_the_tombstone(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a", ["old"]))
    hide(store, corpus, "a", "revoked")
    assert publish(store, corpus, deleted("a")).deleted == 1
    assert len(table(store, "tombstone")) == 1 and table(store, "ingestion") == []


@pytest.mark.parametrize("parent", ["p", "p#0001"])
@pytest.mark.parametrize("reason", ["forgotten", "revoked", "legal_hold"])
def test_what_rests_on_a_hidden_source_is_hidden_with_all_that_rests_on_it(
    store: Store, corpus: Corpus, parent: str, reason: Reason
) -> None:
    push(store, corpus, Document("p", ["parent"]), Document("child", ["first"], grants=ANN))
    push(store, corpus, Document("grandchild", ["on child"], lineage=["child"], grants=ANN))
    page = stage(store, corpus, Document("child", ["derived"], lineage=[parent]), is_hosts=True)
    hide(store, corpus, "p", reason)
    assert shown(store, corpus).keys() == {"child", "grandchild"}
    publish_page(store, page)
    told = page_outcomes(store, page)
    assert told is not None and told[0].outcome == "published" and "rests on" in (told[0].reason or "")
    assert shown(store, corpus) == {}
    assert {row["id"]: (row["reason"], row["root"]) for row in table(store, "tombstone")} == {
        "p": (reason, "p"), "child": (reason, "child"), "grandchild": (reason, "child"),
    }  # fmt: skip
    assert [source_row(store, each)["grants"] for each in ("child", "grandchild")] == [[], []]


def test_the_gravest_reason_of_several_parents_is_inherited(store: Store, corpus: Corpus) -> None:
    push(store, corpus, *[Document(each) for each in ("f", "r", "h", "c")])
    reasons: dict[str, Reason] = {"f": "forgotten", "r": "revoked", "h": "legal_hold", "c": "corrected"}
    for source_id, reason in reasons.items():
        hide(store, corpus, source_id, reason)
    push(store, corpus, Document("d1", lineage=["f", "r"]), Document("d2", lineage=["f", "h", "r"]))
    push(store, corpus, Document("d3", lineage=["c"]))
    held = {row["id"]: row["reason"] for row in table(store, "tombstone")}
    assert (held["d1"], held["d2"]) == ("revoked", "legal_hold") and "d3" not in held


def test_what_rests_on_a_corrected_source_is_hidden_until_it_rests_on_another_id(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("x"), Document("d", ["first"], lineage=["x#0001"]), Document("e", lineage=["d"]))
    hide(store, corpus, "x", "corrected")
    told = push(store, corpus, Document("x", ["corrected"]), Document("d", ["anew"], lineage=["x"]), unchanged("e"))
    assert [(each.outcome, each.state) for each in told] == [
        ("published", "indexed"), ("published", "denied"), ("unchanged", "denied")
    ]  # fmt: skip
    assert told[0].reason is None and (told[1].reason or "").startswith("It rests on x, which was corrected")
    assert (told[2].reason or "").startswith("It rests on d, ")
    assert [statuses(store, corpus)[each.source_id] for each in told] == [
        ("indexed", "current", None), ("indexed", "unavailable", told[1].reason), ("indexed", "unavailable", told[2].reason)
    ]  # fmt: skip
    assert shown(store, corpus) == {"x": ["corrected"]}
    told = push(store, corpus, Document("x2", ["corrected"]), Document("d", ["anew"], lineage=["x2"]))
    assert [(each.state, each.reason) for each in told] == [("indexed", None)] * 2
    assert statuses(store, corpus)["d"] == ("indexed", "current", None)
    assert shown(store, corpus) == {"x": ["corrected"], "x2": ["corrected"], "d": ["anew"]}


def test_a_derived_text_may_come_back_on_other_parents(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("p"), Document("q"), Document("d", ["on p"], lineage=["p"]))
    hide(store, corpus, "p")
    push(store, corpus, Document("d", ["on p again"], lineage=["p"]))
    assert "d" not in shown(store, corpus)
    push(store, corpus, Document("d", ["on q"], lineage=["q"]))
    assert shown(store, corpus) == {"d": ["on q"], "q": ["some text"]}


def test_texts_of_one_page_that_rest_on_each_other_are_hidden_down_to_the_last(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("p"), Document("c", ["first"]), Document("on-c", lineage=["c"]))
    hide(store, corpus, "p")
    push(store, corpus, Document("c", lineage=["b"]), Document("b", lineage=["a"]), Document("a", lineage=["p"]))
    push(store, corpus, Document("late", lineage=["c"]))
    assert shown(store, corpus) == {}
    assert {row["id"] for row in table(store, "tombstone")} == {"p", "a", "b", "c", "on-c", "late"}


def test_a_text_that_no_longer_rests_on_what_is_hidden_with_its_page_is_shown(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("p"), Document("b", ["first"]), Document("x", ["on b"], lineage=["b"], grants=ANN))
    push(store, corpus, Document("c", ["on x"], lineage=["x"], grants=ANN))
    push(store, corpus, Document("digest", ["on c"], lineage=["c"]))
    hide(store, corpus, "p")
    told = push(
        store, corpus,
        Document("b", ["on p"], lineage=["p"]), Document("x", ["alone"]), Document("c", ["on x again"], lineage=["x"]),
    )  # fmt: skip
    assert [(each.state, each.reason is None) for each in told] == [
        ("denied", False),
        ("indexed", True),
        ("indexed", True),
    ]
    assert shown(store, corpus) == shown(store, corpus, "ann") == {"c": ["on x again"], "x": ["alone"]}
    assert {row["id"] for row in table(store, "tombstone")} == {"p", "b", "digest"}
    for generation in (1, 2, 3):
        roll_back(store, corpus, generation)
        assert shown(store, corpus) == {}


def test_a_host_is_told_of_what_its_page_hides_beside_what_it_publishes(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("p"), Document("b", ["first"]), Document("c", lineage=["b"]))
    hide(store, corpus, "p")
    told = push(store, corpus, unchanged("c"), Document("b", ["on p"], lineage=["p"]), Document("beside"))
    assert [(each.outcome, each.revision, each.state) for each in told] == [
        ("unchanged", 0, "denied"), ("published", 0, "denied"), ("published", 1, "indexed"),
    ]  # fmt: skip
    assert all("rests on" in (each.reason or "") for each in told[:2])
    assert shown(store, corpus) == {"beside": ["some text"]}
    of = statuses(store, corpus)
    assert [(of[each][1], of[each][2]) for each in ("b", "c")] == [("unavailable", told[0].reason)] * 2


def test_what_was_derived_before_its_origin_was_forgotten_and_replaced_stays_hidden(
    store: Store, corpus: Corpus
) -> None:
    publish(store, corpus, Document("a", ["forgotten"], version="v1"))
    derived = stage(store, corpus, Document("d", ["of the forgotten"], lineage=["a"]))
    hide(store, corpus, "a")
    between = stage(store, corpus, Document("e", ["read before the new one was shown"], lineage=["a"]))
    publish(store, corpus, Document("a", ["new"], version="v2"))
    for page in (derived, between):
        publish_page(store, page, fence=corpus.fence)
    assert shown(store, corpus) == {"a": ["new"]}
    publish(store, corpus, Document("f", ["of the new"], lineage=["a"]))
    assert shown(store, corpus) == {"a": ["new"], "f": ["of the new"]}


def test_what_rests_on_a_forgotten_source_may_come_back_in_one_page_with_it(store: Store, corpus: Corpus) -> None:
    push(store, corpus, Document("p"), Document("d", lineage=["p"]))
    hide(store, corpus, "p")
    push(store, corpus, Document("d", ["derived"], lineage=["p"]), Document("p", ["again"]))
    assert shown(store, corpus) == {"d": ["derived"], "p": ["again"]}
    assert table(store, "tombstone") == []


def test_a_text_on_which_more_rests_than_can_be_hidden_is_not_published(
    store: Store, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tombstones, "LEVELS_MAX", 0)
    push(store, corpus, Document("p"), Document("child", ["first"]))
    push(store, corpus, Document("grandchild", lineage=["child"]))
    hide(store, corpus, "p")
    told = push(store, corpus, Document("child", ["derived"], lineage=["p"]), Document("beside"))
    assert [each.outcome for each in told] == ["tombstoned", "published"]
    assert seen(store, corpus)["child"] == ["first"]


@pytest.mark.parametrize("is_hosts", [True, False])
def test_a_corrected_text_on_which_more_rests_than_can_be_hidden_is_told_so(
    store: Store, corpus: Corpus, monkeypatch: pytest.MonkeyPatch, is_hosts: bool
) -> None:
    first = (Document("p"), Document("child", ["first"]), Document("grandchild", lineage=["child"]))
    publish_page(store, stage(store, corpus, *first, is_hosts=is_hosts), fence=None if is_hosts else corpus.fence)
    hide(store, corpus, "child", "corrected")
    hide(store, corpus, "p")
    monkeypatch.setattr(tombstones, "LEVELS_MAX", 0)
    page = stage(store, corpus, Document("child", ["derived"], lineage=["p"]), Document("beside"), is_hosts=is_hosts)
    publish_page(store, page, fence=None if is_hosts else corpus.fence)
    assert outcomes(store, page) == ["tombstoned", "published"]
    assert seen(store, corpus)["child"] == ["first"]
    if is_hosts:  # a host is answered, and what readers are shown is its older text, as before
        told = page_outcomes(store, page)
        assert told is not None and (told[0].state, told[0].reason) == ("denied", HIDDEN)
        assert statuses(store, corpus)["child"] == ("indexed", "current", None)
    else:
        assert statuses(store, corpus)["child"] == ("indexed", "unavailable", HIDDEN)


def test_what_rests_on_a_text_that_is_not_published_for_that_is_hidden(
    store: Store, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tombstones, "LEVELS_MAX", 0)
    push(store, corpus, Document("p"), Document("child", ["first"]))
    push(store, corpus, Document("grandchild", lineage=["child"]))
    hide(store, corpus, "p")
    told = push(store, corpus, Document("digest", lineage=["child"]), Document("child", ["derived"], lineage=["p"]))
    assert [each.outcome for each in told] == ["published", "tombstoned"] and "rests on" in (told[0].reason or "")
    assert "digest" not in shown(store, corpus)


def test_listing_tells_what_must_not_be_served(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, Document("a"), Document("b"), Document("c"))
    hide(store, corpus, "a", "revoked")
    hide(store, corpus, "b")
    hide(store, corpus, "c", "corrected")
    known = listing.known_sources(
        store, connector_id=corpus.connector.connector_id, scope_id=corpus.build.scope_id, source_ids=["a", "b", "c"]
    )
    assert {each: (row.tombstone, row.tombstone_version) for each, row in known.items()} == {
        "a": ("revoked", "v1"), "b": ("forgotten", "v1"), "c": (None, None),
    }  # fmt: skip
