"""What a reader is told that Postgres did: whether it is away, or answered, and whose move it is."""

import psycopg
import pytest
from psycopg import errors

from headwater.errors import StoreError
from headwater.store import db

AWAY = {"08006": "connection_failure", "57P01": "shut down by an administrator", "57P03": "starting up"}
REFUSED = {
    "22012": "a division by zero",
    "53100": "the disk is full",
    "53200": "out of memory",
    "54001": "too complex",
    "XX000": "an internal error",
}


def told(error: psycopg.Error) -> str:
    with pytest.raises(StoreError) as caught, db.translated("headwater"):
        raise error
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    return str(caught.value)


@pytest.mark.parametrize("sqlstate", AWAY)
def test_a_server_that_is_away_gave_no_answer(sqlstate: str) -> None:
    assert told(errors.lookup(sqlstate)("secret")).startswith("Postgres gave no answer (")


@pytest.mark.parametrize("error", [psycopg.OperationalError("secret"), psycopg.InterfaceError("secret")])
def test_nor_did_one_whose_connection_is_gone(error: psycopg.Error) -> None:
    assert told(error).startswith("Postgres gave no answer (")


@pytest.mark.parametrize("sqlstate", REFUSED)
def test_a_server_that_answered_with_an_error_is_not_said_to_be_away(sqlstate: str) -> None:
    kind = errors.lookup(sqlstate)

    assert told(kind("secret")) == f"Postgres refused the question ({kind.__name__}, {sqlstate}): its log says why."


def test_a_function_that_is_not_there_is_one_of_an_older_release() -> None:
    said = told(errors.UndefinedFunction("secret"))

    assert "headwater migrate" in said and "ALTER EXTENSION vector UPDATE" in said


def test_what_a_standby_broke_off_is_asked_again() -> None:
    assert told(errors.SerializationFailure("secret")).endswith("ask again.")
