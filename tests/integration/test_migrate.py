"""Migrating: once, in order, whole or not at all, under any schema name, by logins of few rights."""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from activities.store import Store
from activities.store.migrate import Migration, migrate, pending, shipped
from headwater.errors import StoreError, ValidationError
from tests.integration.seen import seen, table
from tests.integration.staging_factory import EVERYONE, Document, make_corpus, publish
from workers.guard.binaries import postgres_programs

NAMES = [migration.name for migration in shipped()]
# Quotes of all kinds, parameters of psycopg, braces of our files, dollar quotes, capitals, spaces, and no ASCII.
HOSTILE = """We"ird 'Schema' $$ %s %(x)s {schema} {reader} -- ; 名"""

_numbers = itertools.count(1)


@pytest.fixture
def empty(postgres: str) -> Iterator[str]:
    """The address of a database with nothing in it."""
    name = f"empty_{next(_numbers)}"
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield make_conninfo(postgres, dbname=name)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def login(postgres: str, empty: str) -> Iterator[str]:
    """The address of the same database for a login that may create schemas in it and nothing else."""
    name = f"plain_{next(_numbers)}"
    with psycopg.connect(empty, autocommit=True) as admin:
        admin.execute("CREATE EXTENSION vector")
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'plain'").format(sql.Identifier(name)))
        database = sql.Identifier(admin.info.dbname)
        admin.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(database, sql.Identifier(name)))
        yield make_conninfo(empty, user=name, password="plain")
        admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(sql.Identifier(name)))
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_an_empty_database_gets_every_file_once(empty: str) -> None:
    assert pending(empty) == NAMES
    assert migrate(empty) == NAMES
    assert pending(empty) == migrate(empty) == []


def test_two_processes_at_once_apply_every_file_once(empty: str) -> None:
    program = "import sys; from activities.store.migrate import migrate; print(*migrate(sys.argv[1]))"

    def run(_: int) -> list[str]:
        command = [sys.executable, "-c", program, empty]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.split()

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(run, range(3)), key=len) == [[], [], NAMES]


@pytest.mark.parametrize(
    "schema", [HOSTILE, "public", "CamelCase", "x" * 56], ids=["hostile", "public", "camel", "long"]
)
def test_any_schema_name_works(empty: str, schema: str) -> None:
    assert migrate(empty, schema) == NAMES
    assert migrate(empty) == NAMES, "schemas of one database are independent"
    with Store.open(empty, schema=schema) as store:
        corpus = make_corpus(store)
        publish(store, corpus, Document("a", ["one"], grants=EVERYONE), Document("b"))
        assert seen(store, corpus, "anyone") == {"a": ["one"]}
    assert migrate(empty, schema) == []


@pytest.mark.parametrize("schema", ["", "x" * 57, "名" * 20, "pg_mine", "a\0b"])
def test_a_name_that_postgres_cannot_have_is_refused(schema: str) -> None:
    with pytest.raises(ValidationError, match=r"^schema"):
        migrate("host=never.asked", schema)


def test_a_file_that_was_changed_after_it_was_applied_is_named(empty: str) -> None:
    migrate(empty)
    first = shipped()[0]
    changed = [Migration(first.number, first.name, first.text + "-- a word more\n"), *shipped()[1:]]
    for attempt in (migrate, pending):
        with pytest.raises(StoreError, match=r"0001_spine\.sql differs from what was applied"):
            attempt(empty, migrations=changed)


def test_a_database_newer_than_the_program_is_left_alone(empty: str) -> None:
    migrate(empty, migrations=[*shipped(), added("9999_later.sql", "CREATE TABLE {schema}.later ();")])
    for attempt in (migrate, pending):
        with pytest.raises(StoreError, match=r"9999_later\.sql, which this program does not know"):
            attempt(empty)


def test_a_file_that_fails_leaves_nothing_and_the_ones_before_it_stay(empty: str) -> None:
    broken = added("9999_broken.sql", "CREATE TABLE {schema}.half (); SELECT no_such_function();")
    with pytest.raises(StoreError, match=r"9999_broken\.sql failed .* no_such_function"):
        migrate(empty, migrations=[*shipped(), broken])
    assert pending(empty, migrations=[*shipped(), broken]) == [broken.name]
    with psycopg.connect(empty) as connection:
        row = connection.execute("SELECT to_regclass('headwater.half') IS NULL").fetchone()
    assert row == (True,)
    mended = Migration(broken.number, broken.name, "CREATE TABLE {schema}.half ();")
    assert migrate(empty, migrations=[*shipped(), mended]) == [broken.name]


