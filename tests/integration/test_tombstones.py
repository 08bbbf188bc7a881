"""What is hidden along lineage: how far the walk goes, which reasons stay, who may ask, and what it costs."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from activities.store import Store
from activities.store.generations import listing, set_generation
from activities.store.sources.tombstones import IDS_MAX, closure, propagate
from headwater.contracts.deletion import Reason
from headwater.errors import AccessError, LimitError, ScopeError, ValidationError
from headwater.models import Scope
from tests.integration.asked import grant, may_read, new_request, who
from tests.integration.derivations import add_derived, carried_out, chain, star
from tests.integration.hiding import ALICE, JANITOR, derived, found, hide
from tests.integration.seen import of_schema, source_row, table
from tests.integration.staging_factory import Corpus, make_corpus, publish, stage
from tests.integration.waiting import is_blocked, until


def reasons(store: Store) -> dict[str, str]:
    return {row["id"]: row["reason"] for row in table(store, "tombstone")}


def walk(store: Store, corpus: Corpus, root: str) -> list[str]:
    with store.connection() as connection:
        return closure(connection, store.schema, corpus.build.scope_id, root)


@pytest.fixture
def summaries(store: Store, corpus: Corpus) -> Corpus:
    """An original, a summary of it, a digest of the summary, and a note that rests on nothing."""
    publish(
        store, corpus,
        derived("doc:erp"), derived("summary:erp", "doc:erp"), derived("digest", "summary:erp"), derived("note"),
    )  # fmt: skip
    return corpus


def test_a_source_and_all_that_rests_on_it_is_hidden(store: Store, database: str, summaries: Corpus) -> None:
    assert found(database, summaries) == {"doc:erp", "summary:erp", "digest", "note"}
    hidden = hide(store, summaries, "doc:erp")
    assert hidden.ids == ("doc:erp", "summary:erp", "digest") and hidden.tombstoned == 3
    assert found(database, summaries) == {"note"}
    assert {row["source_id"] for row in table(store, "source")} == {"doc:erp", "summary:erp", "digest", "note"}
    assert len(table(store, "chunk")) == 4, "hiding removes nothing"
    roots = {(row["root"], row["reason"], row["source_version"]) for row in table(store, "tombstone")}
    assert roots == {("doc:erp", "forgotten", "v1")}


def test_hiding_drops_the_grants_at_a_raised_version(store: Store, summaries: Corpus) -> None:
    before = source_row(store, "digest")["access_version"]
    hide(store, summaries, "doc:erp")
    assert not may_read(store, summaries, "digest", ALICE) and may_read(store, summaries, "note", ALICE)
    assert source_row(store, "digest")["access_version"] == before + 1
    assert {row["rule_version"] for row in table(store, "membership") if row["source_pk"]} >= {0}


def test_a_correction_hides_what_rests_on_the_source_and_keeps_grants(
    store: Store, database: str, summaries: Corpus
) -> None:
    hide(store, summaries, "doc:erp", "corrected")
    assert found(database, summaries) == {"doc:erp", "note"}
    assert may_read(store, summaries, "digest", ALICE)


def test_who_has_no_grant_opens_no_transaction(store: Store, summaries: Corpus, database: str) -> None:
    grant(store, summaries, "doc:erp", 9, principal_ids=("alice",))
    request_no = new_request(store, summaries, "PropagateDeletion")
    before = table(store, "tombstone"), table(store, "scope"), table(store, "audit")
    nowhere = Scope.parse("acme/library/nowhere")

    def refused() -> None:
        with pytest.raises(AccessError, match="bob has no grant for doc:erp"):
            hide(alone, summaries, "doc:erp", by=who("bob"), request_no=request_no)
        with pytest.raises(AccessError, match="alice has no grant for unheard-of"):
            hide(alone, summaries, "unheard-of", request_no=request_no)
        with pytest.raises(AccessError, match="access version 8"):
            hide(alone, summaries, "doc:erp", by=who("alice", version=8), request_no=request_no)
        with pytest.raises(ScopeError, match="tenant other"):
            hide(alone, summaries, "doc:erp", by=who("alice", tenant="other"), request_no=request_no)
        with pytest.raises(ValidationError, match="nowhere does not exist"):
            propagate(alone, nowhere, "a", authorization=ALICE, reason="forgotten", request_no=1, actor=None)

    with Store.open(database, max_size=1) as alone:
        assert "BEGIN" not in carried_out(alone, refused)
        assert (table(store, "tombstone"), table(store, "scope"), table(store, "audit")) == before
        assert "BEGIN" in carried_out(alone, lambda: hide(alone, summaries, "doc:erp", request_no=request_no))


def test_a_grant_that_is_taken_away_while_this_waits_no_longer_counts(
    store: Store, summaries: Corpus, database: str
) -> None:
    request_no = new_request(store, summaries)
    revoke = "UPDATE {schema}.source SET grants = '{{}}' WHERE source_id = 'doc:erp'"
    with ThreadPoolExecutor(1) as thread, store.connection() as connection:
        with connection.transaction():
            connection.execute(of_schema(store, "SELECT FROM {schema}.scope FOR NO KEY UPDATE"), {})
            asked = thread.submit(hide, store, summaries, "doc:erp", request_no=request_no)
            until(lambda: is_blocked(database))
            connection.execute(of_schema(store, revoke), {})
        with pytest.raises(AccessError, match="alice has no grant for doc:erp"):
            asked.result(timeout=60)
    assert not table(store, "tombstone")


def test_a_service_principal_hides_what_was_revoked_before_and_is_audited_as_such(
    store: Store, summaries: Corpus
) -> None:
    grant(store, summaries, "doc:erp", 9)
    assert hide(store, summaries, "doc:erp", "revoked", by=JANITOR).tombstoned == 3
    hide(store, summaries, "note")
    audits = [row["detail"] for row in table(store, "audit") if row["action"] == "propagate"]
    by_principal = {each["principal"]: each for each in audits}
    assert by_principal["janitor"] == {
        "source_id": "doc:erp", "reason": "revoked", "ids": 3, "tombstoned": 3, "principal": "janitor", "as_service": True,
    }  # fmt: skip
    assert by_principal["alice"]["as_service"] is False


def test_a_repeated_request_answers_the_same_although_the_grants_are_gone(store: Store, summaries: Corpus) -> None:
    request_no = new_request(store, summaries, "PropagateDeletion")
    first = hide(store, summaries, "doc:erp", request_no=request_no)
    before = table(store, "tombstone"), table(store, "scope")
    assert hide(store, summaries, "doc:erp", request_no=request_no) == first
    assert (table(store, "tombstone"), table(store, "scope")) == before
    with pytest.raises(AccessError):
        hide(store, summaries, "doc:erp")
    again = hide(store, summaries, "doc:erp", by=JANITOR)
    assert again.ids == first.ids and again.gen > first.gen


@pytest.mark.parametrize(
    ("first", "then", "stays"),
    [
        ("legal_hold", "forgotten", "legal_hold"),
        ("legal_hold", "revoked", "legal_hold"),
        ("legal_hold", "corrected", "legal_hold"),
        ("revoked", "forgotten", "revoked"),
        ("revoked", "corrected", "revoked"),
        ("revoked", "legal_hold", "legal_hold"),
        ("forgotten", "corrected", "forgotten"),
        ("forgotten", "revoked", "revoked"),
        ("forgotten", "legal_hold", "legal_hold"),
        ("corrected", "forgotten", "forgotten"),
        ("corrected", "revoked", "revoked"),
    ],
)
def test_no_later_reason_weakens_an_earlier_one(
    store: Store, corpus: Corpus, first: Reason, then: Reason, stays: Reason
) -> None:
    publish(store, corpus, derived("one"))
    hide(store, corpus, "one", first, by=JANITOR)
    hidden = hide(store, corpus, "one", then, by=JANITOR)
    assert reasons(store) == {"one": stays} and hidden.tombstoned == (1 if stays == then else 0)


def test_the_version_that_was_forgotten_outlives_its_status(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("one"))
    hide(store, corpus, "one")
    with store.connection() as connection:
        connection.execute(of_schema(store, "DELETE FROM {schema}.ingestion"), {})
    hide(store, corpus, "one", by=JANITOR)
    assert [row["source_version"] for row in table(store, "tombstone")] == ["v1"]


def test_hiding_takes_a_generation_and_moves_neither_pointer_nor_build(store: Store, summaries: Corpus) -> None:
    (before,), builds = table(store, "scope"), table(store, "build")
    hidden = hide(store, summaries, "doc:erp")
    (after,) = table(store, "scope")
    assert hidden.gen == after["head_gen"] == before["head_gen"] + 1
    assert after["live_gen"] == before["live_gen"] and table(store, "build") == builds


def test_the_generation_is_listed_with_what_it_hid_and_a_repeat_takes_none(store: Store, summaries: Corpus) -> None:
    hidden = hide(store, summaries, "doc:erp", request_no=new_request(store, summaries, "PropagateDeletion"))
    first, *others = listing(store, summaries.scope)["generations"]
    assert (first["generation"], first["kind"], first["sources"]) == (hidden.gen, "delete", 3)
    assert first["build"] == summaries.build.build_id and [row["generation"] for row in others] == [1]
    assert set_generation(store, summaries.scope, hidden.gen).generation == hidden.gen


def test_two_repeats_at_once_take_one_generation(store: Store, summaries: Corpus, database: str) -> None:
    request_no = new_request(store, summaries)
    with ThreadPoolExecutor(2) as threads, store.connection() as connection:
        with connection.transaction():
            connection.execute(of_schema(store, "SELECT FROM {schema}.scope FOR NO KEY UPDATE"), {})
            asked = [threads.submit(hide, store, summaries, "doc:erp", request_no=request_no) for _ in range(2)]
            until(lambda: is_blocked(database, 2))
        first, second = (each.result(timeout=60) for each in asked)
    assert first == second and table(store, "scope")[0]["head_gen"] == first.gen


def test_what_rests_on_a_chunk_rests_on_its_source(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("doc"), derived("quote", "doc#0003"), derived("other", "doc-2#0001"))
    assert walk(store, corpus, "doc") == ["doc", "quote"]


def test_a_cycle_ends_and_the_order_of_rows_does_not_matter(store: Store, corpus: Corpus) -> None:
    edges = {"a": ["d"], "b": ["a"], "c": ["a", "b"], "d": ["c", "d", "elsewhere"], "e": ["f"], "f": ["e", "b#0001"]}
    ids = list(edges)
    random.Random(7).shuffle(ids)
    for source_id in ids:
        publish(store, corpus, derived(source_id, *edges[source_id]))
    assert walk(store, corpus, "a") == ["a", "b", "c", "d", "f", "e"]
    assert walk(store, corpus, "f") == ["f", "e"]


def test_a_replaced_version_still_counts_and_a_staged_one_does_not(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("doc"), derived("summary", "doc"))
    publish(store, corpus, derived("summary"))
    stage(store, corpus, derived("on its way", "doc"))
    assert walk(store, corpus, "doc") == ["doc", "summary"]


def test_another_tenant_is_not_met(store: Store, corpus: Corpus, database: str) -> None:
    other = make_corpus(store, "umbrella/library/handbook")
    for each in (corpus, other):
        publish(store, each, derived("doc"), derived("summary", "doc"))
    hide(store, corpus, "doc")
    assert not found(database, corpus)
    assert found(database, other, who("alice", tenant="umbrella")) == {"doc", "summary"}


@pytest.mark.parametrize("kind", ["chain", "star"])
def test_over_a_cap_nothing_is_written(store: Store, corpus: Corpus, kind: str) -> None:
    publish(store, corpus, derived("root"))
    edges = {"chain": chain(9), "star": star(IDS_MAX)}[kind]
    add_derived(store, corpus, edges)
    request_no = new_request(store, corpus)
    before = table(store, "scope"), table(store, "audit"), source_row(store, "root")
    with pytest.raises(LimitError, match={"chain": "more than 8 levels", "star": "More than 4,096 ids"}[kind]):
        hide(store, corpus, "root", request_no=request_no)
    assert not table(store, "tombstone")
    assert (table(store, "scope"), table(store, "audit"), source_row(store, "root")) == before


def test_what_just_fits_is_hidden(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("root"))
    add_derived(store, corpus, chain(8) + star(IDS_MAX - 9))
    hidden = hide(store, corpus, "root")
    assert len(hidden.ids) == hidden.tombstoned == IDS_MAX and hidden.ids[-1] == "chain-8"
    assert len(table(store, "tombstone")) == IDS_MAX


def test_a_thousand_are_hidden_in_one_transaction_of_few_statements(
    store: Store, corpus: Corpus, database: str
) -> None:
    publish(store, corpus, derived("root"))
    add_derived(store, corpus, star(1_000))
    request_no = new_request(store, corpus)
    with Store.open(database, max_size=1) as single:
        statements = carried_out(single, lambda: hide(single, corpus, "root", request_no=request_no))
    inside = statements[statements.index("BEGIN") : statements.index("COMMIT") + 1]
    assert (statements.count("BEGIN"), statements.count("COMMIT")) == (1, 1)
    assert len(inside) <= 26, inside
    assert len(table(store, "tombstone")) == 1_001


def test_edges_that_are_being_renamed_count_for_both_ids(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, derived("new"), derived("rewritten", "new"), derived("not yet", "old#0002"))
    assert walk(store, corpus, "new") == ["new", "rewritten"]
    forward = "INSERT INTO {schema}.forward (scope_id, from_id, to_id) VALUES (%(scope_id)s, 'old', 'new')"
    with store.connection() as connection:
        connection.execute(of_schema(store, forward), {"scope_id": corpus.build.scope_id})
    assert walk(store, corpus, "new") == ["new", "not yet", "rewritten"]
    assert walk(store, corpus, "old") == ["old", "not yet", "rewritten"]
    with pytest.raises(ValidationError, match="move of old to new has not ended"):
        hide(store, corpus, "new", "corrected")
    assert not table(store, "tombstone")
    with store.connection() as connection:
        connection.execute(of_schema(store, "UPDATE {schema}.forward SET is_done = true"), {})
    assert walk(store, corpus, "new") == ["new", "rewritten"]
