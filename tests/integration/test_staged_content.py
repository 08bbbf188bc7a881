"""Handing in content: under a role that can do nothing else, in parts, whole or not at all."""

import hashlib
import io
import itertools
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from activities.store import Store
from activities.store.migrate import migrate
from headwater.errors import LimitError, StoreError, ValidationError
from headwater.models import Scope
from headwater.staged_content import CONTENT_BYTES, PART_BYTES, Content, stage_content, stage_content_async
from tests.integration.seen import table

SCOPE = Scope.parse("acme/library/handbook")
_numbers = itertools.count(1)


@pytest.fixture
def host(database: str) -> Iterator[str]:
    """The address of a login that was granted the host role and nothing more."""
    login = sql.Identifier(f"host_{next(_numbers)}")
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'host' IN ROLE headwater_host").format(login))
        yield make_conninfo(database, user=login.as_string(admin).strip('"'), password="host")
        admin.execute(sql.SQL("DROP OWNED BY {}").format(login))
        admin.execute(sql.SQL("DROP ROLE {}").format(login))


@pytest.fixture
def connection(host: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(host, autocommit=True) as opened:
        yield opened


def opened(connection: psycopg.Connection, media_type: str = "text/plain") -> UUID:
    row = connection.execute(
        "SELECT headwater.stage_open('acme', 'library', 'handbook', %s)", (media_type,)
    ).fetchone()  # fmt: skip
    assert row is not None
    content: UUID = row[0]
    return content


def append(connection: psycopg.Connection, content: UUID, part: int, data: bytes) -> None:
    connection.execute("SELECT headwater.stage_append(%s, %s, %s)", (content, part, data))


def close(connection: psycopg.Connection, content: UUID, data: bytes) -> int:
    row = connection.execute(
        "SELECT headwater.stage_close(%s, %s)", (content, hashlib.sha256(data).digest())
    ).fetchone()  # fmt: skip
    assert row is not None
    return int(row[0])


def stored(store: Store) -> bytes:
    return b"".join(row["data"] for row in sorted(table(store, "staged_part"), key=lambda row: int(row["part"])))


def test_parts_become_one_content_in_the_order_of_their_numbers(connection: psycopg.Connection, store: Store) -> None:
    content = opened(connection, "text/markdown")
    append(connection, content, 1, b"world")
    append(connection, content, 0, b"hello ")
    assert close(connection, content, b"hello world") == 11
    held = table(store, "staged_content")[0]
    assert (held["content_id"], held["media_type"], held["bytes"]) == (content, "text/markdown", 11)
    assert (held["sha256"], held["closed_at"] is not None) == (hashlib.sha256(b"hello world").digest(), True)


def test_a_repeated_call_is_a_replay(connection: psycopg.Connection, store: Store) -> None:
    content = opened(connection)
    for _ in range(2):
        append(connection, content, 1, b"hello")
    assert [close(connection, content, b"hello") for _ in range(2)] == [5, 5]
    append(connection, content, 1, b"hello")
    assert stored(store) == b"hello"
    assert table(store, "staged_content")[0]["bytes"] == 5
    assert close(connection, opened(connection), b"") == 0  # nothing is a content too


REFUSALS = {
    "a tenant of another alphabet": ("22023", "SELECT headwater.stage_open('a/b', 'r', 'c', 'text/plain')"),
    "no resource": ("22023", "SELECT headwater.stage_open('t', NULL, 'c', 'text/plain')"),
    "a long corpus": ("22023", "SELECT headwater.stage_open('t', 'r', repeat('c', 65), 'text/plain')"),
    "a corpus with a line end": ("22023", r"SELECT headwater.stage_open('t', 'r', E'c\n', 'text/plain')"),
    "no media type": ("22023", "SELECT headwater.stage_open('t', 'r', 'c', NULL)"),
    "a negative part": ("22023", r"SELECT headwater.stage_append({content}, -1, 'x')"),
    "a part too many": ("22023", r"SELECT headwater.stage_append({content}, 65536, 'x')"),
    "no bytes": ("22023", r"SELECT headwater.stage_append({content}, 2, NULL)"),
    "a large part": (
        "54000",
        r"SELECT headwater.stage_append({content}, 2, convert_to(repeat('x', 33554433), 'UTF8'))",
    ),
    "other bytes": ("55000", r"SELECT headwater.stage_append({content}, 1, 'x')"),
    "an unknown content": ("P0002", r"SELECT headwater.stage_append(gen_random_uuid(), 1, 'x')"),
    "closing an unknown one": ("P0002", r"SELECT headwater.stage_close(gen_random_uuid(), sha256('x'))"),
    "another hash": ("55000", r"SELECT headwater.stage_close({content}, sha256('x'))"),
    "no hash": ("22023", r"SELECT headwater.stage_close({content}, 'x')"),
    "another hash afterwards": ("55000", r"SELECT headwater.stage_close({closed}, sha256('x'))"),
    "more after the end": ("55000", r"SELECT headwater.stage_append({closed}, 2, 'x')"),
    "a hole": ("55000", r"SELECT headwater.stage_close({holed}, sha256('hellohello'))"),
    "no beginning": ("55000", r"SELECT headwater.stage_close({late}, sha256('hello'))"),
}


def test_what_does_not_fit_is_refused_in_a_sentence(connection: psycopg.Connection, store: Store) -> None:
    contents = {name: opened(connection) for name in ("content", "closed", "holed", "late")}
    for name, parts in (("content", [1]), ("closed", [1]), ("holed", [1, 3]), ("late", [2])):
        for part in parts:
            append(connection, contents[name], part, b"hello")
    close(connection, contents["closed"], b"hello")
    before = table(store, "staged_content"), table(store, "staged_part")
    refused: dict[str, str | None] = {}
    for kind, (_, statement) in REFUSALS.items():
        with pytest.raises(psycopg.Error) as error:
            connection.execute(statement.format(**{name: f"'{key}'" for name, key in contents.items()}).encode())
        refused[kind] = error.value.sqlstate
        assert (error.value.diag.message_primary or "").endswith(".")
    assert refused == {kind: code for kind, (code, _) in REFUSALS.items()}
    assert (table(store, "staged_content"), table(store, "staged_part")) == before


def test_a_content_that_grows_too_large_is_refused(connection: psycopg.Connection, store: Store) -> None:
    content = opened(connection)
    append(connection, content, 1, b"hello")
    with store.connection() as owner:
        owner.execute("UPDATE headwater.staged_content SET bytes = %s", (CONTENT_BYTES - 4,))
    append(connection, content, 2, b"1234")
    with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="more than 268435456 bytes"):
        append(connection, content, 3, b"5")


