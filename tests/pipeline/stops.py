"""Stopping a running sync at one statement: a trigger waits there for a lock that the test holds.

Nothing of the pipeline is replaced or wrapped, and nothing is timed: the sync stands inside its own transaction until
the test lets go, or kills one of those who take part.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, LiteralString

import psycopg

_LOCK: Final = 4711


@dataclass(frozen=True, slots=True)
class Place:
    """A row that a sync writes. ``when`` is a condition on the new row, and on the old one of an update."""

    event: LiteralString
    table: LiteralString
    when: LiteralString


# Half of a listing is written, in the transaction that is held: the second page of a pass is about to be recorded.
MID_LISTING: Final = Place("INSERT", "page", "NEW.seq = 2")
# Documents were read, and none of them is staged.
BEFORE_STAGING: Final = Place("INSERT", "document_version", "true")
# 32 chunks of the batch are committed, and 32 more have their vectors and no commit.
MID_BATCH: Final = Place("UPDATE", "batch", "NEW.embedded > 32")
# Everything is staged. Of the publication, old spans are closed and no new one is open.
BEFORE_PUBLISHING: Final = Place("INSERT", "span", "true")
# Readers see the page, and the checkpoint does not know it.
BEFORE_CHECKPOINT: Final = Place("UPDATE", "checkpoint", "NEW.version > OLD.version")

_MAKE: Final[LiteralString] = """
    CREATE FUNCTION stop_here() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock({lock}); RETURN NEW; END $$;
    CREATE TRIGGER stop_here BEFORE {event} ON headwater.{table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION stop_here()"""
_IS_REACHED: Final = """
    SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
                   WHERE locktype = 'advisory' AND objid = %s AND NOT granted AND d.datname = current_database())"""


class Stop:
    """A place that a sync does not get past."""

    def __init__(self, connection: psycopg.AsyncConnection) -> None:
        self._connection = connection

    async def reached(self, *, within_s: float = 30) -> None:
        """Returns when the sync stands there."""
        async with asyncio.timeout(within_s):
            while True:
                answer = await (await self._connection.execute(_IS_REACHED, (_LOCK,))).fetchone()
                if answer is not None and answer[0]:
                    return
                await asyncio.sleep(0.01)

    async def let_go(self) -> None:
        """The sync goes on, and is not stopped again. Without effect when Postgres was killed: its locks are gone."""
        await self._connection.close()


@contextlib.asynccontextmanager
async def stopping_at(place: Place, dsn: str) -> AsyncIterator[Stop]:
    """A stop in a database that no sync is running on yet."""
    make = _MAKE.replace("{lock}", str(_LOCK)).replace("{event}", place.event)
    make = make.replace("{table}", place.table).replace("{when}", place.when)
    connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    try:
        await connection.execute(make.encode())
        await connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        yield Stop(connection)
    finally:
        await connection.close()
