"""A pool of connections to the corpus's schema, and the one place where Postgres's errors become ours."""

import select
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import psycopg
from pgvector.psycopg import register_vector
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from activities.store.tsvector import register_tsvector
from headwater.errors import StoreError, TransientError, ValidationError
from headwater.ids import check_schema
from headwater.store.dsn import is_quotable, not_reached

CONNECT_TIMEOUT_S = 10
NOT_MIGRATED = "This database has no pgvector yet: run `headwater migrate`."

# What waiting, or another attempt, can help: SQLSTATEs and whole classes of them.
_PASSING: Final = (
    "08",  # the connection broke, or a pooler in between had none
    "25006",  # this server is a standby now: after a failover the same address leads to the new primary
    "25P03",  # a transaction that idled too long, as a machine that slept lets it
    "25P04",  # a transaction that took too long
    "40",  # serialization failures and deadlocks
    "53",  # out of memory, connections or disk
    "55006",  # somebody else uses the object
    "55P03",  # somebody else has the lock
    "57",  # cancelled, shut down, starting up
    "58000",  # the system under Postgres failed
    "58030",  # input or output failed
    "72",  # the snapshot got too old
)
_LASTING: Final = (
    "40002",  # a constraint was broken, if only at the end
    "57P04",  # the database was dropped
)


class StoreUnavailable(TransientError, StoreError):
    """Postgres is away, overloaded or out of room: the same call may work later."""

    code = "ERR_HEADWATER_STORE"


class DuplicateRow(StoreError):
    """A row is there already: another attempt of the same work wrote it."""


@dataclass(frozen=True, slots=True)
class Store:
    """Where the corpus is written. Safe to share between threads; close it at the end."""

    pool: ConnectionPool[psycopg.Connection]
    schema: str

    @classmethod
    def open(cls, dsn: str, *, schema: str = "headwater", max_size: int = 16) -> Self:
        """A store whose first connection stands; `StoreUnavailable` when Postgres does not answer."""
        check_schema(schema)
        pool: ConnectionPool[psycopg.Connection] = ConnectionPool(
            dsn,
            connection_class=psycopg.Connection,
            kwargs=CONNECTION,
            configure=_configure,
            check=_check,
            min_size=1,
            max_size=max_size,
            timeout=CONNECT_TIMEOUT_S,
            open=False,
        )
        try:
            with translated():
                with connect(dsn) as first:  # its error says why; the pool's only says "timeout"
                    _configure(first)
                pool.open(wait=True, timeout=CONNECT_TIMEOUT_S)
        except BaseException:
            pool.close()
            raise
        return cls(pool=pool, schema=schema)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        """A connection in autocommit: `with connection.transaction()` makes one. Errors come out as ours."""
        with translated(), self.pool.connection() as connection:
            yield connection

    def close(self) -> None:
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Our texts are UTF-8 whatever PGCLIENTENCODING says. Statements are few and hot: prepare each at its first use.
CONNECTION: dict[str, Any] = {
    "autocommit": True,
    "client_encoding": "utf-8",
    "application_name": "headwater",
    "prepare_threshold": 0,
    "connect_timeout": CONNECT_TIMEOUT_S,
}


def _configure(connection: psycopg.Connection) -> None:
    # Publishing reads under the scope's lock what others committed while it waited: only READ COMMITTED shows that.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    register_tsvector(connection)
    try:
        register_vector(connection)
    except psycopg.ProgrammingError as error:  # it looks the type up, and does not find it
        raise StoreError(NOT_MIGRATED) from error


def _check(connection: psycopg.Connection) -> None:
    """A restarted server costs a reconnect, not an error.

    A server that ends an idle connection says so or closes it: one that has said nothing is as good as a round trip says.
    """
    has_news = select.poll()
    has_news.register(connection.fileno(), select.POLLIN)
    if has_news.poll(0):
        ConnectionPool.check_connection(connection)


def connect(dsn: str) -> psycopg.Connection:
    """One connection of its own, which may be to an empty database: for migrating and for checks."""
    try:
        return psycopg.connect(dsn, **CONNECTION)
    except (psycopg.ProgrammingError, UnicodeError):  # the message repeats the string, password and all
        raise ValidationError(
            "The database URL is not one Postgres understands: write postgresql://user:password@host:port/database."
        ) from None
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"Postgres is not reachable ({not_reached(error, dsn)}): see whether it is up, and check "
            "HEADWATER_DATABASE_URL."
        ) from (error if is_quotable(dsn) else None)


@contextmanager
def translated() -> Iterator[None]:
    """Errors of psycopg come out as `StoreUnavailable` or `StoreError`, without the values that were bound."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable(
            f"No connection to Postgres came free within {CONNECT_TIMEOUT_S} s: see whether the server is up, "
            "and whether its max_connections is enough for all workers."
        ) from error
    except PoolClosed as error:
        raise StoreUnavailable("The store is closed here: this process is stopping, another one goes on.") from error
    except psycopg.errors.DiskFull as error:
        raise StoreUnavailable(
            "Postgres has no room left on its disk: free some space, then run this again."
        ) from error
    except psycopg.errors.UniqueViolation as error:
        rule = error.diag.constraint_name or "a unique key"
        raise DuplicateRow(f"Postgres has such a row already ({rule}): another attempt wrote it meanwhile.") from error
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
        raise StoreError("The schema is not there, or is older than this program: run `headwater migrate`.") from error
    except psycopg.Error as error:
        if is_passing(error):
            raise StoreUnavailable(
                f"Postgres broke off ({type(error).__name__}, {error.sqlstate or 'no SQLSTATE'}): the same step may be run "
                "again."
            ) from error
        # Not the message: it can repeat a value. The names of the rule and of what broke it are safe.
        where = error.diag.constraint_name or error.diag.table_name or "this statement"
        raise StoreError(
            f"Postgres refused {where} ({type(error).__name__}, {error.sqlstate}): "
            "run `headwater doctor`; its log has the details."
        ) from error


def is_passing(error: psycopg.Error) -> bool:
    """Waiting may help. Without an SQLSTATE nothing was refused: the connection was lost."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(_PASSING) and error.sqlstate not in _LASTING
