"""Postgres as the library uses it: its connections, and what its errors mean to a host."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import IsolationLevel, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolClosed, PoolTimeout

from headwater.errors import StoreError
from headwater.limits import STATEMENT_S
from headwater.store.dsn import is_quotable, not_reached
from headwater.store.effects import Batch, Rows
from headwater.store.statements import statement

POOL_SIZE: Final = 4
WAIT_S: Final = 10.0  # for a connection
GLANCE_S: Final = 1.0  # the part of it after which the server is asked why the pool got none

# Each statement is prepared at its first use. UTF-8, whatever PGCLIENTENCODING says.
_CONNECTION: Final[dict[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "client_encoding": "utf-8",
}
# What a connection string may say otherwise. A server that vanished without a word is given up after a minute: by probes where we
# wait for its answer, and where it does not even acknowledge what we sent.
_UNLESS_SAID: Final[dict[str, Any]] = {
    "application_name": "headwater-retriever",
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # ms
}
# A connection is made when a question needs one. After a failed attempt nothing goes on trying behind the host's back: the
# next question tries, so that a server which is back is found at once.
_POOL: Final[dict[str, Any]] = {
    "min_size": 0,
    "max_size": POOL_SIZE,
    "num_workers": 1,
    "reconnect_timeout": 0.0,
    "timeout": WAIT_S,
    "open": False,
}

Pool = ConnectionPool[psycopg.Connection]
AsyncPool = AsyncConnectionPool[psycopg.AsyncConnection]


def make_pool(dsn: str) -> Pool:
    """A pool that is not open yet, and so has neither threads nor connections.

    Open it when `connect` has succeeded: the pool logs why it gets no connection, and until then that may quote a password.
    """

    return ConnectionPool(dsn, kwargs=_connection(dsn), configure=_set_up, **_POOL)


def make_async_pool(dsn: str) -> AsyncPool:
    """The same, for asyncio."""
    return AsyncConnectionPool(dsn, kwargs=_connection(dsn), configure=_set_up_async, **_POOL)


def _connection(dsn: str) -> dict[str, Any]:
    return _CONNECTION | unless_said(dsn)


def unless_said(dsn: str, **ours: Any) -> dict[str, Any]:
    """How to connect, with what is ``ours``, as far as ``dsn`` does not say otherwise."""
    try:
        said = conninfo_to_dict(dsn)
    except (psycopg.Error, UnicodeError):  # told by the first attempt, without the password that is in the error
        said = {}
    return {name: value for name, value in (_UNLESS_SAID | ours).items() if name not in said}


def failures(pool: Pool | AsyncPool) -> int:
    """How often the pool tried to connect in vain. Why, only `connect` says."""
    return pool.get_stats().get("connections_errors", 0)


def is_refused(pool: Pool | AsyncPool, *, failures_before: int) -> bool:
    """A wait was in vain because there is no connection to be had, not because all are busy or on their way."""
    # An attempt that was failing when the wait began was counted before it, and leaves nothing behind.
    return failures(pool) > failures_before or pool.get_stats()["pool_size"] == 0


@contextmanager
def lending(pool: Pool | AsyncPool) -> Iterator[None]:
    """A pool that lends nothing is a `StoreError`. Its own errors would pass for those of a lost connection."""
    try:
        yield
    except PoolClosed as error:
        raise StoreError("This retriever is closed: open another one.") from error
    except PoolTimeout as error:
        if pool.get_stats()["pool_size"] < POOL_SIZE:
            raise StoreError(_no_answer(f"no connection in {pool.timeout:g} s")) from error
        raise StoreError(
            f"All {POOL_SIZE} connections of this retriever were busy for {pool.timeout:g} s: ask for less at once, "
            "or open a second retriever."
        ) from error


def connect(dsn: str) -> psycopg.Connection:
    """A connection outside the pool, set up for reading, or the `StoreError` that says why there is none."""
    with reached(dsn):
        connection = psycopg.connect(dsn, **_connection(dsn))
    try:
        _set_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


async def connect_async(dsn: str) -> psycopg.AsyncConnection:
    """The same, for asyncio."""
    with reached(dsn):
        connection = await psycopg.AsyncConnection.connect(dsn, **_connection(dsn))
    try:
        await _set_up_async(connection)
    except BaseException:
        await connection.close()
        raise
    return connection


def run(connection: psycopg.Connection, batch: Batch) -> list[Rows]:
    """The rows of each statement. Several read one snapshot, and go to the server and back together."""
    if len(batch.statements) == 1:
        return [connection.execute(each.sql, each.parameters).fetchall() for each in batch.statements]
    with connection.pipeline(), connection.transaction():
        cursors = [connection.execute(each.sql, each.parameters) for each in batch.statements]
        return [cursor.fetchall() for cursor in cursors]


async def run_async(connection: psycopg.AsyncConnection, batch: Batch) -> list[Rows]:
    """The same, for asyncio."""
    if len(batch.statements) == 1:
        return [await (await connection.execute(each.sql, each.parameters)).fetchall() for each in batch.statements]
    async with connection.pipeline(), connection.transaction():
        cursors = [await connection.execute(each.sql, each.parameters) for each in batch.statements]
        return [await cursor.fetchall() for cursor in cursors]


def _set_up(connection: psycopg.Connection) -> None:
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    connection.execute(statement("session", "", statement_s=STATEMENT_S), {})
    _check_settings(connection.execute(statement("settings", ""), {}).fetchone())


async def _set_up_async(connection: psycopg.AsyncConnection) -> None:
    await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
    await connection.execute(statement("session", "", statement_s=STATEMENT_S), {})
    _check_settings(await (await connection.execute(statement("settings", ""), {})).fetchone())


def _check_settings(row: tuple[Any, ...] | None) -> None:
    if row != (True,):
        raise StoreError(_OLD_PGVECTOR)


_OLD_PGVECTOR: Final = (
    "This database's pgvector knows no iterative scan of an HNSW index: install 0.8.4 or later on the server, then run "
    "ALTER EXTENSION vector UPDATE."
)


@contextmanager
def reached(dsn: str) -> Iterator[None]:
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
        raise StoreError(_sentence(error, schema)) from None  # its words may repeat a value, and loggers print causes


def given_up(error: BaseException, schema: str) -> BaseException:
    """``error`` as a recipe hears of it. A lost connection is no failed look, of which it would make an empty answer."""
    if not is_lost(error):
        return error
    assert isinstance(error, psycopg.Error)
    told = StoreError(_sentence(error, schema))
    told.__suppress_context__ = True  # as in `translated`
    return told


def _sentence(error: psycopg.Error, schema: str) -> str:
    match error:
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedColumn() | errors.UndefinedObject():
            return f"Schema {schema!r} of this database is not one of this release: run `headwater migrate` first."
        case errors.InsufficientPrivilege():
            return f"This database login may not read schema {schema!r}: grant it the role {schema + '_reader'!r}."
        case errors.QueryCanceled():
            return (
                f"Postgres stopped the question ({reason(error)}): it took longer than the statement_timeout of its session "
                f"({STATEMENT_S} s unless you said otherwise), or somebody cancelled it. Ask for less or again, or give the "
                "connection string another limit: options=-c%20statement_timeout=60s."
            )
        case errors.InvalidName():  # of a setting: the only names that are not quoted
            return _OLD_PGVECTOR
        case errors.UndefinedFunction():
            return (
                f"This database lacks a function that the question needs ({reason(error)}): run `headwater migrate`, and ALTER EXTENSION "
                "vector UPDATE where pgvector is older than 0.8.4."
            )
        case errors.SerializationFailure():  # a standby, whose primary took away what was being read
            return f"Postgres broke the question off ({reason(error)}), and will answer it another time: ask again."
        case psycopg.InterfaceError():  # ours, of a connection that is closed
            return _no_answer(reason(error))
        case _ if is_lost(error):
            return _no_answer(reason(error))
        case _:
            return f"Postgres refused the question ({reason(error)}): its log says why."


def _no_answer(why: str) -> str:
    return f"Postgres gave no answer ({why}): see whether it is up and reachable, then ask again."


def is_lost(error: BaseException) -> bool:
    """The connection is gone, which says nothing about the next one."""
    if not isinstance(error, psycopg.OperationalError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def reason(error: psycopg.Error) -> str:
    """What kind of error this was. Its words may repeat a stored value."""
    return type(error).__name__ if error.sqlstate is None else f"{type(error).__name__}, {error.sqlstate}"
