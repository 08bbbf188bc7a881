"""Postgres as the library uses it: its statements, its connections, and what its errors mean to a host."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

import psycopg
from psycopg import errors, sql
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolClosed, PoolTimeout

from headwater.errors import StoreError, ValidationError

POOL_SIZE: Final = 4
WAIT_S: Final = 10  # for the server to answer, and for a connection to come free
GLANCE_S: Final = 1.0  # after this long without a connection, ask the server itself why
SCHEMA_BYTES: Final = 56  # leaves room for "_reader" within the 63 that Postgres keeps of a name

_HEADING = re.compile(r"^-- ([a-z_]+) --\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_PLACE = re.compile(r"\{([a-z_]+)\}")


@lru_cache(maxsize=512)
def statement(name: str, schema: str, **numbers: int) -> bytes:
    """The block ``name`` of ``queries.sql`` with its parts, the quoted schema and ``numbers`` in place.

    To be executed with parameters, if only ``{}``: psycopg then reads the ``%%`` of a schema's name as ``%``.
    """
    quoted = sql.Identifier(schema).as_string(None).replace("%", "%%")
    known = {"schema": quoted, **{key: str(number) for key, number in numbers.items()}}

    def fill(block: str) -> str:
        return _PLACE.sub(lambda place: known[place[1]] if place[1] in known else fill(_blocks()[place[1]]), block)

    return fill(_blocks()[name]).encode()


@cache
def _blocks() -> Mapping[str, str]:
    text = resources.files("headwater").joinpath("queries.sql").read_text("utf-8")
    parts = _HEADING.split(text)[1:]
    # Without comments and indents the longest statement stays below the 4,096 bytes up to which psycopg remembers its
    # placeholders; beyond, it would look for them in every call.
    lines = (_COMMENT.sub("", part) for part in parts[1::2])
    return MappingProxyType(
        dict(zip(parts[::2], (" ".join(block.split()).rstrip(";") for block in lines), strict=True))
    )


def check_schema(schema: str) -> str:
    """``schema`` unchanged, if Postgres can have a schema and a reader role of that name."""
    if not schema or "\0" in schema or len(schema.encode("utf-8", "replace")) > SCHEMA_BYTES:
        raise ValidationError(f"schema {schema[:80]!r} must have 1 to {SCHEMA_BYTES} bytes and no NUL.")
    return schema


# Each statement is prepared at its first use. UTF-8, whatever PGCLIENTENCODING says.
_CONNECTION: Final[dict[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "client_encoding": "utf-8",
    "application_name": "headwater-retriever",
    "connect_timeout": WAIT_S,
}
# A connection is made when a query needs one. After a failed attempt nothing goes on trying behind the host's back: the
# next query tries, so that a server which is back is found at once.
_POOL: Final[dict[str, Any]] = {
    "kwargs": _CONNECTION,
    "min_size": 0,
    "max_size": POOL_SIZE,
    "num_workers": 1,
    "reconnect_timeout": 0.0,
    "timeout": WAIT_S,
    "open": False,
}


def make_pool(dsn: str) -> ConnectionPool[psycopg.Connection]:
    """A pool that is not open yet, and so has neither threads nor connections."""
    session = statement("session", "")

    def configure(connection: psycopg.Connection) -> None:
        connection.execute(session, {})

    return ConnectionPool(dsn, configure=configure, **_POOL)


def make_async_pool(dsn: str) -> AsyncConnectionPool[psycopg.AsyncConnection]:
    """The same, for asyncio."""
    session = statement("session", "")

    async def configure(connection: psycopg.AsyncConnection) -> None:
        await connection.execute(session, {})

    return AsyncConnectionPool(dsn, configure=configure, **_POOL)


def connect(dsn: str) -> psycopg.Connection:
    """A connection outside the pool. Its error says why there is none; the pool's says only that time ran out."""
    return psycopg.connect(dsn, **_CONNECTION)


async def connect_async(dsn: str) -> psycopg.AsyncConnection:
    """The same, for asyncio."""
    return await psycopg.AsyncConnection.connect(dsn, **_CONNECTION)


@contextmanager
def translated(schema: str) -> Iterator[None]:
    """Errors of Postgres come out as `StoreError`: one sentence, without the values that were bound."""
    try:
        yield
    except PoolClosed as error:
        raise StoreError("This retriever is closed: open another one.") from error
    except PoolTimeout as error:
        raise StoreError(
            f"All {POOL_SIZE} connections of this retriever were busy for {WAIT_S} s: ask for less at once, "
            "or open a second retriever."
        ) from error
    except psycopg.Error as error:
        raise StoreError(_sentence(error, schema)) from error


def _sentence(error: psycopg.Error, schema: str) -> str:
    match error:
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedColumn() | errors.UndefinedObject():
            return f"Schema {schema!r} of this database is not one of this release: run `headwater migrate` first."
        case errors.InsufficientPrivilege():
            return f"This database login may not read schema {schema!r}: grant it the role {schema + '_reader'!r}."
        case psycopg.ProgrammingError() if error.sqlstate is None:  # its message repeats the string, password and all
            return "dsn is not one Postgres understands: write postgresql://user:password@host:port/database."
        case _:
            return f"Postgres gave no answer ({reason(error)}): see whether it is up and reachable, then ask again."


def is_lost(error: psycopg.Error) -> bool:
    """The connection is gone, which says nothing about the next one."""
    if not isinstance(error, psycopg.OperationalError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def reason(error: psycopg.Error) -> str:
    """What kind of error this was. Only a server that was never reached is quoted: others may repeat a stored value."""
    if error.sqlstate is not None:
        return f"{type(error).__name__}, {error.sqlstate}"
    said = " ".join(str(error).removeprefix("connection failed: ").split())
    return said[:200] if isinstance(error, psycopg.OperationalError) and said else type(error).__name__
