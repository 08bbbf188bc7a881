"""A publication is there whole or not at all: cut off, repeated, or racing another one."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from activities.contracts import PublishedPage
from activities.store import Store, StoreUnavailable
from activities.store.pages.publish import publish_page
from activities.store.sql import queries
from headwater.connectors import GrantSet
from headwater.contracts import SyncFailure
from tests.integration.seen import seen, table
from tests.integration.staging_factory import Corpus, Document, deleted, failed, publish, stage


# After each of these statements the connection is cut. `finish_page` is the last before the commit.
@pytest.mark.parametrize("step", ["lock_sources", "show_revisions", "note_status", "note_members", "finish_page"])
def test_a_publication_that_is_cut_off_leaves_nothing(store: Store, corpus: Corpus, step: str) -> None:
    publish(store, corpus, Document("a", ["old"], grants=GrantSet(principal_ids=("alice",))), Document("b", ["kept"]))
    new = Document("a", ["new"], grants=GrantSet(principal_ids=("bob",)))
    page = stage(store, corpus, new, deleted("b"), failed("c"))
    watched = ("span", "source", "ingestion", "scope", "build", "page", "page_item", "membership", "document_version")
    before = {name: table(store, name) for name in watched}
    named = dict(queries(store.schema, "publish"))
    killed = b"killed AS (SELECT pg_terminate_backend(pg_backend_pid()))"
    cut = named[step].replace(b"WHERE", b"WHERE EXISTS (SELECT FROM killed) AND", 1)
    named[step] = cut.replace(b"WITH ", b"WITH %b, " % killed, 1) if b"WITH " in cut else b"WITH %b " % killed + cut
    with pytest.raises(StoreUnavailable):
        publish_page(store, page, fence=corpus.fence, sql=named)
    assert {name: table(store, name) for name in before} == before
    assert publish_page(store, page, fence=corpus.fence) == PublishedPage(
        upserted=1,
        deleted=1,
        failed=1,
        regranted=1,
        generation=2,
        failures=[SyncFailure(source_id="c", state="failed", reason="it is broken")],
    )
    assert seen(store, corpus, "bob") == {"a": ["new"]}


def test_two_publishers_of_one_page_publish_it_once(store: Store, corpus: Corpus) -> None:
    page = stage(store, corpus, Document("a", ["one"]), Document("b", ["two"]))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: publish_page(store, page, fence=corpus.fence), range(4)))
    assert results == [PublishedPage(upserted=2, generation=1)] * 4
    assert len(table(store, "span")) == 2


@pytest.mark.parametrize("first", ["older", "newer"])
def test_of_two_readings_the_newer_one_stays_whoever_is_first(store: Store, corpus: Corpus, first: str) -> None:
    publish(store, corpus, Document("a", ["old"], seq=1))
    pages = {
        "older": stage(store, corpus, Document("a", ["older"], seq=2)),
        "newer": stage(store, corpus, Document("a", ["newer"], seq=3)),
    }
    second = "newer" if first == "older" else "older"
    with ThreadPoolExecutor(2) as pool, locked_scope(store, corpus):
        # Both wait for the lock at once, in this order: the second one must see what the first has done.
        one = pool.submit(publish_page, store, pages[first], fence=corpus.fence)
        until_waiting(store, 1)
        two = pool.submit(publish_page, store, pages[second], fence=corpus.fence)
        until_waiting(store, 2)
    assert (one.result().upserted, two.result().upserted) == (1, 1 if second == "newer" else 0)
    assert seen(store, corpus) == {"a": ["newer"]}


@contextmanager
def locked_scope(store: Store, corpus: Corpus) -> Iterator[None]:
    with store.connection() as connection, connection.transaction():
        connection.execute(queries(store.schema, "publish")["lock_scope"], {"page_id": stage(store, corpus)})
        yield


def until_waiting(store: Store, count: int) -> None:
    """Returns when so many backends of this database wait for a lock."""
    query = """
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    """
    deadline = time.monotonic() + 30
    with store.connection() as connection:
        while time.monotonic() < deadline:
            row = connection.execute(query).fetchone()
            if row is not None and row[0] >= count:
                return
    raise AssertionError(f"{count} publishers should be waiting for the scope's lock by now")


@pytest.mark.parametrize("name", ["candidates", "unfinished"])
def test_a_plan_made_for_an_empty_corpus_still_looks_rows_up_in_a_large_one(
    store: Store, corpus: Corpus, name: str
) -> None:
    statement = queries(store.schema, "publish")[name].replace(b"%(page_id)s", b"$1").rstrip(b"; \n")
    with store.connection() as connection:
        connection.execute(queries(store.schema, "publish")["plan_once"].replace(b"true)", b"false)"), {})
        connection.execute(b"PREPARE planned (bigint) AS " + statement, prepare=False)
        connection.execute("EXECUTE planned (0)", prepare=False)
        # They come last in the order of the index, behind all that is added below.
        grants = GrantSet(principal_ids=("zoe",))
        page = stage(store, corpus, *[Document(f"z{number}", grants=grants) for number in range(10)])
        connection.execute(
            "INSERT INTO headwater.source (scope_id, source_id) SELECT 1, 'many' || n FROM generate_series(1, 3000) n"
        )
        connection.execute(
            "INSERT INTO headwater.grantee (tenant_id, kind, name)"
            " SELECT 'acme', 'principal', 'p' || n FROM generate_series(1, 3000) n"
        )
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE planned ({page})".encode()
        row = connection.execute(explain, prepare=False).fetchone()
    assert row is not None
    assert rows_in_vain(row[0][0]["Plan"]) < 100


# The parameters of what is written for all documents of a page, with their types, in the order of `EXECUTE`.
WRITES = {
    "show_revisions": {
        "source_pks": "bigint[]", "rev_ids": "bigint[]", "version_ids": "bigint[]", "numbers": "int[]", "gen": "bigint",
        "build_id": "bigint", "connector_id": "bigint",
    },
    "note_status": {
        "page_id": "bigint", "noted": "int[]", "source_pks": "bigint[]", "failed": "int[]", "kept": "int[]",
    },
    "note_members": {
        "page_id": "bigint", "ords": "int[]", "members": "bigint[]", "has_grants": "boolean[]", "is_refused": "boolean[]",
        "is_narrowed": "boolean[]",
    },
    "finish_page": {
        "page_id": "bigint", "ords": "int[]", "outcomes": "text[]", "rev_ids": "bigint[]", "result": "jsonb",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_a_page_writes_each_document_without_a_look_at_others(store: Store, corpus: Corpus, name: str) -> None:
    """Neither at the page's own, for each of them, nor at what others have staged: of texts without a number an index knows all."""
    named, types = queries(store.schema, "publish"), WRITES[name]
    with store.connection() as connection, connection.transaction(force_rollback=True):
        connection.execute(named["plan_once"], {})
        head = f"PREPARE planned ({', '.join(types.values())}) AS "
        connection.execute(head.encode() + _numbered(named[name], types), prepare=False)
        connection.execute(f"EXECUTE planned ({', '.join('NULL' for _ in types)})".encode(), prepare=False)
        publish(store, corpus, Document("other"))
        page = stage(store, corpus, *[Document(f"z{number}") for number in range(40)])
        connection.execute(
            "INSERT INTO headwater.document_version (scope_id, source_pk, content_hash, source_seq, text)"
            " SELECT 1, 1, decode(md5(n::text), 'hex'), n, 'text' FROM generate_series(1, 3000) n"
        )
        values = _values(connection, page, corpus)
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE planned ({', '.join(values[each] for each in types)})"
        row = connection.execute(explain.encode(), prepare=False).fetchone()
    assert row is not None
    assert rows_in_vain(row[0][0]["Plan"]) < 100