def test_the_role_of_hosts_may_hand_in_and_nothing_else(connection: psycopg.Connection, store: Store) -> None:
    close(connection, opened(connection), b"")
    names = [row["tablename"] for row in rows(store, "SELECT tablename FROM pg_tables WHERE schemaname = 'headwater'")]
    assert {"staged_part", "chunk", "source", "request"} <= set(names)
    for name in names:
        relation = sql.Identifier("headwater", name)
        for statement in ("SELECT FROM {}", "DELETE FROM {}", "INSERT INTO {} DEFAULT VALUES"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql.SQL(statement).format(relation))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE TABLE headwater.mine ()")
    granted = """
        SELECT relname FROM pg_class
        WHERE relnamespace = 'headwater'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
          AND has_table_privilege('headwater_host', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')"""
    assert rows(store, granted) == []


def test_without_the_role_nothing_can_be_handed_in(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SET ROLE headwater_reader")
        with pytest.raises(StoreError, match=r"grant it the role 'headwater_host'\.$") as error:
            stage_content(connection, b"x", scope=SCOPE, media_type="text/plain")
        assert error.value.__cause__ is None and error.value.__suppress_context__  # whose words a logger would print


def test_what_stands_on_the_search_path_of_the_caller_is_not_called(
    connection: psycopg.Connection, store: Store
) -> None:
    # A table of the caller's in place of ours, under the owner's rights, would show what the functions write.
    with store.connection() as owner:
        owner.execute(f"GRANT TEMPORARY ON DATABASE {owner.info.dbname} TO headwater_host".encode())
    connection.execute("CREATE TEMPORARY TABLE staged_content (content_id uuid, scope_id bigint, media_type text)")
    opened(connection)
    assert connection.execute("SELECT count(*) FROM pg_temp.staged_content").fetchone() == (0,)
    connection.execute("DROP TABLE pg_temp.staged_content")
    assert len(table(store, "staged_content")) == 1


def test_a_role_that_an_administrator_makes_is_granted_by_the_next_migration(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA headwater FROM headwater_host")
        migrate(database)
        row = admin.execute(
            "SELECT has_function_privilege('headwater_host', 'headwater.stage_close(uuid, bytea)', 'EXECUTE')"
        ).fetchone()
    assert row == (True,)


BYTES = bytes(range(256)) * (PART_BYTES // 100)  # two parts and a bit
PIECES: dict[str, Content] = {
    "bytes": BYTES,
    "a file": io.BytesIO(BYTES),
    "small pieces": [BYTES[first : first + 70_000] for first in range(0, len(BYTES), 70_000)],
    "large pieces": [BYTES[: PART_BYTES * 2 + 1], b"", BYTES[PART_BYTES * 2 + 1 :]],
}


def test_the_library_sends_content_in_equal_parts(connection: psycopg.Connection, store: Store) -> None:
    for kind, content in PIECES.items():
        staged = stage_content(connection, content, scope=SCOPE, media_type="text/plain")
        assert (staged.bytes, staged.sha256) == (len(BYTES), hashlib.sha256(BYTES).hexdigest()), kind
        parts = {row["part"]: row["data"] for row in table(store, "staged_part") if row["content_id"] == staged.id}
        assert {number: len(data) for number, data in parts.items()} == {
            1: PART_BYTES, 2: PART_BYTES, 3: len(BYTES) - 2 * PART_BYTES
        }, kind  # fmt: skip
        assert b"".join(data for _, data in sorted(parts.items())) == BYTES, kind


async def _trickle() -> AsyncIterator[bytes]:
    for first in range(0, len(BYTES), 100_000):
        yield BYTES[first : first + 100_000]


async def test_the_library_sends_content_from_asyncio_too(host: str, store: Store) -> None:
    for content in (_trickle(), io.BytesIO(BYTES)):
        # Not in autocommit: each part commits.
        async with await psycopg.AsyncConnection.connect(host) as connection:
            staged = await stage_content_async(connection, content, scope=SCOPE, media_type="text/plain")
        assert staged.sha256 == hashlib.sha256(BYTES).hexdigest()
    assert (
        stored(store) == BYTES[:PART_BYTES] * 2 + BYTES[PART_BYTES : 2 * PART_BYTES] * 2 + BYTES[2 * PART_BYTES :] * 2
    )


class Endless:
    """A file that never ends."""

    def read(self, size: int) -> bytes:
        return bytes(size)


def test_the_library_says_what_is_refused(connection: psycopg.Connection) -> None:
    with pytest.raises(LimitError, match="more than 3,145,728 bytes"):
        stage_content(connection, Endless(), scope=SCOPE, media_type="text/plain", max_bytes=3 * PART_BYTES)
    with pytest.raises(ValidationError, match="media_type must be"):
        stage_content(connection, b"x", scope=SCOPE, media_type="")
    with pytest.raises(StoreError, match="run `headwater migrate`"):
        stage_content(connection, b"x", scope=SCOPE, media_type="text/plain", schema="elsewhere")


def rows(store: Store, query: str) -> list[dict[str, str]]:
    from psycopg.rows import dict_row

    with store.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.encode()).fetchall()
