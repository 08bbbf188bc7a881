"""Who may read what: every gate stands before the limit, and what it keeps back leaves no trace."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headwater import Authorization, RetrievalResult
from tests.integration.retrieval.conftest import ALICE, Ask
from tests.integration.retrieval.corpus_rows import CorpusRows

BOB = Authorization(principal_id="bob", tenant_id="t1")


def found(result: RetrievalResult) -> list[str]:
    return [hit.source_id for hit in result.hits]


# --- grants


def test_forbidden_passages_do_not_crowd_out_the_allowed_one(corpus: CorpusRows, ask: Ask) -> None:
    for number in range(12):
        corpus.add(f"secret-{number}", "salaries of the board", readers=["user:bob"])
    corpus.add("open", "something of the board")

    assert found(ask("salaries of the board", candidates=5)) == ["open"]


@pytest.mark.parametrize(
    ("readers", "who", "may"),
    [
        (["user:alice"], ALICE, True),
        (["user:alice"], BOB, False),
        (["user:Alice"], ALICE, False),
        (["user:alic"], ALICE, False),
        ([], ALICE, False),
        (["everyone"], ALICE, True),
        (["everyone"], Authorization(principal_id="a stranger", tenant_id="t1"), True),
        (["group:hr"], Authorization(principal_id="bob", tenant_id="t1", group_ids=("hr",)), True),
        (["group:hr"], Authorization(principal_id="bob", tenant_id="t1", group_ids=("eng", "it")), False),
        (["group:hr"], Authorization(principal_id="hr", tenant_id="t1"), False),
        (["user:hr"], Authorization(principal_id="bob", tenant_id="t1", group_ids=("hr",)), False),
        (["group:hr", "user:carol"], Authorization(principal_id="carol", tenant_id="t1"), True),
        (["user:everyone"], ALICE, False),
        (
            ["group:g31"],
            Authorization(principal_id="bob", tenant_id="t1", group_ids=tuple(f"g{n}" for n in range(32))),
            True,
        ),
    ],
)
def test_names_compare_exactly(corpus: CorpusRows, ask: Ask, readers: list[str], who: Authorization, may: bool) -> None:
    corpus.add("one", "text", readers=readers)

    assert bool(found(ask("text", authorization=who))) is may


def test_everyone_is_everyone_of_the_tenant(corpus: CorpusRows, ask: Ask) -> None:
    source = corpus.add("one", "text", readers=[])
    corpus.execute(
        "INSERT INTO {}.grantee (tenant_id, kind, name) VALUES ('t2', 'everyone', '') ON CONFLICT DO NOTHING"
    )
    corpus.execute(
        "UPDATE {}.source SET grants = ARRAY(SELECT grantee_id FROM {}.grantee WHERE tenant_id = 't2') WHERE source_pk = %s",
        source.source_pk,
    )

    assert found(ask("text")) == []


@pytest.mark.parametrize(("pinned", "may"), [(None, True), (3, True), (2, False), (4, False), (9, False)])
def test_a_pinned_access_version_must_be_the_source_s(
    corpus: CorpusRows, ask: Ask, pinned: int | None, may: bool
) -> None:
    corpus.add("one", "text", access_version=3)

    assert bool(found(ask("text", authorization=ALICE.model_copy(update={"access_version": pinned})))) is may


def test_a_revoked_source_is_gone_at_once(corpus: CorpusRows, ask: Ask) -> None:
    source = corpus.add("one", "text")
    assert found(ask("text")) == ["one"]

    corpus.grant(source)

    assert found(ask("text")) == []


def test_a_grant_ends_by_itself(corpus: CorpusRows, ask: Ask) -> None:
    now = datetime.now(UTC)
    corpus.grant_until(corpus.add("over", "text", readers=[]), "user:alice", now - timedelta(seconds=1))
    corpus.grant_until(corpus.add("running", "text", readers=[]), "user:alice", now + timedelta(hours=1))
    corpus.grant_until(corpus.add("another's", "text", readers=[]), "user:bob", now + timedelta(hours=1))

    assert found(ask("text")) == ["running"]


def test_a_grant_without_end_outlives_one_that_ended(corpus: CorpusRows, ask: Ask) -> None:
    source = corpus.add("both", "text")
    corpus.grant_until(source, "user:alice", datetime.now(UTC) - timedelta(days=1))

    assert found(ask("text")) == ["both"]


# --- visibility, deletion, tombstones, labels


def test_a_revision_is_shown_within_its_span_only(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("edited", "old text", gen_from=1, gen_to=3)
    corpus.add("edited", "new text", gen_from=3)

    texts = []
    for generation in (0, 2, 3, 4):
        corpus.point(generation)
        texts.append([hit.text for hit in ask("text").hits])

    assert texts == [[], ["old text"], ["new text"], ["new text"]]


def test_a_build_that_is_not_live_is_not_shown(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("live", "text")
    green = corpus.add("green", "text")
    corpus.execute(
        "INSERT INTO {}.build (scope_id, space_id, state) SELECT scope_id, space_id, 'building' FROM {}.build"
        " WHERE build_id = %s",
        corpus.build_id,
    )
    corpus.execute("UPDATE {}.span SET build_id = (SELECT max(build_id) FROM {}.build) WHERE rev_id = %s", green.rev_id)

    assert found(ask("text")) == ["live"]


def test_a_deletion_hides_what_began_before_it_at_every_pointer(corpus: CorpusRows, ask: Ask) -> None:
    source = corpus.add("gone", "old text", gen_from=1, gen_to=4)
    corpus.add("gone", "text again", gen_from=6)
    corpus.delete(source, gen=5)

    shown = []
    for generation in (2, 5, 6):
        corpus.point(generation)
        shown.append([hit.text for hit in ask("text").hits])

    assert shown == [[], [], ["text again"]]


@pytest.mark.parametrize(
    ("reason", "itself"), [("corrected", True), ("revoked", False), ("forgotten", False), ("legal_hold", False)]
)
def test_a_tombstone_hides_its_source_and_what_rests_on_it(
    corpus: CorpusRows, ask: Ask, reason: str, itself: bool
) -> None:
    corpus.add("root", "root text")
    corpus.add("summary", "text about the root", parents=["other", "root"])
    corpus.add("of-a-passage", "text about a passage", parents=["root#0003"])
    corpus.add("independent", "text about nothing")
    corpus.tombstone("root", reason)

    assert sorted(found(ask("text"))) == ["independent", *["root"] * itself]


def test_a_tombstone_on_a_passage_hides_what_rests_on_that_passage(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("of-3", "text", parents=["root#0003"])
    corpus.add("of-4", "text", parents=["root#0004"])
    corpus.tombstone("root#0003", "revoked")

    assert found(ask("text")) == ["of-4"]


def test_a_tombstone_of_another_corpus_hides_nothing_here(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("one", "text")
    corpus.tombstone("something else", "revoked")
    other = CorpusRows(corpus.connection, corpus.scope.model_copy(update={"resource_id": "else"}), corpus.embedder)
    other.tombstone("one", "revoked")

    assert found(ask("text")) == ["one"]


@pytest.mark.parametrize(
    ("of_source", "of_revision", "may"),
    [("public", "public", True), ("internal", "confidential", True), ("restricted", "public", False),
     ("public", "restricted", False), ("restricted", "restricted", False)],
)  # fmt: skip
def test_the_greater_label_counts_and_restricted_is_not_shown(
    corpus: CorpusRows, ask: Ask, of_source: str, of_revision: str, may: bool
) -> None:
    source = corpus.add("one", "text", sensitivity=of_revision)
    corpus.label(source, of_source)

    assert bool(found(ask("text"))) is may


# --- no trace


WITHHELD: list[Any] = [
    lambda corpus, source: corpus.grant(source),
    lambda corpus, source: corpus.delete(source, gen=1),
    lambda corpus, source: corpus.tombstone(source.source_id, "forgotten"),
    lambda corpus, source: corpus.label(source, "restricted"),
]


@pytest.mark.parametrize("withhold", WITHHELD, ids=["revoked", "deleted", "forgotten", "restricted"])
def test_what_is_withheld_leaves_no_trace(
    corpus: CorpusRows, ask: Ask, caplog: pytest.LogCaptureFixture, withhold: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    corpus.add("open", "a passage on other things")
    alone = ask("zanzibar", top_k=3)
    secret = corpus.add(
        "zanzibar-papers", "zanzibar " * 9, title="Zanzibar", uri="z://zanzibar", metadata={"z": "zanzibar"}
    )
    withhold(corpus, secret)

    result = ask("zanzibar", top_k=3)

    shown = result.model_dump(
        exclude={"query": True, "hits": {"__all__": {"provenance"}}, "citations": {"__all__": {"provenance"}}}
    )
    before = alone.model_dump(
        exclude={"query": True, "hits": {"__all__": {"provenance"}}, "citations": {"__all__": {"provenance"}}}
    )
    assert shown == before and found(result) == ["open"]
    assert "zanzibar" not in result.model_dump_json(exclude={"query"}).lower()
    assert "zanzibar" not in caplog.text.lower()


@pytest.mark.parametrize("withhold", WITHHELD, ids=["revoked", "deleted", "forgotten", "restricted"])
def test_what_is_withheld_takes_no_place_among_the_candidates(corpus: CorpusRows, ask: Ask, withhold: Any) -> None:
    for number in range(12):
        withhold(corpus, corpus.add(f"near-{number}", "the sought words"))
    corpus.add("far", "words")

    assert found(ask("the sought words", candidates=5)) == ["far"]
