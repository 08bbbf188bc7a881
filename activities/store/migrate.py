"""Bringing a database's schema up to date: numbered SQL files, each applied once, in order, in its own transaction."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import psycopg

from activities.store.database import connect, translated
from activities.store.sql import fill, host_role, queries, reader_role
from headwater.errors import StoreError
from headwater.ids import check_schema

OLDEST_POSTGRES = 15
OLDEST_PGVECTOR = (0, 8, 4)


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def shipped() -> list[Migration]:
    """The migrations of this program, in order."""
    folder = resources.files("activities.store").joinpath("migrations")
    files = sorted(file.name for file in folder.iterdir() if re.fullmatch(r"\d{4}_\w+\.sql", file.name))
    return [Migration(int(name[:4]), name, folder.joinpath(name).read_text("utf-8")) for name in files]


def migrate(dsn: str, schema: str = "headwater", *, migrations: Sequence[Migration] | None = None) -> list[str]:
    """The names of the files applied now. Safe twice, and by two processes at once: the second finds nothing to do."""
    check_schema(schema)
    wanted = shipped() if migrations is None else migrations
    named = queries(schema, "migrate")
    with translated(), connect(dsn) as connection:
        connection.execute(named["take_lock"], {"schema": schema})
        _check_server(connection, schema)
        _ensure_extension(connection, schema)
        _ensure_ledger(connection, schema)
        todo = _pending(connection, schema, wanted)
        for migration in todo:
            with connection.transaction():
                _apply(connection, schema, migration)
                parameters = {"number": migration.number, "name": migration.name, "sha256": migration.sha256}
                connection.execute(named["record"], parameters)
        reader, host = reader_role(schema), host_role(schema)
        for kind, role in (("reader", reader), ("words", reader), ("host", host)):
            _ensure_role(connection, schema, kind, role, anew=bool(todo))
        return [migration.name for migration in todo]


def pending(dsn: str, schema: str = "headwater", *, migrations: Sequence[Migration] | None = None) -> list[str]:
    """The names of the files that `migrate` would apply. Writes nothing."""
    check_schema(schema)
    wanted = shipped() if migrations is None else migrations
    with translated(), connect(dsn) as connection:
        if not _is(connection, queries(schema, "migrate")["has_ledger"], schema):
            return [migration.name for migration in wanted]
        return [migration.name for migration in _pending(connection, schema, wanted)]


def _pending(connection: psycopg.Connection, schema: str, wanted: Sequence[Migration]) -> list[Migration]:
    known = {migration.number: migration for migration in wanted}
    applied = connection.execute(queries(schema, "migrate")["applied"], {}).fetchall()
    for number, name, sha256 in applied:
        if number not in known:
            raise StoreError(
                f"Schema {schema!r} has migration {name}, which this program does not know: "
                "the database was migrated by a newer headwater; install that one."
            )
        if known[number].sha256 != sha256:
            raise StoreError(
                f"Migration {known[number].name} differs from what was applied to schema {schema!r}: "
                "restore the file as it was released, and put changes into a new one."
            )
    done = {number for number, _, _ in applied}
    return [migration for migration in wanted if migration.number not in done]


def _apply(connection: psycopg.Connection, schema: str, migration: Migration) -> None:
    try:
        # No parameters, not prepared: psycopg then sends the whole file at once, and leaves every % alone.
        connection.execute(fill(migration.text, schema).encode(), prepare=False)
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        # A migration binds no values, so the server's own words are safe, and they are what one needs.
        reason = error.diag.message_primary or type(error).__name__
        raise StoreError(
            f"Migration {migration.name} failed in schema {schema!r} ({reason}) and left nothing behind: "
            "mend the cause, then run `headwater migrate` again."
        ) from error


def _check_server(connection: psycopg.Connection, schema: str) -> None:
    row = connection.execute(queries(schema, "migrate")["server"], {}).fetchone()
    assert row is not None
    version, encoding = row
    if version < OLDEST_POSTGRES * 10_000:
        raise StoreError(
            f"This server is PostgreSQL {version // 10_000}, and {OLDEST_POSTGRES} is the oldest that will do: upgrade it."
        )
    if encoding != "UTF8":
        raise StoreError(
            f"This database is encoded in {encoding}: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0."
        )


def _ensure_extension(connection: psycopg.Connection, schema: str) -> None:
    named = queries(schema, "migrate")
    row = connection.execute(named["extension"], {}).fetchone()
    if row is None:
        try:
            connection.execute(named["create_extension"], {})
        except psycopg.errors.UniqueViolation:  # another schema's migration made it at this moment
            pass
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreError(
                "This login may not install pgvector: have an administrator run CREATE EXTENSION vector in this database."
            ) from error
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
            oldest = ".".join(map(str, OLDEST_PGVECTOR))
            raise StoreError(f"This server has no pgvector: install pgvector {oldest} or later there.") from error
        row = connection.execute(named["extension"], {}).fetchone()
        assert row is not None
    version, home, on_path = row
    if tuple(int(part) for part in re.findall(r"\d+", version)[:3]) < OLDEST_PGVECTOR:
        oldest = ".".join(map(str, OLDEST_PGVECTOR))
        raise StoreError(
            f"pgvector {version} is installed, and {oldest} is the oldest that will do: "
            "install it on the server, then run ALTER EXTENSION vector UPDATE."
        )
    if not on_path:
        raise StoreError(
            f"pgvector lives in schema {home!r}, which this login does not search: "
            f"run ALTER ROLE … SET search_path = public, {home}."
        )


def _ensure_ledger(connection: psycopg.Connection, schema: str) -> None:
    named = queries(schema, "migrate")
    with connection.transaction():
        if not _is(connection, named["has_schema"], schema):
            try:
                connection.execute(named["create_schema"], {})
            except psycopg.errors.InsufficientPrivilege as error:
                raise StoreError(
                    f"This login may not create schema {schema!r}: have an administrator create it for this login, "
                    "or grant CREATE on the database."
                ) from error
        if not _is(connection, named["has_ledger"], schema):
            connection.execute(named["create_ledger"], {})


def _ensure_role(connection: psycopg.Connection, schema: str, kind: str, role: str, *, anew: bool) -> None:
    """A role and what it may do; where this login may not create roles, only if somebody else has."""
    named = queries(schema, "migrate")
    row = connection.execute(named[kind], {"schema": schema, "role": role}).fetchone()
    if row is None:
        return  # the schema is older than what the role is for
    is_there, may_create, is_granted = row
    if not is_there:
        if not may_create:
            return
        try:
            connection.execute(named[f"create_{kind}"], {})
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            pass  # roles are the server's: another database's migration made it
    if anew or not is_granted:
        connection.execute(named[f"grant_{kind}_usage"], {})
        connection.execute(named[f"grant_{kind}"], {})


def _is(connection: psycopg.Connection, query: bytes, schema: str) -> bool:
    row = connection.execute(query, {"schema": schema}).fetchone()
    return row is not None and bool(row[0])
