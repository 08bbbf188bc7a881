"""The login that hosts read with."""

from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from activities.store.sql import reader_role
from workers.guard.addresses import READER, reader_url


def ensure_reader_login(database_url: str, schema: str) -> str:
    """The address of a login that may read ``schema``. Call it after the migrations, which make the schema's reader role.

    One login serves all schemas of a home. Its password follows from the owner's, so it is stored nowhere.
    """
    url, role = reader_url(database_url), reader_role(schema)
    login, reader = sql.Identifier(READER), sql.Identifier(role)
    with psycopg.connect(database_url) as connection:
        # By two commands at once: the second waits, and then finds it done.
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (READER,))
        if not _one(connection, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)", READER):
            password = sql.Literal(conninfo_to_dict(url)["password"])
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(login, password))
            connection.execute(sql.SQL("ALTER ROLE {} SET default_transaction_read_only = on").format(login))
        if not _one(connection, "SELECT pg_has_role(%s, %s, 'USAGE')", READER, role):
            connection.execute(sql.SQL("GRANT {} TO {}").format(reader, login))
    return url


def _one(connection: psycopg.Connection, question: LiteralString, *values: str) -> bool:
    row = connection.execute(question, values).fetchone()
    return bool(row and row[0])