def _values(connection: psycopg.Connection, page: int, corpus: Corpus) -> dict[str, str]:
    """What publishing the whole page binds, as SQL."""
    rows = connection.execute(
        "SELECT i.ord, r.source_pk, r.rev_id, r.version_id"
        " FROM headwater.page_item i JOIN headwater.revision r USING (rev_id) WHERE i.page_id = %s",
        (page,),
    ).fetchall()
    ords, source_pks, rev_ids, version_ids = (f"ARRAY{list(column)}" for column in zip(*rows, strict=True))
    return {
        "page_id": str(page), "gen": "9", "build_id": str(corpus.build.build_id), "connector_id": "NULL",
        "ords": ords, "noted": ords, "source_pks": source_pks, "members": source_pks, "rev_ids": rev_ids,
        "version_ids": version_ids, "numbers": f"ARRAY{[1] * len(rows)}", "failed": "ARRAY[]::int[]",
        "kept": "ARRAY[]::int[]", "has_grants": f"ARRAY{[True] * len(rows)}", "is_refused": f"ARRAY{[False] * len(rows)}",
        "is_narrowed": f"ARRAY{[False] * len(rows)}",
        "outcomes": f"ARRAY{['published'] * len(rows)}", "result": "'{}'",
    }  # fmt: skip


def _numbered(statement: bytes, names: Iterable[str]) -> bytes:
    """With `$1`, `$2`, … for its parameters, in this order."""
    for number, name in enumerate(names, 1):
        statement = statement.replace(b"%%(%b)s" % name.encode(), b"$%d" % number)
    return statement.rstrip(b"; \n")


def rows_in_vain(node: dict[str, Any]) -> float:
    """Rows that a plan read and did not want."""
    removed = sum(float(node[key]) for key in node if key.startswith("Rows Removed by"))
    return removed * float(node["Actual Loops"]) + sum(rows_in_vain(child) for child in node.get("Plans", ()))
