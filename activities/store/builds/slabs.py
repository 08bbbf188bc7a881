"""Partitions of ``chunk`` for large builds: made empty while readers go on, filled through ``chunk``, indexed at the end."""

import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Final

import psycopg

from activities.store.database import Store, StoreUnavailable
from activities.store.sql import queries, written
from headwater.errors import PermanentError

HNSW_DIMENSIONS: Final = 4_000  # pgvector indexes no more of a halfvec; longer ones are compared one by one
MEMORY_KB: Final = (65_536, 1_048_576)
LOOK_EVERY_S: Final = 0.5


class SlabRefused(PermanentError):
    """A partition cannot be made with this login."""


def partition_name(slab: int) -> str:
    """The table that holds the chunks of ``slab``."""
    return f"chunk_s{slab}"


def index_name(slab: int) -> str:
    """The HNSW index of ``slab``, once `index_slab` has made it."""
    return f"{partition_name(slab)}_hnsw"


def words_name(slab: int) -> str:
    """The index of terms of ``slab``, once `index_slab` has made it."""
    return f"{partition_name(slab)}_tsv"


def ensure_slab(store: Store, slab: int) -> None:
    """The partition is there. Slab 0, which all small builds share, always is."""
    if slab == 0:
        return
    with store.connection() as connection, _turn(connection, store.schema, slab):
        if _is_there(connection, store.schema, slab):
            return
        try:
            with connection.transaction():
                connection.execute(_written(store.schema, "create", slab), prepare=False)
                connection.execute(_written(store.schema, "attach", slab), prepare=False)
        except psycopg.errors.InsufficientPrivilege as error:
            raise SlabRefused(
                f"This database login may not make tables in schema {store.schema!r}, and a corpus of this size gets one of "
                "its own: let the workers connect with the login that migrates, or raise HEADWATER_PARTITION_CHUNKS."
            ) from error


def index_slab(store: Store, slab: int, *, dimensions: int, is_stopped: Callable[[], bool] = lambda: False) -> None:
    """The partition's words and vectors are indexed: once all of them are there, since adding them one by one takes ten times as long.

    A repeat finds the indexes, mends one that is half done, or waits for the attempt that is still at it. `StoreUnavailable`
    soon after ``is_stopped`` says so.
    """
    if slab == 0:
        return
    with store.connection() as connection, _turn(connection, store.schema, slab):
        connection.execute(_written(store.schema, "analyze", slab), prepare=False)
        table = {"schema": store.schema, "name": partition_name(slab)}
        size = connection.execute(queries(store.schema, "slabs")["size"], table).fetchone()
        rows = size[0] if size else 0
        with _stoppable(connection, is_stopped):
            if _is_wanting(connection, store.schema, slab, words_name(slab), "drop_words"):
                with _set(connection, maintenance_work_mem=f"{_words_memory_kb(rows)}kB"):
                    connection.execute(_written(store.schema, "index_words", slab), prepare=False)
            if dimensions <= HNSW_DIMENSIONS and _is_wanting(
                connection, store.schema, slab, index_name(slab), "drop_index"
            ):
                with _set(connection, maintenance_work_mem=f"{_memory_kb(rows, dimensions)}kB"):
                    connection.execute(_written(store.schema, "index", slab, dimensions), prepare=False)


def _is_wanting(connection: psycopg.Connection, schema: str, slab: int, name: str, drop: str) -> bool:
    """Whether the index is still to be made. What a broken attempt left of it is taken away."""
    named = {"schema": schema, "name": name}
    state = connection.execute(queries(schema, "slabs")["index_state"], named).fetchone()
    if state is not None and state != (True,):
        connection.execute(_written(schema, drop, slab), prepare=False)
    return state != (True,)


def is_indexed(store: Store, slab: int) -> bool:
    """Whether the graph is there, which is made last."""
    with store.connection() as connection:
        named = {"schema": store.schema, "name": index_name(slab)}
        return connection.execute(queries(store.schema, "slabs")["index_state"], named).fetchone() == (True,)


def _words_memory_kb(rows: int) -> int:
    """What the entries of that many passages take before they are written."""
    low, high = MEMORY_KB
    return min(high // 4, max(low, rows // 2))


def _memory_kb(rows: int, dimensions: int) -> int:
    """What the graph takes in memory: a vector, and about 32 neighbours with their bookkeeping, for each chunk."""
    low, high = MEMORY_KB
    return min(high, max(low, rows * (2 * dimensions + 600) // 1024))


@contextlib.contextmanager
def _turn(connection: psycopg.Connection, schema: str, slab: int) -> Iterator[None]:
    sql, key = queries(schema, "slabs"), {"schema": schema, "slab": slab}
    mine = connection.execute(sql["take_turn"], key).fetchone()
    # Not waited for in Postgres: an index is made concurrently, which waits in turn for every statement that is running.
    if mine != (True,):
        raise StoreUnavailable(f"Partition {slab} is being made or indexed by an earlier attempt, which is waited for.")
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute(sql["end_turn"], key)


@contextlib.contextmanager
def _stoppable(connection: psycopg.Connection, is_stopped: Callable[[], bool]) -> Iterator[None]:
    """What is executed in the block is cancelled when ``is_stopped`` says so: it may take hours, and nobody waits for that."""
    is_done, context = threading.Event(), contextvars.copy_context()  # an activity is known by its context

    def watch() -> None:
        while not is_done.wait(LOOK_EVERY_S):
            if context.run(is_stopped):
                connection.cancel()

    watching = threading.Thread(target=watch, name="stop-index", daemon=True)
    watching.start()
    try:
        yield
    finally:
        is_done.set()
        watching.join()


@contextlib.contextmanager
def _set(connection: psycopg.Connection, **settings: str) -> Iterator[None]:
    """Settings of the session for one statement that may not run in a transaction.

    One process does it: parallel ones share memory that containers are often not given, and this work is to be slow rather
    than in the way.
    """
    settings["max_parallel_maintenance_workers"] = "0"
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))
    try:
        yield
    finally:
        if not connection.closed:
            for name in settings:
                connection.execute(f"RESET {name}".encode(), prepare=False)


def _is_there(connection: psycopg.Connection, schema: str, slab: int) -> bool:
    named = {"schema": schema, "name": partition_name(slab)}
    return connection.execute(queries(schema, "slabs")["is_there"], named).fetchone() == (True,)


def _written(schema: str, name: str, slab: int, dimensions: int = 0) -> bytes:
    return written(queries(schema, "slabs")[name], slab=slab, dimensions=dimensions)