def test_a_schema_migrated_step_by_step_with_data_equals_a_fresh_one(empty: str) -> None:
    assert_fresh_equals_migrated(empty, shipped())


def test_the_comparison_of_fresh_and_migrated_bites(empty: str) -> None:
    # Nullable only where rows were there before: what a careless file does, and what the comparison is for.
    careless = """
        ALTER TABLE {schema}.source ADD COLUMN colour text;
        DO $$ BEGIN
          IF NOT EXISTS (SELECT FROM {schema}.source) THEN ALTER TABLE {schema}.source ALTER colour SET NOT NULL; END IF;
        END $$;
    """
    with pytest.raises(AssertionError, match="colour text NOT NULL"):
        assert_fresh_equals_migrated(empty, [*shipped(), added("9999_careless.sql", careless)])


def assert_fresh_equals_migrated(empty: str, migrations: Sequence[Migration]) -> None:
    """Applies the files at once in one schema, and one by one over rows of the oldest in another of the same name."""
    migrate(empty, migrations=migrations)
    fresh = dump(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("DROP SCHEMA headwater CASCADE")
    for count in range(1, len(migrations) + 1):
        assert migrate(empty, migrations=migrations[:count]) == [migrations[count - 1].name]
        if count == 1:
            with psycopg.connect(empty, autocommit=True) as connection:
                connection.execute(ROWS_OF_0001)
    differences = sorted(set(dump(empty)) ^ set(fresh))
    assert not differences, differences
    with Store.open(empty) as store:
        assert len(table(store, "chunk")) == 2


def dump(dsn: str) -> list[str]:
    """The lines in which `pg_dump` writes the schema, each with its place, without the word it makes up for each run."""
    program = str(postgres_programs().program("pg_dump"))
    command = [program, "--schema-only", "--schema=headwater", f"--dbname={dsn}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    lines = re.sub(r"^\\(un)?restrict .*\n", "", text, flags=re.MULTILINE).splitlines()
    return [f"{number}: {line}" for number, line in enumerate(lines)]


def test_a_login_that_may_not_create_roles_can_migrate(login: str, empty: str) -> None:
    assert migrate(login, "plain") == NAMES
    assert may_read(empty, "plain_reader", "plain.span") is None
    with psycopg.connect(empty, autocommit=True) as admin:
        admin.execute("CREATE ROLE plain_reader")
    try:
        assert migrate(login, "plain") == [], "the role that an administrator made is granted by the next run"
        assert may_read(empty, "plain_reader", "plain.span") is True
    finally:
        with psycopg.connect(empty, autocommit=True) as admin:
            admin.execute("DROP OWNED BY plain_reader")
            admin.execute("DROP ROLE plain_reader")


def test_a_reader_reads_what_retrieval_needs_and_writes_nothing(empty: str) -> None:
    migrate(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("SET ROLE headwater_reader")
        for name in ("scope", "span", "chunk", "source", "document_version", "tombstone", "expiring_grant"):
            connection.execute(sql.SQL("SELECT FROM {}").format(sql.Identifier("headwater", name)))
        for statement in (
            "SELECT FROM headwater.audit",
            "SELECT FROM headwater.staged_part",
            "DELETE FROM headwater.span",
            "UPDATE headwater.source SET grants = '{1}'",
            "INSERT INTO headwater.grantee (tenant_id, kind, name) VALUES ('t', 'everyone', '')",
            "CREATE TABLE headwater.mine ()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_a_login_that_may_not_create_the_schema_is_told_what_to_ask_for(login: str, empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as admin:
        plain = sql.Identifier(str(conninfo_to_dict(login)["user"]))
        admin.execute(sql.SQL("REVOKE CREATE ON DATABASE {} FROM {}").format(sql.Identifier(admin.info.dbname), plain))
        with pytest.raises(StoreError, match="may not create schema 'mine'"):
            migrate(login, "mine")
        admin.execute(sql.SQL("CREATE SCHEMA mine AUTHORIZATION {}").format(plain))
    assert migrate(login, "mine") == NAMES


def test_a_login_that_may_not_install_pgvector_is_told_what_to_ask_for(login: str, empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as admin:
        admin.execute("DROP EXTENSION vector")
    with pytest.raises(StoreError, match="CREATE EXTENSION vector"):
        migrate(login)


def test_an_old_pgvector_is_named(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as admin:
        admin.execute("CREATE EXTENSION vector")
        admin.execute("SET allow_system_table_mods = on")
        admin.execute("UPDATE pg_extension SET extversion = '0.8.3' WHERE extname = 'vector'")
    with pytest.raises(StoreError, match=r"pgvector 0\.8\.3 is installed, and 0\.8\.4 is the oldest"):
        migrate(empty)


def test_a_pgvector_out_of_sight_is_named(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA extensions")
        admin.execute("CREATE EXTENSION vector SCHEMA extensions")
    with pytest.raises(StoreError, match="pgvector lives in schema 'extensions'"):
        migrate(empty)


def test_a_database_of_another_encoding_is_refused(postgres: str) -> None:
    name = sql.Identifier(f"latin_{next(_numbers)}")
    with psycopg.connect(postgres, autocommit=True) as admin:
        made = (
            "CREATE DATABASE {} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc TEMPLATE template0"
        )
        admin.execute(sql.SQL(made).format(name))
        try:
            with pytest.raises(StoreError, match="encoded in LATIN1"):
                migrate(make_conninfo(postgres, dbname=name.as_string(admin).strip('"')))
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def added(name: str, text: str) -> Migration:
    return Migration(int(name[:4]), name, text)


def may_read(dsn: str, role: str, relation: str) -> bool | None:
    """Whether `role` may; None if there is no such role."""
    query = "SELECT has_table_privilege(oid, %s, 'SELECT') FROM pg_roles WHERE rolname = %s"
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query, (relation, role)).fetchone()
    return None if row is None else bool(row[0])


# One of each thing that lasts, as the first release wrote it. It never changes: later files must bring it along.
ROWS_OF_0001 = """
SET search_path = headwater, public;
INSERT INTO space (embedder_spec, embedder_identity, dimensions, max_tokens, chunker) VALUES ('hash:3', 'h', 3, 9, 'c');
INSERT INTO scope (tenant_id, resource_id, corpus_id, head_gen, live_gen) VALUES ('t', 'r', 'c', 2, 2);
INSERT INTO build (scope_id, space_id, head_gen) VALUES (1, 1, 2);
UPDATE scope SET live_build = 1;
INSERT INTO pointer_log (scope_id, build_id, gen, kind) VALUES (1, 1, 1, 'publish'), (1, 1, 2, 'publish');
INSERT INTO connector (scope_id, name, kind) VALUES (1, 'f', 'folder');
INSERT INTO checkpoint (connector_id, version, cursor) VALUES (1, 1, 'x');
INSERT INTO grantee (tenant_id, kind, name) VALUES ('t', 'everyone', ''), ('t', 'principal', 'alice');
INSERT INTO source (scope_id, source_id, owner, grants, access_version, revision) VALUES (1, 'a', 1, '{1,2}', 1, 2);
INSERT INTO membership (connector_id, source_pk, pass_no) VALUES (1, 1, 1);
INSERT INTO tombstone (scope_id, id, reason, gen) VALUES (1, 'gone', 'forgotten', 1);
INSERT INTO document_version (scope_id, source_pk, revision, content_hash, source_seq, text)
  VALUES (1, 1, 1, 'x', 1, 'one'), (1, 1, 2, 'y', 2, 'two');
INSERT INTO lineage (scope_id, version_id, ord, parent_id) VALUES (1, 2, 1, 'b#0001');
INSERT INTO revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, base_gen, n_chunks)
  VALUES (1, 1, 1, 1, 1, 1, 0, 1), (1, 1, 1, 2, 2, 1, 1, 1);
INSERT INTO span (rev_id, gen_from, gen_to, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
  VALUES (1, 1, 2, 1, 1, 1, 1, 1, false), (2, 2, DEFAULT, 1, 1, 2, 2, 1, true);
INSERT INTO chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, body)
  VALUES (0, 1, 1, 1, 0, 3, '[1,2,3]', 'x', 'one'), (0, 2, 1, 1, 0, 3, '[1,2,3]', 'y', 'two');
INSERT INTO ingestion (source_pk, state) VALUES (1, 'indexed');
INSERT INTO page (connector_id, build_id, pass_no, seq, fence, cursor_out, is_last, is_complete) VALUES (1, 1, 1, 1, 1, 'x', true, true);
INSERT INTO page_item (page_id, ord, kind, source_id, rev_id) VALUES (1, 0, 'upsert', 'a', 2);
INSERT INTO audit (scope_id, action) VALUES (1, 'sync');
"""
