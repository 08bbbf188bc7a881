"""Which refusals of Postgres are waited out, and that nobody is told a piece of a password."""

import psycopg
import pytest
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from activities.store import DuplicateRow, StoreUnavailable
from activities.store.database import connect, translated
from headwater.errors import HeadwaterError, StoreError, TransientError, ValidationError
from headwater.store.dsn import is_quotable, not_reached

PASSING = {
    "08000": "connection_exception",
    "08006": "connection_failure",
    "08P01": "a pooler has no connection left",
    "25006": "the server is a standby now",
    "25P03": "idle in a transaction for too long",
    "25P04": "a transaction took too long",
    "40001": "serialization failure",
    "40003": "whether it was committed is not known",
    "40P01": "deadlock",
    "53100": "the disk is full",
    "53200": "out of memory",
    "53300": "too many connections",
    "53400": "a configured limit was reached",
    "55006": "object in use",
    "55P03": "lock not available",
    "57014": "cancelled",
    "57P01": "shut down by an administrator",
    "57P02": "shut down by a crash",
    "57P03": "starting up",
    "57P05": "idle for too long",
    "58000": "system error",
    "58030": "input or output error",
    "72000": "snapshot too old",
}
LASTING = {
    "0A000": "not supported",
    "22001": "a value is too long",
    "22P02": "a value is no number",
    "23502": "a value is missing",
    "23503": "a foreign key points nowhere",
    "23514": "a check failed",
    "25001": "already in a transaction",
    "25P02": "the transaction had failed before",
    "28P01": "wrong password",
    "40002": "a constraint was broken at the end",
    "42501": "not allowed",
    "42601": "a syntax error",
    "42P01": "no such table",
    "54000": "a program limit: the same statement meets it again",
    "54001": "too complex",
    "55000": "the object is not in the state for it",
    "57P04": "the database was dropped",
    "58P01": "a file of the server is missing",
    "P0001": "raised by a function",
    "XX000": "an internal error",
    "XX001": "data corrupted",
}


@pytest.mark.parametrize("sqlstate", PASSING)
def test_what_passes_is_waited_out(sqlstate: str) -> None:
    with pytest.raises(StoreUnavailable) as caught, translated():
        raise errors.lookup(sqlstate)("secret")
    assert isinstance(caught.value, TransientError) and "secret" not in str(caught.value)


@pytest.mark.parametrize("sqlstate", LASTING)
def test_what_lasts_is_not(sqlstate: str) -> None:
    with pytest.raises(StoreError) as caught, translated():
        raise errors.lookup(sqlstate)("secret")
    assert not isinstance(caught.value, TransientError) and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "type_"),
    [
        (psycopg.OperationalError("the connection is lost"), StoreUnavailable),
        (psycopg.InterfaceError("the connection is lost"), StoreUnavailable),
        (PoolTimeout("none came free"), StoreUnavailable),
        (PoolClosed("the process stops"), StoreUnavailable),
        (psycopg.DataError("a value cannot be sent"), StoreError),
        (psycopg.ProgrammingError("a parameter is missing"), StoreError),
        (errors.UniqueViolation("there already"), DuplicateRow),
    ],
)
def test_errors_of_the_client_are_of_one_kind_each(error: psycopg.Error, type_: type[HeadwaterError]) -> None:
    with pytest.raises(HeadwaterError) as caught, translated():
        raise error
    assert type(caught.value) is type_


@pytest.mark.parametrize("password", ["hun@ter2", "hun/ter2", "5432/ter2", "hun?ter2", "hun?host=ter2"])
def test_a_password_that_ends_early_is_not_quoted(password: str) -> None:
    with pytest.raises(StoreUnavailable, match="as %40, %2F and %3F") as caught:
        connect(f"postgresql://u:{password}@127.0.0.1:1/db")
    assert "ter2" not in str(caught.value) and "hun" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize("dsn", ["postgresql://u:%zzter2@h/db", "postgresql://u:x@te..r2@h/db", "host ter2"])
def test_what_is_no_address_is_not_quoted_either(dsn: str) -> None:
    with pytest.raises(ValidationError) as caught:
        connect(dsn)
    assert "ter2" not in str(caught.value) and "te..r2" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreUnavailable) as caught:
        connect("postgresql://u:hunter2@127.0.0.1:1/db")
    assert str(caught.value) == (
        'Postgres is not reachable (connection to server at "127.0.0.1", port 1 failed: Connection refused): '
        "see whether it is up, and check HEADWATER_DATABASE_URL."
    )


@pytest.mark.parametrize(
    ("dsn", "is_safe"),
    [
        ("postgresql://u:p@h:5432/db", True),
        ("postgres://u:p%40x@h1:1,h2:2/db?sslmode=require", True),
        ("postgresql://h/db", True),
        ("postgresql://u:p@[::1]:5432/db", True),
        ("postgresql:///db?host=/run/postgresql", True),
        ("host=h port=5432 user=u password='a b' dbname=db", True),
        ("postgresql://u:a@b@h/db", False),
        ("postgresql://u:a/b@h/db", False),
        ("postgresql://u:a?host=b@h/db", False),
        ("postgresql://u:hunter2/db", False),
        ("host=h user=u password=a host=b", False),
        ("host=a@b user=u", False),
        ("nothing at all", False),
    ],
)
def test_an_address_is_quoted_when_it_reads_one_way_only(dsn: str, is_safe: bool) -> None:
    assert is_quotable(dsn) is is_safe


def test_of_several_attempts_the_last_is_told_once() -> None:
    error = psycopg.OperationalError(
        'connection failed: connection to server at "10.0.0.2", port 2 failed: Connection refused\n'
        "\tIs the server running on that host and accepting TCP/IP connections?\n"
        "Multiple connection attempts failed. All failures were:\n"
        "- host: 'h', port: '1', hostaddr: '10.0.0.1': connection failed: …"
    )
    assert not_reached(error, "postgresql://u:p@h/db") == (
        'connection to server at "10.0.0.2", port 2 failed: Connection refused'
    )
