"""What a sync asks of a corpus of many documents and connectors reads no table whole, whether planned for its values or for any."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql

from activities.store import Store
from activities.store.sql import queries
from tests.integration.staging_factory import make_corpus

LARGE: Final = {"membership", "page_item", "link", "source", "ingestion", "span", "revision", "document_version"}
FILL: Final = """
    SET session_replication_role = replica; -- without the triggers of foreign keys, which take longer than the rows
    INSERT INTO connector (scope_id, name, kind) SELECT 1, 'drive-' || n, 'drive' FROM generate_series(2, 10) n;
    INSERT INTO checkpoint (connector_id, pass_no) SELECT connector_id, 3 FROM connector ON CONFLICT DO NOTHING;
    UPDATE checkpoint SET pass_no = 3, read_with = 'all', fence = 1, owner = 'sync', run = 'run-1', lease_until = now() + interval '1 day';
    INSERT INTO source (scope_id, source_id, owner, revision, read_seq, access_version)
      SELECT 1, 'drive:' || n, n % 10 + 1, 1, 1, 1 FROM generate_series(1, 100000) n;
    INSERT INTO ingestion (source_pk, state, source_version, parser, label)
      SELECT source_pk, CASE WHEN source_pk % 100 = 0 THEN 'failed' WHEN source_pk % 1000 = 7 THEN 'denied' ELSE 'indexed' END, 'v1', 'text/1', 'l' FROM source;
    INSERT INTO membership (connector_id, source_pk, pass_no, rule_version, access)
      SELECT owner, source_pk, 3, 1, 'a' FROM source;
    INSERT INTO document_version (scope_id, source_pk, revision, content_hash, source_seq, text)
      SELECT 1, source_pk, 1, decode(md5(source_pk::text), 'hex'), 1, 'text' FROM source;
    INSERT INTO revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, base_gen, n_chunks)
      SELECT 1, 1, source_pk, version_id, 1, 1, 0, 0 FROM document_version;
    INSERT INTO span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
      SELECT rev_id, 1, build_id, source_pk, version_id, source_seq, sensitivity, false FROM revision;
    UPDATE scope SET head_gen = 1, live_gen = 1;
    UPDATE build SET head_gen = 1;
    INSERT INTO page (connector_id, build_id, pass_no, seq, fence, cursor_out, is_complete, is_last, state)
      SELECT c, 1, 3, n, 1, '', false, false, CASE WHEN n = 50 THEN 'prepared' ELSE 'published' END
      FROM generate_series(1, 10) c, generate_series(1, 50) n;
    INSERT INTO page_item (page_id, ord, kind, source_id, rev_id, status)
      SELECT p.page_id, n, 'upsert', 'drive:' || (((p.seq - 1) * 200 + n) * 10 + p.connector_id - 1), NULL, '{}'
      FROM page p, generate_series(0, 199) n;
    INSERT INTO link (connector_id, node, parent, record, due)
      SELECT m.connector_id, s.source_id, 'folder' || m.source_pk % 500, '{"name": "x"}',
             CASE WHEN m.source_pk % 5000 = 0 THEN 'crawl' END
      FROM membership m JOIN source s USING (source_pk);
    ANALYZE
