"""Collecting garbage: what can never be shown again is gone, text and vectors too, and nothing else."""

from collections.abc import Generator
from typing import Any, LiteralString, cast

import psycopg
import pytest

from activities.store import Store, StoreUnavailable
from activities.store.garbage.freeing import Freed
from activities.store.garbage.garbage import (
    STEPS,
    Keep,
    Progress,
    collect,
    collect_little,
    oldest_generation,
    scopes_after,
)
from activities.store.generations import listing, pin, set_generation
from activities.store.migrate import migrate
from activities.store.pages.publish import publish_page
from activities.store.requests import InvalidInput
from headwater.models import Scope
from tests.integration.builds_by_hand import flip, start_build
from tests.integration.seen import of_schema, overlaps, seen, source_row, table
from tests.integration.staging_factory import Corpus, Document, deleted, make_corpus, publish, stage
from workers.cli.one_sync import collect_little as collect_after_sync
from workers.settings import load_settings

NOW = Keep(generations=0, seconds=0)
WEEK = Keep(generations=0, seconds=7 * 86400)


@pytest.fixture
def three(store: Store, corpus: Corpus) -> Corpus:
    """Generation 1 has a and b, 2 replaces a, 3 adds c and replaces a again."""
    publish(store, corpus, Document("a", ["a1", "a1 too"]), Document("b", ["b1"]))
    publish(store, corpus, Document("a", ["a2"]))
    publish(store, corpus, Document("c", ["c3"]), Document("a", ["a3"]))
    return corpus


def gc(store: Store, corpus: Corpus, keep: Keep = NOW) -> Freed:
    freed = Freed()
    for progress in collect(store, corpus.scope, keep):
        freed += progress.freed
    return freed


def run(store: Store, statement: LiteralString, **parameters: Any) -> None:
    with store.connection() as connection:
        connection.execute(of_schema(store, statement), parameters)


def count(store: Store) -> dict[str, int]:
    return {name: len(table(store, name)) for name in ("revision", "span", "chunk", "document_version")}


def texts(store: Store) -> set[str]:
    """Every text that is stored anywhere."""
    return {row["text"] for row in table(store, "document_version")} | {row["body"] for row in table(store, "chunk")}


def tombstone(store: Store, corpus: Corpus, source_id: str, reason: str) -> None:
    run(
        store,
        "INSERT INTO {schema}.tombstone (scope_id, id, reason, gen) VALUES (%(scope)s, %(id)s, %(reason)s, 99)",
        scope=corpus.build.scope_id,
        id=source_id,
        reason=reason,
    )


def age(store: Store, name: LiteralString, column: LiteralString, days: float) -> None:
    run(
        store,
        "UPDATE {schema}." + name + " SET " + column + " = " + column + " - %(days)s * interval '1 day'",
        days=days,
    )


def test_what_was_replaced_before_the_oldest_kept_generation_is_gone(store: Store, three: Corpus) -> None:
    assert gc(store, three) == Freed(revisions=2, chunks=3, documents=2)
    assert texts(store) == {"a3", "b1", "c3"}
    assert count(store) == {"revision": 3, "span": 3, "chunk": 3, "document_version": 3}
    assert seen(store, three) == {"a": ["a3"], "b": ["b1"], "c": ["c3"]}
    with pytest.raises(InvalidInput, match=r"\(3 to 3 are\)"):
        set_generation(store, three.scope, 2)


def test_a_second_collection_finds_nothing(store: Store, three: Corpus) -> None:
    gc(store, three)
    before = [table(store, name) for name in ("scope", "build", "span", "revision", "pointer_log", "ingestion")]
    assert gc(store, three) == Freed()
    assert [table(store, name) for name in ("scope", "build", "span", "revision", "pointer_log", "ingestion")] == before


def test_so_many_generations_can_be_gone_back_to(store: Store, three: Corpus) -> None:
    for keep, oldest in ((100, 1), (2, 1), (1, 2), (0, 3)):
        gc(store, three, Keep(generations=keep, seconds=0))
        assert oldest_generation(store, three.scope) == oldest
    assert set_generation(store, three.scope, 3).generation == 3


def test_what_is_young_is_kept_however_many_there_are(store: Store, three: Corpus) -> None:
    assert gc(store, three, WEEK) == Freed()
    age(store, "pointer_log", "at", 8)
    publish(store, three, Document("b", ["b4"]))
    gc(store, three, WEEK)
    assert oldest_generation(store, three.scope) == 3  # what readers saw a week ago
    assert set_generation(store, three.scope, 3).generation == 3


