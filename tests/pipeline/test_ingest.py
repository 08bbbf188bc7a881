"""What becomes of documents that a host pushes: published, unchanged, refused, each by itself and all together."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from activities.parsers.pool import ParserPool
from activities.prepare_page import ATTEMPTS
from activities.store import Store
from activities.store.pages import ingest, staging
from headwater.models import Authorization, Scope
from headwater.retriever import Retriever
from tests.integration.asked import delete_sources
from tests.pipeline.by_hand import refusal
from tests.pipeline.harness import SCOPE, SPEC, states, visible
from tests.pipeline.pushing import MAX_BYTES, Pusher
from tests.unit.small_pdf import make_pdf, words

HASH = "0123456789abcdef" * 2
ONE, TWO = "The first passage of the document.", "The second passage of the document."
OTHER = Scope(tenant_id="t2", resource_id="docs", corpus_id="handbook")
EVERYONE = {"everyone": True, "access_version": 1}


@pytest.fixture(scope="module")
def parser() -> Iterator[ParserPool]:
    with ParserPool(1) as pool:
        yield pool


@pytest.fixture(scope="module")
def one_store(postgres: str, template_db: str) -> Iterator[Store]:
    """One database for all these tests: each begins with empty tables, and with plans that were made for the one before."""
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE pushes TEMPLATE {template_db} STRATEGY = FILE_COPY".encode())
        try:
            with Store.open(make_conninfo(postgres, dbname="pushes")) as store:
                yield store
        finally:
            admin.execute("DROP DATABASE pushes WITH (FORCE)")


@pytest.fixture
def store(one_store: Store) -> Store:
    with one_store.connection() as connection:
        # Chunks refer to nothing, so that they are not taken along.
        connection.execute(
            "TRUNCATE headwater.scope, headwater.space, headwater.grantee, headwater.chunk RESTART IDENTITY CASCADE"
        )
    return one_store


@pytest.fixture
def host(store: Store, parser: ParserPool) -> Pusher:
    return Pusher(store, parser)


def grants(host: Pusher, source_id: str) -> tuple[list[str], int]:
    """Names that are granted, and the version of the grants."""
    names, version = host.rows(f"""
        SELECT ARRAY(SELECT kind || name FROM headwater.grantee WHERE grantee_id = ANY (s.grants) ORDER BY 1), access_version
          FROM headwater.source s WHERE source_id = '{source_id}'""")[0]
    return names, version


def staged(host: Pusher) -> int:
    """Contents and documents that are still held for a request."""
    counts = host.rows(
        "SELECT (SELECT count(*) FROM headwater.staged_content) + (SELECT count(*) FROM headwater.ingest_item)"
    )
    return int(counts[0][0])


def test_what_is_pushed_together_is_shown_together_in_the_order_it_was_sent(host: Pusher, store: Store) -> None:
    page = host.accept({"source_id": "b", "text": "Beta."}, {"source_id": "a", "text": "Alpha.", "grants": EVERYONE})
    host.stage(page)
    assert visible(store) == {}
    result = host.end(page, host.publish(page).generation)
    assert [(each.source_id, each.revision, each.indexed, each.deleted, each.state) for each in result.sources] == [
        ("b", 1, 1, 0, "indexed"), ("a", 1, 1, 0, "indexed")
    ]  # fmt: skip
    assert visible(store) == {"a": "Alpha.", "b": "Beta."}
    assert result.generation == 1
    assert (grants(host, "a"), grants(host, "b")) == ((["everyone"], 1), ([], 0))
    assert staged(host) == 0
    assert host.rows("SELECT actor, action, detail ->> 'sources' FROM headwater.audit") == [("tests", "ingest", "2")]


@pytest.mark.parametrize("content_hash", [HASH, None], ids=["the host's hash", "the same bytes"])
def test_what_is_unchanged_costs_nothing_and_still_gets_its_grants(
    host: Pusher, store: Store, content_hash: str | None
) -> None:
    first = host.push_one("a", ONE, content_hash=content_hash)
    again = host.push_one("a", ONE, content_hash=content_hash and content_hash.upper(), grants=EVERYONE)
    assert (first.indexed, first.deleted, first.skipped) == (1, 0, False)
    assert (again.indexed, again.deleted, again.skipped, again.revision, again.state) == (0, 0, True, 1, "indexed")
    assert host.embedded == [ONE]
    assert host.rows("SELECT head_gen, live_gen FROM headwater.scope") == [(1, 1)]
    assert grants(host, "a") == (["everyone"], 1)


def test_a_known_hash_leaves_the_content_unread(host: Pusher, store: Store) -> None:
    host.push_one("a", ONE, content_hash=HASH)
    assert host.push_one("a", TWO, content_hash=HASH).skipped
    assert host.push_one("a", TWO).revision == 2
    assert not host.push_one("a", ONE, content_hash=HASH).skipped
    assert visible(store) == {"a": ONE}


def test_of_a_changed_document_only_the_changed_passages_are_embedded(host: Pusher, store: Store) -> None:
    host.push_one("a", f"{ONE}\n\n{TWO}")
    vectors = "SELECT emb::text FROM headwater.chunk WHERE chunk_no = 1"
    before = host.rows(vectors)
    host.embedded.clear()
    changed = host.push_one("a", f"{ONE}\n\nAnother second passage.")
    assert (changed.deleted, changed.indexed, changed.revision) == (2, 2, 2)
    assert host.embedded == ["Another second passage."]
    assert host.rows(vectors) == before * 2
    assert visible(store) == {"a": f"{ONE}\n--\nAnother second passage."}


def test_what_is_said_of_a_document_is_part_of_it(host: Pusher) -> None:
    said: list[dict[str, Any]] = [
        {"title": "A title"},
        {"title": "A title", "uri": "https://wiki/a"},
        {"title": "A title", "uri": "https://wiki/a", "metadata": {"lang": ["en"], "year": 2026}},
        {"title": "A title", "lineage": ["b", "c#0002", "b"]},
        {"title": "A title", "lineage": ["b"]},
        {},
        {"media_type": "text/markdown"},
    ]
    host.push_one("a", ONE, content_hash=HASH)
    for revision, each in enumerate(said, start=2):
        outcome = host.push_one("a", ONE, content_hash=HASH, **each)
        assert (outcome.revision, outcome.indexed, outcome.skipped) == (revision, 1, False), each
        assert host.push_one("a", ONE, **each).skipped, each
    assert host.embedded == [ONE]
    assert host.rows("SELECT title, uri, metadata FROM headwater.document_version WHERE revision = 4") == [
        ("A title", "https://wiki/a", {"lang": ["en"], "year": 2026})
    ]
    assert host.rows("SELECT ord, parent_id, parent_source FROM headwater.lineage ORDER BY version_id, ord") == [
        (1, "b", "b"), (2, "c#0002", "c"), (1, "b", "b")
    ]  # fmt: skip
    derived = (
        "SELECT d.revision FROM headwater.span s JOIN headwater.document_version d USING (version_id) WHERE is_derived"
    )
    assert host.rows(f"{derived} ORDER BY 1") == [(5,), (6,)]


def test_a_label_counts_whatever_its_case_and_one_that_is_unknown_hides(host: Pusher) -> None:
    for label in ("public", " Confidential ", None, "top secret", "RESTRICTED"):
        host.push_one("a", ONE, **({} if label is None else {"sensitivity": label}))
    labels = host.rows("SELECT revision, sensitivity FROM headwater.document_version ORDER BY 1")
    assert labels == [(1, 0), (2, 2), (3, 1), (4, 3)]
    assert host.embedded == [ONE] * 4, "a vector is taken again for the same label only"
    assert host.rows("SELECT sensitivity FROM headwater.source") == [(3,)]


def test_larger_content_is_staged_before_and_gone_afterwards(host: Pusher, store: Store) -> None:
    contents = {
        "markdown": host.hand_in(b"# Leave\n\nThirty days.", "text/markdown"),
        "pdf": host.hand_in(make_pdf([words("A page of words.")]), "application/octet-stream"),
        "html": host.hand_in("<title>News</title><p>Caf\xe9.</p>".encode("latin-1"), "text/html; charset=iso-8859-1"),
    }
    unused = host.hand_in(b"nobody names this")
    result = host.push(*({"source_id": name, "staged": content} for name, content in contents.items()))
    assert [(each.source_id, each.state) for each in result.sources] == [(name, "indexed") for name in contents]
    assert visible(store) == {"markdown": "# Leave\n\nThirty days.", "pdf": "A page of words.", "html": "Café."}
    assert host.rows("SELECT content_id::text FROM headwater.staged_content") == [(unused,)]
    titles = (
        "SELECT source_id, title FROM headwater.document_version JOIN headwater.source USING (source_pk) ORDER BY 1"
    )
    assert host.rows(titles) == [("html", "News"), ("markdown", "Leave"), ("pdf", None)]


def test_inline_text_is_what_was_sent_whatever_charset_it_had_before(host: Pusher, store: Store) -> None:
    for media_type in ("text/html; charset=iso-8859-1", "text/plain; charset=utf-16-le"):
        host.push_one("a", "Café.", media_type=media_type)
        assert visible(store) == {"a": "Café."}


def test_one_bad_document_costs_itself_and_keeps_its_last_good_text(host: Pusher, store: Store) -> None:
    host.push({"source_id": "a", "text": "Alpha."}, {"source_id": "b", "text": "Beta."})
    result = host.push(
        {"source_id": "a", "staged": host.hand_in(b"PK\x03\x04" + bytes(99)), "content_hash": HASH},
        {"source_id": "b", "staged": host.hand_in(bytes(MAX_BYTES + 1))},
        {"source_id": "c", "text": "Gamma."},
        {"source_id": "d", "text": " \n"},
    )
    assert [(each.source_id, each.state, each.revision, each.indexed) for each in result.sources] == [
        ("a", "unsupported", 1, 0), ("b", "too_large", 1, 0), ("c", "indexed", 1, 1), ("d", "empty", 1, 0)
    ]  # fmt: skip
    assert result.sources[1].reason == "It has 100,001 bytes; at most 100,000 are read."
    assert visible(store) == {"a": "Alpha.", "b": "Beta.", "c": "Gamma.", "d": ""}
    assert states(store)["a"][0] == "unsupported"
    assert staged(host) == 0
    assert host.push_one("a", "Alpha.").skipped, "the text that was readable all the time"
    assert states(store)["a"] == ("indexed", None)
    host.push_one("a", staged=host.hand_in(b"PK\x03\x04" + bytes(99), "text/plain"), content_hash=HASH)
    assert host.push_one("a", "Anew.", content_hash=HASH).revision == 2, "a failure is no text"


def test_a_passage_that_cannot_be_embedded_leaves_the_old_text(host: Pusher, store: Store) -> None:
    def refuse(texts: Sequence[str]) -> None:
        if any("gobbledygook" in text for text in texts):
            raise ValueError(f"cannot embed {texts}")

    host.push_one("a", ONE)
    host.heard = refuse
    result = host.push({"source_id": "a", "text": "gobbledygook"}, {"source_id": "b", "text": "Beta."})
    assert [(each.state, each.revision, each.indexed) for each in result.sources] == [
        ("quarantined", 1, 0), ("indexed", 1, 1)
    ]  # fmt: skip
    assert "gobbledygook" not in result.model_dump_json()
    assert visible(store) == {"a": ONE, "b": "Beta."}


def test_a_fault_in_the_middle_of_publishing_leaves_everything_as_it_was(host: Pusher, store: Store) -> None:
    host.push_one("a", ONE, grants=EVERYONE)
    host.do(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$",
        "CREATE TRIGGER refuse BEFORE INSERT ON headwater.span FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    nobody = {"access_version": 2}
    try:
        page = host.accept({"source_id": "a", "text": TWO, "grants": nobody}, {"source_id": "b", "text": "Beta."})
        host.stage(page)
        assert refusal(lambda: host.publish(page))[0] == "StoreError"
        assert visible(store) == {"a": ONE}
        assert grants(host, "a") == (["everyone"], 1)
        assert host.rows("SELECT head_gen, live_gen FROM headwater.scope") == [(1, 1)]
    finally:
        host.do("DROP TRIGGER refuse ON headwater.span", "DROP FUNCTION refuse")
    host.publish(page)
    assert visible(store) == {"a": TWO, "b": "Beta."}
    assert grants(host, "a") == ([], 2)


def test_a_text_that_was_accepted_later_is_never_overtaken(host: Pusher, store: Store) -> None:
    older = host.accept({"source_id": "a", "text": ONE}, {"source_id": "b", "text": "Beta."})
    newer = host.accept({"source_id": "a", "text": TWO})
    host.stage(newer)
    host.stage(older)
    assert host.end(newer, host.publish(newer).generation).sources[0].revision == 1
    late = host.end(older, host.publish(older).generation).sources
    assert (late[0].state, late[0].revision, late[0].indexed) == ("failed", 1, 0)
    assert late[0].reason is not None and late[0].reason.startswith("superseded: ")
    assert (late[1].state, late[1].revision) == ("indexed", 1)
    assert visible(store) == {"a": TWO, "b": "Beta."}


def test_another_revision_than_expected_is_a_conflict_and_not_an_overwrite(host: Pusher, store: Store) -> None:
    assert host.push_one("a", ONE, expected_revision=0).revision == 1
    first = host.accept({"source_id": "a", "text": "Mine.", "expected_revision": 1})
    second = host.accept({"source_id": "a", "text": "Yours.", "expected_revision": 1})
    host.stage(first)
    host.stage(second)
    assert host.end(first, host.publish(first).generation).sources[0].revision == 2
    loser = host.end(second, host.publish(second).generation).sources[0]
    assert loser.conflict is not None
    assert (loser.conflict.expected, loser.conflict.actual, loser.revision, loser.indexed) == (1, 2, 2, 0)
    assert visible(store) == {"a": "Mine."}
    new = host.push_one("a", "Anew.", expected_revision=0)
    assert new.conflict is not None and (new.conflict.expected, new.conflict.actual) == (0, 2)
    assert host.push_one("b", "Beta.", expected_revision=3).conflict is not None
    assert visible(store) == {"a": "Mine."}


def test_a_deletion_beats_what_was_accepted_before_it(host: Pusher, store: Store) -> None:
    host.push({"source_id": "a", "text": ONE}, {"source_id": "b", "text": "Beta."})
    page = host.accept({"source_id": "a", "text": TWO}, {"source_id": "b", "text": "Beta."})
    delete_sources(store, host.rows("SELECT scope_id FROM headwater.scope")[0][0], ["a", "b"])
    host.stage(page)
    outcomes = host.end(page, host.publish(page).generation).sources
    assert [(each.state, each.revision, each.indexed) for each in outcomes] == [("failed", 0, 0)] * 2
    assert visible(store) == {}
    again = host.push_one("a", TWO, grants=EVERYONE | {"access_version": 9})
    assert (again.indexed, again.state) == (1, "indexed")
    assert visible(store) == {"a": TWO}


def test_a_set_of_grants_that_is_too_wide_costs_its_document(host: Pusher, store: Store) -> None:
    host.push_one("a", ONE, grants=EVERYONE)
    wide = {"group_ids": [f"g{number}" for number in range(33)], "access_version": 2}
    result = host.push({"source_id": "a", "text": TWO, "grants": wide}, {"source_id": "b", "text": "Beta."})
    assert (result.sources[0].state, result.sources[0].reason, result.sources[0].revision) == (
        "denied", "too_many_grantees", 1
    )  # fmt: skip
    assert visible(store) == {"a": ONE, "b": "Beta."}
    assert grants(host, "a") == (["everyone"], 1)


def test_older_grants_than_the_stored_ones_are_a_conflict(host: Pusher, store: Store) -> None:
    host.push_one("a", ONE, grants={"access_version": 5, "principal_ids": ["alice"]})
    late = host.push_one("a", TWO, grants={"access_version": 4, "everyone": True})
    assert late.conflict is not None and (late.conflict.expected, late.conflict.actual) == (4, 5)
    assert visible(store) == {"a": ONE}
    assert grants(host, "a") == (["principalalice"], 5)


def test_tenants_know_nothing_of_each_other(host: Pusher, store: Store) -> None:
    foreign = host.hand_in(b"of another tenant", scope=OTHER)
    host.push({"source_id": "a", "text": ONE})
    host.push({"source_id": "a", "text": TWO}, scope=OTHER)
    kind, sentence = refusal(lambda: host.accept({"source_id": "a", "staged": foreign}))
    assert (kind, "was never opened here" in sentence) == ("InvalidInput", True)
    scope_id = host.rows("SELECT scope_id FROM headwater.scope WHERE tenant_id = 't2'")[0][0]
    delete_sources(store, scope_id, ["a"])
    assert (visible(store), visible(store, OTHER)) == ({"a": ONE}, {})


def test_content_that_cannot_be_used_refuses_the_whole_request(host: Pusher, store: Store) -> None:
    host.push_one("a", ONE)
    with store.connection() as connection:
        row = connection.execute("SELECT headwater.stage_open('t1', 'docs', 'handbook', 'text/plain')::text").fetchone()
    assert row is not None
    for content, why in (("00000000-0000-4000-8000-000000000000", "was not used for a day"), (row[0], "is not closed")):
        sources = {"source_id": "b", "text": "Beta."}, {"source_id": "c", "staged": content}
        kind, sentence = refusal(partial(host.accept, *sources))
        assert (kind, why in sentence, "sources.1.staged" in sentence) == ("InvalidInput", True, True)
    assert host.rows("SELECT count(*) FROM headwater.page") == [(1,)]
    assert visible(store) == {"a": ONE}


def test_content_that_another_request_names_too_is_kept_for_it(host: Pusher, store: Store) -> None:
    content = host.hand_in(ONE.encode())
    first = host.accept({"source_id": "a", "staged": content}, {"source_id": "b", "staged": content})
    second = host.accept({"source_id": "c", "staged": content})
    host.finish(first)
    host.finish(second)
    assert visible(store) == {"a": ONE, "b": ONE, "c": ONE}
    assert staged(host) == 0


def test_every_step_may_be_repeated(host: Pusher, parser: ParserPool, store: Store) -> None:
    sources = {"source_id": "a", "text": ONE}, {"source_id": "b", "text": TWO}
    pages = [host.accept(*sources, request_id="same") for _ in range(2)]
    assert pages[0] == pages[1]
    assert host.rows("SELECT count(*) FROM headwater.staged_content") == [(2,)]
    host.stage(pages[0])
    # The worker is gone, and another one begins anew.
    other = Pusher(store, parser)
    other.stage(other.accept(*sources, request_id="same"))
    published = [other.publish(pages[0]) for _ in range(2)]
    results = [other.end(pages[0], published[0].generation) for _ in range(2)]
    assert (published[0], results[0]) == (published[1], results[1])
    assert other.finish(other.accept(*sources, request_id="same")) == results[0]
    assert (sorted(host.embedded), other.embedded) == (sorted([ONE, TWO]), [])
    assert host.rows("SELECT count(*) FROM headwater.pointer_log") == [(1,)]
    assert [each.revision for each in results[0].sources] == [1, 1]


def test_what_was_forgotten_can_be_pushed_again_although_it_is_the_same(host: Pusher, store: Store) -> None:
    host.push_one("a", ONE, content_hash=HASH)
    host.do(
        "UPDATE headwater.scope SET head_gen = head_gen + 1",
        """INSERT INTO headwater.tombstone (scope_id, id, reason, gen, source_seq)
           SELECT scope_id, 'a', 'forgotten', head_gen, 1 FROM headwater.scope""",
    )
    again = host.push_one("a", ONE, content_hash=HASH)
    assert (again.skipped, again.indexed) == (False, 1)
    assert host.rows("SELECT count(*) FROM headwater.tombstone") == [(0,)]


@pytest.mark.parametrize("pinned", [False, True], ids=["rolled back", "pinned"])
def test_unchanged_means_what_publishing_would_replace(host: Pusher, store: Store, pinned: bool) -> None:
    host.push_one("a", ONE)
    host.push_one("a", TWO)
    host.do(f"UPDATE headwater.scope SET live_gen = 1, pinned = {pinned}")
    assert host.push_one("a", TWO if pinned else ONE).skipped
    assert not host.push_one("a", ONE if pinned else TWO).skipped


def test_an_id_that_a_connector_owns_is_refused(host: Pusher, store: Store) -> None:
    host.push_one("a", ONE)
    host.do(
        "INSERT INTO headwater.connector (scope_id, name, kind) SELECT scope_id, 'wiki', 'folder' FROM headwater.scope",
        "UPDATE headwater.source SET owner = (SELECT connector_id FROM headwater.connector)",
    )
    outcome = host.push_one("a", TWO)
    assert (outcome.state, outcome.reason) == (
        "failed", "This id belongs to connector wiki of the same corpus: delete it there first, or leave it out here."
    )  # fmt: skip
    assert visible(store) == {"a": ONE}


def test_a_host_needs_no_sources_at_all(host: Pusher) -> None:
    assert host.push().sources == ()


def test_old_content_that_is_named_at_last_is_not_collected(host: Pusher, store: Store) -> None:
    content = host.hand_in(ONE.encode())
    ago = "now() - interval '3 days'"
    host.do(f"UPDATE headwater.staged_content SET opened_at = {ago}, closed_at = {ago}")
    page = host.accept({"source_id": "a", "staged": content})
    # What a collector that looked before the request was accepted finds when it looks again.
    host.do("DELETE FROM headwater.staged_content WHERE closed_at < now() - interval '1 day'")
    assert host.finish(page).sources[0].state == "indexed"


def test_a_document_that_ends_the_worker_is_given_up_after_three_attempts(host: Pusher, store: Store) -> None:
    page = host.accept({"source_id": "a", "text": ONE}, {"source_id": "b", "text": TWO})
    for _ in range(ATTEMPTS):
        # A worker began with this one, alone, and nothing was heard of it.
        opened = staging.open_page(store, page.page_id, fence=None)
        staging.open_items(store, opened, excused=False)
        ingest.start_items(store, opened, [0])
    outcomes = host.finish(page).sources
    assert (outcomes[0].state, outcomes[1].state) == ("quarantined", "indexed")
    assert outcomes[0].reason == "Reading it ended the worker 3 times; it is tried again when its version changes."
    assert host.push_one("a", ONE).state == "indexed", "somebody who sends it again means it"


def test_readers_are_shown_what_hosts_said_of_their_documents(host: Pusher, store: Store) -> None:
    shown = {"title": "Leave", "uri": "wiki://leave", "metadata": {"lang": "en"}}
    host.push(
        {"source_id": "a", "text": ONE, "grants": EVERYONE, **shown},
        {"source_id": "b", "text": ONE, "grants": EVERYONE, "sensitivity": "who knows"},
        {"source_id": "c", "text": ONE},
    )
    assert isinstance(store.pool.conninfo, str)
    with Retriever.connect(store.pool.conninfo, embedder=SPEC) as retriever:
        answer = retriever.retrieve(
            "the first passage",
            scope=SCOPE,
            authorization=Authorization(principal_id="alice", tenant_id=SCOPE.tenant_id),
        )
    hit, citation = answer.hits[0], answer.citations[0]
    assert [each.source_id for each in answer.hits] == ["a"]
    assert (hit.title, hit.metadata["lang"], hit.provenance.provider) == ("Leave", "en", "host")
    assert (citation.title, citation.uri, citation.revision) == ("Leave", "wiki://leave", 1)


def test_a_page_whose_build_was_replaced_meanwhile_is_staged_for_the_new_one(host: Pusher, store: Store) -> None:
    page = host.accept({"source_id": "a", "text": ONE, "title": "A title", "lineage": ["b"]})
    host.stage(page)
    host.do(  # what a flip to a build in another space does
        """INSERT INTO headwater.space (embedder_spec, embedder_identity, dimensions, max_tokens, chunker)
           SELECT 'hash:32', replace(embedder_identity, '64', '32'), 32, max_tokens, chunker FROM headwater.space""",
        "UPDATE headwater.build SET state = 'retired'",
        "INSERT INTO headwater.build (scope_id, space_id) SELECT scope_id, 2 FROM headwater.scope",
        "UPDATE headwater.scope SET live_build = 2",
    )
    assert host.publish(page).is_stale_build
    host.embed(page, host.restage(page))
    outcome = host.end(page, host.publish(page).generation).sources[0]
    assert (outcome.revision, outcome.indexed, outcome.state) == (1, 1, "indexed")
    assert visible(store) == {"a": ONE}
    assert host.rows("""
        SELECT vector_dims(c.emb), d.title, r.is_derived FROM headwater.chunk c JOIN headwater.revision r USING (rev_id)
          JOIN headwater.document_version d USING (version_id) WHERE r.build_id = 2""") == [(32, "A title", True)]


def test_what_was_unchanged_when_it_was_read_is_not_called_so_when_another_text_is_shown(
    host: Pusher, store: Store
) -> None:
    host.push_one("a", ONE)
    before = host.accept({"source_id": "a", "text": ONE})
    other = host.accept({"source_id": "a", "text": TWO})
    after = host.accept({"source_id": "a", "text": ONE})
    for page in (before, other, after):
        host.stage(page)
    host.publish(other)
    late, lost = (host.end(page, host.publish(page).generation).sources[0] for page in (before, after))
    assert (late.skipped, (late.reason or "")[:11]) == (False, "superseded:")
    assert (lost.skipped, lost.state, lost.revision) == (False, "failed", 2)
    assert (lost.reason or "").endswith("send it again.")
    assert visible(store) == {"a": TWO}
    assert host.push_one("a", ONE).revision == 3
