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

from headwater.dsn import is_quotable, not_reached
from headwater.errors import StoreError

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


# Each statement is prepared at its first use. UTF-8, whatever PGCLIENTENCODING says.
_CONNECTION: Final[dict[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "client_encoding": "utf-8",
    "application_name": "headwater-retriever",
    "connect_timeout": 10,
}


def connect(dsn: str) -> psycopg.Connection:
    """A connection that is set up for reading, or the `StoreError` that says why there is none."""
    with _reached(dsn):
        connection = psycopg.connect(dsn, **_CONNECTION)
    try:
        connection.execute(statement("session", ""), {})
    except BaseException:
        connection.close()
        raise
    return connection


async def connect_async(dsn: str) -> psycopg.AsyncConnection:
    """The same, for asyncio."""
    with _reached(dsn):
        connection = await psycopg.AsyncConnection.connect(dsn, **_CONNECTION)
    try:
        await connection.execute(statement("session", ""), {})
    except BaseException:
        await connection.close()
        raise
    return connection


@contextmanager
def _reached(dsn: str) -> Iterator[None]:
    try:
        yield
    except (psycopg.ProgrammingError, UnicodeError):  # the message repeats the string, password and all
        raise StoreError(
            "dsn is not one Postgres understands: write postgresql://user:password@host:port/database."
        ) from None
    except psycopg.Error as error:
        raise StoreError(_no_answer(not_reached(error, dsn))) from (error if is_quotable(dsn) else None)


@contextmanager
def translated(schema: str) -> Iterator[None]:
    """Errors of Postgres come out as `StoreError`: one sentence, without the values that were bound."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(_sentence(error, schema)) from error


def _sentence(error: psycopg.Error, schema: str) -> str:
    match error:
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedColumn() | errors.UndefinedObject():
            return f"Schema {schema!r} of this database is not one of this release: run `headwater migrate` first."
        case errors.InsufficientPrivilege():
            return f"This database login may not read schema {schema!r}: grant it the role {schema + '_reader'!r}."
        case _:
            return _no_answer(reason(error))


def _no_answer(why: str) -> str:
    return f"Postgres gave no answer ({why}): see whether it is up and reachable, then ask again."


def is_lost(error: psycopg.Error) -> bool:
    """The connection is gone, which says nothing about the next one."""
    if not isinstance(error, psycopg.OperationalError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def reason(error: psycopg.Error) -> str:
    """What kind of error this was. Its words may repeat a stored value."""
    return type(error).__name__ if error.sqlstate is None else f"{type(error).__name__}, {error.sqlstate}"