@pytest.mark.parametrize("pinned", [True, False])
def test_the_pointer_keeps_what_it_shows(store: Store, three: Corpus, pinned: bool) -> None:
    set_generation(store, three.scope, 1)
    pin(store, three.scope, pinned=pinned)
    assert gc(store, three) == Freed()
    assert seen(store, three) == {"a": ["a1", "a1 too"], "b": ["b1"]}
    set_generation(store, three.scope, 2)
    gc(store, three)
    assert seen(store, three) == {"a": ["a2"], "b": ["b1"]}
    assert "a1" not in texts(store)


def test_publishing_goes_on_over_a_pin_after_collection(store: Store, three: Corpus) -> None:
    pin(store, three.scope, pinned=True)
    publish(store, three, Document("a", ["a4"]))
    publish(store, three, Document("a", ["a5"]))
    gc(store, three)
    assert seen(store, three)["a"] == ["a3"]
    assert pin(store, three.scope, pinned=False).generation == 5
    assert seen(store, three)["a"] == ["a5"]
    gc(store, three)
    assert texts(store) == {"a5", "b1", "c3"}


def test_a_fork_after_collection_shows_what_it_showed(store: Store, three: Corpus) -> None:
    set_generation(store, three.scope, 2)
    gc(store, three)
    publish(store, three, Document("d", ["d5"]))
    assert seen(store, three) == {"a": ["a2"], "b": ["b1"], "d": ["d5"]}
    gc(store, three)
    assert texts(store) == {"a2", "b1", "d5"}
    assert overlaps(store) == 0
    assert count(store)["span"] == 3  # of what the fork showed again, the first spans went


def test_a_deleted_source_is_gone_at_once_and_stays_fenced(store: Store, three: Corpus) -> None:
    late = stage(store, three, Document("a", ["late"]))
    publish(store, three, deleted("a"))
    freed = gc(store, three, Keep(generations=100, seconds=7 * 86400))
    assert freed == Freed(revisions=3, chunks=4, documents=3)
    assert texts(store) == {"b1", "c3", "late"}  # that page is on its way still
    assert publish_page(store, late, fence=three.fence).upserted == 0
    assert "a" not in seen(store, three)
    assert source_row(store, "a")["fence_gen"] == 4


def test_a_deletion_while_pinned_is_collected_at_once_too(store: Store, three: Corpus) -> None:
    set_generation(store, three.scope, 1)
    pin(store, three.scope, pinned=True)
    publish(store, three, deleted("b"))
    assert gc(store, three) == Freed(revisions=1, chunks=1, documents=1)
    assert seen(store, three) == {"a": ["a1", "a1 too"]}


def test_a_source_that_came_back_keeps_its_new_text(store: Store, three: Corpus) -> None:
    publish(store, three, deleted("a"))
    publish(store, three, Document("a", ["a again"]))
    gc(store, three, Keep(generations=100, seconds=7 * 86400))
    assert texts(store) == {"a again", "b1", "c3"}


def test_a_forgotten_source_is_gone_at_once(store: Store, three: Corpus) -> None:
    tombstone(store, three, "b", "forgotten")
    assert gc(store, three, Keep(generations=100, seconds=7 * 86400)) == Freed(revisions=1, chunks=1, documents=1)
    assert "b1" not in texts(store)


def test_what_is_held_keeps_its_text(store: Store, three: Corpus) -> None:
    tombstone(store, three, "a", "legal_hold")
    publish(store, three, deleted("a"))
    assert gc(store, three) == Freed()
    assert {"a1", "a2", "a3", "a1 too"} <= texts(store)


def test_held_texts_outlive_their_build(store: Store, three: Corpus) -> None:
    flip(store, three, start_build(store, three))
    tombstone(store, three, "a", "legal_hold")
    gc(store, three)
    assert {row["text"] for row in table(store, "document_version")} == {"a1\n\na1 too", "a2", "a3", "b1", "c3"}


def test_what_was_staged_and_left_is_gone_after_a_day(store: Store, three: Corpus) -> None:
    page = stage(store, three, Document("d", ["never published"]))
    age(store, "revision", "staged_at", 2)
    assert "never published" in texts(store) and gc(store, three, WEEK) == Freed()  # its page is open
    run(store, "DELETE FROM {schema}.page WHERE page_id = %(page)s", page=page)
    assert gc(store, three, WEEK) == Freed(revisions=1, chunks=1, documents=1)
    assert "never published" not in texts(store)