"""


PAGE: Final = [f"drive:{number}" for number in range(1000, 3000, 10)]
KEYS: Final = list(range(1000, 3000, 10))
VALUES: Final[Mapping[str, object]] = {
    "connector_id": 1, "scope_id": 1, "page_id": 1, "pass_no": 3, "seq": 50, "fence": 1, "rule_version": 1, "limit": 101,
    "source_id": "drive:1000", "source_ids": PAGE, "source_pks": KEYS, "members": KEYS, "dropped": KEYS, "absent": KEYS,
    "ungranted": KEYS, "cleared": KEYS, "cleared_ids": PAGE, "gen": 2, "ords": list(range(200)), "said": "it was removed",
    "has_grants": [True] * 200, "is_refused": [False] * 200, "is_narrowed": [False] * 200, "parsers": ["text/1"], "read_with": "all",
    "nodes": PAGE, "parents": ["folder3"] * 200, "parent": "folder3", "hidden": ["x"], "hidden_nodes": ["x"],
    "hidden_parents": ["y"], "links": "[]", "version": "v1", "parser": "text/1",
    "tenant_id": "acme", "resource_id": "library", "corpus_id": "handbook", "name": "drive-2",
}  # fmt: skip
ASKED: Final = {
    "memory": ["pending_writes", "links_of", "children_of", "due_links", "forget_all", "forget_nodes", "forget_links", "put_links"],
    "listing": ["find_page", "listing_position", "under_way", "known_sources", "mark_seen", "ensure_sources",
                "ensure_members", "unseen"],
    "relisting": ["lost", "behind"],
    "relabel": ["shown_text"],
    "publish": ["candidates", "lock_sources", "clear_tombstones", "note_members", "leave_to_others", "drop_members", "drop_pending"],
    "withheld": ["withheld"],
    "lease": ["next_seq", "forget_old_pages", "failed_sources", "unlisted_parts"],
    "connectors": ["find_connector", "connectors_of", "placed_connectors"],
    "connector_removal": ["held", "leave_behind", "handed_over_since", "count_left", "forget_cuts", "forget_members", "forget_links"],
}  # fmt: skip

EVERY_PASS: Final = {
    "pending_writes",
    "due_links",
    "listing_position",
    "under_way",
    "known_sources",
    "lost",
    "candidates",
    "withheld",
}


@pytest.fixture(scope="module")
def many(template_db: str, postgres: str) -> Iterator[psycopg.Connection]:
    """A database with 100,000 documents that ten connectors hold."""
    address = postgres.rpartition("/")[0] + "/many_connectors"
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE many_connectors TEMPLATE "{template_db}"'.encode())
        with Store.open(address, max_size=1) as store:
            make_corpus(store)
        with psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection:
            connection.execute("SET search_path = headwater, public")
            connection.execute(FILL)
            connection.execute("SET session_replication_role = origin")
            yield connection
        admin.execute("DROP DATABASE many_connectors WITH (FORCE)")


@pytest.mark.long
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in ASKED.items() for name in names])
def test_no_table_is_read_whole(many: psycopg.Connection, file: str, name: str, mode: str) -> None:
    statement = queries("headwater", file)[name].decode().replace("%%", "%").rstrip("; \n")
    parameters = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    for number, parameter in enumerate(parameters, 1):
        statement = statement.replace(f"%({parameter})s", f"${number}")
    values = ", ".join(sql.Literal(_value(file, name, each)).as_string(many) for each in parameters)
    with many.transaction(force_rollback=True):
        many.execute(f"SET LOCAL plan_cache_mode = {mode}".encode())
        many.execute("DEALLOCATE ALL")
        many.execute(f"PREPARE asked AS {statement}".encode())
        row = many.execute(f"EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) EXECUTE asked ({values})".encode()).fetchone()
    assert row is not None
    nodes = list(_nodes(row[0][0]["Plan"]))
    assert [each for each in nodes if each["Node Type"] == "Seq Scan" and each["Relation Name"] in LARGE] == []
    looked_at = sum(_read(each) for each in nodes if each.get("Relation Name") in LARGE)
    assert looked_at <= len(LARGE) * 10_000, "each table once, for the documents of one connector"
    if name in EVERY_PASS:
        assert looked_at <= 2_000, "however many there are"


def _value(file: str, name: str, parameter: str) -> object:
    """`after` is a key where documents are left behind, and an id elsewhere."""
    if parameter == "after":
        return 1000 if (file, name) == ("connector_removal", "held") else "drive:2"
    return VALUES[parameter]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _read(node: dict[str, Any]) -> float:
    """How many rows a node looked at."""
    in_vain = sum(float(node[key]) for key in node if key.startswith("Rows Removed by"))
    return (float(node["Actual Rows"]) + in_vain) * float(node["Actual Loops"])