def test_what_was_staged_today_is_kept(store: Store, three: Corpus) -> None:
    page = stage(store, three, Document("d", ["on its way"]))
    run(store, "DELETE FROM {schema}.page WHERE page_id = %(page)s", page=page)
    assert gc(store, three) == Freed(revisions=2, chunks=3, documents=2)
    assert "on its way" in texts(store)


def test_pages_of_a_pass_that_ended_early_go_with_what_they_staged(store: Store, three: Corpus) -> None:
    stage(store, three, Document("d", ["never published"]))
    age(store, "revision", "staged_at", 2)
    age(store, "page", "at", 2)
    assert gc(store, three, WEEK) == Freed()  # somebody has the lease
    run(store, "UPDATE {schema}.checkpoint SET owner = NULL, run = NULL, lease_until = NULL")
    assert gc(store, three, WEEK) == Freed(revisions=1, chunks=1, documents=1)
    assert {row["state"] for row in table(store, "page")} == {"published"}


def test_pages_of_hosts_go_a_day_after_their_answer(store: Store, three: Corpus) -> None:
    publish_hosts = (
        "INSERT INTO {schema}.request (scope_id, workflow, request_id, payload_sha256, result) "
        "VALUES (%(scope)s, 'IngestSources', %(id)s, '', %(result)s)"
    )
    run(store, publish_hosts, scope=three.build.scope_id, id="answered", result="{}")
    run(store, publish_hosts, scope=three.build.scope_id, id="open", result=None)
    for state in ("published", "listed"):
        run(
            store,
            "INSERT INTO {schema}.page (build_id, kind, state, request_no, at) SELECT %(build)s, 'ingest', %(state)s, request_no, "
            "now() - interval '2 days' FROM {schema}.request WHERE request_id = CASE %(state)s WHEN 'listed' THEN 'open' ELSE 'answered' END",
            build=three.build.build_id,
            state=state,
        )
    gc(store, three)
    assert [row["state"] for row in table(store, "page") if row["kind"] == "ingest"] == ["listed"]


def test_content_that_nobody_used_for_a_day_is_gone(store: Store, three: Corpus) -> None:
    for _ in range(2):
        run(
            store,
            "WITH c AS (INSERT INTO {schema}.staged_content (scope_id, media_type) VALUES (%(scope)s, 'text/plain') "
            "RETURNING content_id) INSERT INTO {schema}.staged_part (content_id, part, data) SELECT content_id, 0, 'x' FROM c",
            scope=three.build.scope_id,
        )
    run(store, "UPDATE {schema}.staged_content SET opened_at = now() - interval '2 days' WHERE ctid = '(0,1)'")
    assert gc(store, three, WEEK) == Freed(staged=1)
    assert len(table(store, "staged_content")) == len(table(store, "staged_part")) == 1


def test_requests_are_answered_for_thirty_days(store: Store, three: Corpus) -> None:
    requests = [
        ("answered", 29, "{}", "w"),
        ("answered long ago", 31, "{}", "w"),
        ("waiting for an outage to end", 31, None, "w"),
        ("of a worker that is dead", 91, None, "w"),
        ("failed, and never sent again", 31, None, None),
    ]
    for name, days, result, worker in requests:
        run(
            store,
            "INSERT INTO {schema}.request (scope_id, workflow, request_id, payload_sha256, result, at, workflow_id, run_id) "
            "VALUES (%(scope)s, 'DeleteSources', %(name)s, '', %(result)s, now() - %(days)s * interval '1 day', %(worker)s, %(worker)s)",
            scope=three.build.scope_id,
            name=name,
            result=result,
            days=days,
            worker=worker,
        )
    assert gc(store, three, WEEK) == Freed(requests=3)
    assert {row["request_id"] for row in table(store, "request")} == {"answered", "waiting for an outage to end"}


def test_the_log_keeps_what_says_which_build_shows_what(store: Store, three: Corpus) -> None:
    with store.connection() as connection:  # generations 4 to 6 have no rows of their own
        connection.execute("UPDATE headwater.scope SET head_gen = 6")
    publish(store, three, Document("d", ["d7"]))
    gc(store, three, Keep(generations=2, seconds=0))
    assert sorted(row["gen"] for row in table(store, "pointer_log")) == [3, 7]
    assert oldest_generation(store, three.scope) == 5
    assert set_generation(store, three.scope, 5).generation == 5
    assert seen(store, three) == {"a": ["a3"], "b": ["b1"], "c": ["c3"]}


def test_status_of_what_nobody_holds_is_gone(store: Store, three: Corpus) -> None:
    run(
        store,
        "WITH s AS (INSERT INTO {schema}.source (scope_id, source_id) VALUES (%(scope)s, 'listed once') RETURNING source_pk) "
        "INSERT INTO {schema}.ingestion (source_pk, state, updated_at) SELECT source_pk, 'pending', now() - interval '2 days' FROM s",
        scope=three.build.scope_id,
    )
    gc(store, three)
    assert {row["state"] for row in table(store, "ingestion")} == {"indexed"}


@pytest.mark.parametrize("slab", [0, 7])
def test_a_retired_build_goes_when_no_generation_shows_it(store: Store, three: Corpus, slab: int) -> None:
    big = flip(store, three, start_build(store, three, slab=slab))
    small = flip(store, big, start_build(store, big))
    assert gc(store, small, Keep(generations=1, seconds=0)).builds == 1  # the first; the second can be gone back to
    assert len(table(store, "revision")) == 6
    assert gc(store, small) == Freed(revisions=3, chunks=3, builds=1)
    assert [row["slab"] for row in table(store, "chunk")] == [0, 0, 0]
    with store.connection() as connection:
        row = connection.execute("SELECT to_regclass('headwater.chunk_s7')").fetchone()
    assert row == (None,)
    run(store, "DELETE FROM {schema}.page")  # as the next pass does: the last that named the first build
    gc(store, small)
    assert {row["build_id"] for row in table(store, "build")} == {small.build.build_id}
    assert seen(store, small) == {"a": ["a3"], "b": ["b1"], "c": ["c3"]}


def test_a_build_with_a_partition_goes_in_a_schema_of_any_name(database: str) -> None:
    schema = "50% of %s"
    migrate(database, schema)
    with Store.open(database, schema=schema) as store:
        corpus = make_corpus(store)
        publish(store, corpus, Document("a", ["a1"]))
        big = flip(store, corpus, start_build(store, corpus, slab=7))
        small = flip(store, big, start_build(store, big))
        assert gc(store, small).builds == 2
        with store.connection() as connection:
            row = connection.execute("SELECT count(*) FROM pg_class WHERE relname = 'chunk_s7'").fetchone()
        assert row == (0,)
        assert seen(store, small) == {"a": ["a1"]}


def test_generations_of_a_dropped_build_stay_known_to_be_gone(store: Store, three: Corpus) -> None:
    green = flip(store, three, start_build(store, three))  # generation 4
    publish(store, green, Document("d", ["d5"]))
    set_generation(store, three.scope, 3)
    publish(store, three, Document("e", ["e6"]))  # blue again
    run(store, "UPDATE {schema}.build SET state = 'dropping' WHERE state = 'retired'")
    assert gc(store, three, Keep(generations=100, seconds=0)).builds == 1
    with pytest.raises(InvalidInput, match="Generation 5"):
        set_generation(store, three.scope, 5)
    assert [row["generation"] for row in listing(store, three.scope)["generations"]] == [6, 3, 2, 1]
    assert set_generation(store, three.scope, 3).generation == 3


def test_a_build_that_is_being_made_is_left_alone_until_nobody_goes_on_with_it(store: Store, three: Corpus) -> None:
    green = start_build(store, three)
    publish(store, three, deleted("b"))
    publish(store, three, Document("a", ["a5"]))
    gc(store, three)
    assert len([row for row in table(store, "revision") if row["build_id"] == green]) == 3
    age(store, "build", "created_at", 8)
    age(store, "revision", "staged_at", 8)
    age(store, "page", "at", 8)
    assert gc(store, three).builds == 1
    assert {row["build_id"] for row in table(store, "build")} == {three.build.build_id}


def test_a_partition_that_is_read_is_left_for_the_next_time(store: Store, three: Corpus, database: str) -> None:
    big = flip(store, three, start_build(store, three, slab=3))
    small = flip(store, big, start_build(store, big))
    with psycopg.connect(database) as reader:
        reader.execute("SELECT count(*) FROM headwater.chunk")
        gc(store, small)
        assert len([row for row in table(store, "revision") if row["build_id"] == big.build.build_id]) == 3
        assert seen(store, small) == {"a": ["a3"], "b": ["b1"], "c": ["c3"]}
        with store.connection() as connection:
            pending = connection.execute("SELECT count(*) FROM pg_inherits WHERE inhdetachpending").fetchone()
        assert pending == (1,)  # an attempt that was broken off in the middle
    assert gc(store, small).builds == 1
    assert len(table(store, "chunk")) == 3
    with store.connection() as connection:
        assert connection.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_a_collection_that_is_cut_off_anywhere_is_finished_by_the_next(store: Store) -> None:
    for transactions in range(1, 14):
        corpus = make_corpus(store, f"acme/library/cut-{transactions}")
        publish(store, corpus, Document("a", ["old"]), Document("b", ["b"]), Document("c", ["gone"]))
        publish(store, corpus, Document("a", ["new"]), deleted("c"))
        flip(store, corpus, start_build(store, corpus))
        progress = collect(store, corpus.scope, NOW)
        for _ in range(transactions):
            next(progress, None)
        cast("Generator[Progress]", progress).close()
        gc(store, corpus)
        assert gc(store, corpus) == Freed()
        assert seen(store, corpus) == {"a": ["new"], "b": ["b"]}
        assert count(store) == dict.fromkeys(("revision", "span", "chunk", "document_version"), 2 * transactions)


def break_where_rows_go(store: Store, name: LiteralString) -> None:
    """From now on whoever deletes a row of that table loses the connection in the middle of it."""
    run(
        store,
        "CREATE FUNCTION {schema}.break_off() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN OLD; END $$",
    )
    run(
        store,
        "CREATE TRIGGER break_off BEFORE DELETE ON {schema}."
        + name
        + " FOR EACH ROW EXECUTE FUNCTION {schema}.break_off()",
    )


def test_a_broken_connection_leaves_whole_pages(store: Store, three: Corpus) -> None:
    break_where_rows_go(store, "revision")
    names = ("span", "chunk", "revision", "page_item", "document_version")
    before = [table(store, name) for name in names]
    with pytest.raises(StoreUnavailable):
        gc(store, three)
    assert [table(store, name) for name in names] == before
    run(store, "DROP FUNCTION {schema}.break_off CASCADE")
    assert gc(store, three) == Freed(revisions=2, chunks=3, documents=2)


def test_texts_of_revisions_that_went_before_a_broken_connection_go_later(store: Store, three: Corpus) -> None:
    break_where_rows_go(store, "document_version")
    with pytest.raises(StoreUnavailable):
        gc(store, three)
    assert count(store) == {"revision": 3, "span": 3, "chunk": 3, "document_version": 5}
    run(store, "DROP FUNCTION {schema}.break_off CASCADE")
    assert gc(store, three) == Freed()  # somebody may be staging upon them still
    age(store, "document_version", "created_at", 1)
    assert gc(store, three) == Freed(documents=2)
    assert texts(store) == {"a3", "b1", "c3"}


def test_it_can_begin_at_any_step(store: Store, three: Corpus) -> None:
    at_least_one_transaction = {"floor", "contents", "requests"}
    for step in STEPS:
        steps = [progress.step for progress in collect(store, three.scope, NOW, start=step)]
        assert {*steps} <= {*list(STEPS)[list(STEPS).index(step) :]}
        assert steps[:1] == [step] or step not in at_least_one_transaction


def test_a_little_collection_stops_in_time(store: Store, three: Corpus) -> None:
    assert collect_little(store, three.scope, NOW, transactions=0) == Freed()
    assert collect_little(store, three.scope, NOW, transactions=9) == Freed(revisions=2, chunks=3, documents=2)


def test_a_sync_that_works_by_itself_ends_with_a_little_collection(
    store: Store, three: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_KEEP_GENERATIONS", "1")
    monkeypatch.setenv("HEADWATER_KEEP_DAYS", "0")
    collect_after_sync(store, three.scope, load_settings())
    assert "a1" not in texts(store) and {"a2", "a3"} <= texts(store)
    store.close()
    collect_after_sync(store, three.scope, load_settings())  # what is synced stays synced


def test_one_corpus_is_collected_and_the_others_are_not(store: Store, three: Corpus) -> None:
    other = make_corpus(store, "umbrella/library/handbook")
    for text in ("o1", "o2"):
        publish(store, other, Document("o", [text]))
    gc(store, three)
    assert {"o1", "o2"} <= texts(store)
    with pytest.raises(InvalidInput, match="does not exist"):
        gc(store, Corpus(Scope.parse("acme/library/nowhere"), three.build, three.connector, 1))


def test_scopes_are_listed_in_pages(store: Store, corpus: Corpus) -> None:
    names = ["acme/library/handbook", "acme/library/zebra", "umbrella/a/b", "umbrella/library/handbook"]
    for name in names[1:]:
        make_corpus(store, name)
    found: list[Scope] = []
    while page := scopes_after(store, found[-1] if found else None, tenants=(), limit=3):
        found += page
    assert [str(scope) for scope in found] == names
    assert [str(scope) for scope in scopes_after(store, None, tenants=["umbrella"], limit=9)] == names[2:]
