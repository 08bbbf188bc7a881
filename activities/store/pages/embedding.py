"""Vectors for staged chunks: which are missing, which were made before, and the chunk rows that come of it, words and all.

A row is written once, with its vector, and never changed. A repeated attempt goes on where the last one committed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import Connection
from psycopg.types.json import Jsonb

from activities.store import Store, StoreUnavailable
from activities.store.lexicon.passage import Lexicon, words_of
from activities.store.pages.staging import Page
from activities.store.sql import queries

COLUMNS: Final = (
    *("int4", "int8", "int4", "int8", "int4", "int4"),  # place
    *("halfvec", "bytea", "jsonb", "text", "tsvector", "sparsevec", "int4[]"),
)


@dataclass(frozen=True, slots=True)
class Missing:
    """A chunk without a row: where its text lies and what its vector is keyed by."""

    rev_id: int
    chunk_no: int
    version_id: int
    sensitivity: int
    start_cp: int
    end_cp: int
    sha256: bytes
    metadata: dict[str, Any]


def missing_inputs(store: Store, page: Page, batch_no: int) -> list[Missing]:
    """The chunks of a batch that still need a vector."""
    with store.connection() as connection:
        params = {"page_id": page.page_id, "batch_no": batch_no, "slab": page.slab}
        rows = connection.execute(queries(store.schema, "embedding")["missing_inputs"], params).fetchall()
    return [
        Missing(
            rev_id=rev_id,
            chunk_no=number,
            version_id=version_id,
            sensitivity=sensitivity,
            start_cp=starts[number - 1],
            end_cp=ends[number - 1],
            sha256=sha256[number - 1],
            metadata=metadata[number - 1],
        )
        for rev_id, numbers, version_id, sensitivity, starts, ends, sha256, metadata in rows
        for number in numbers
    ]


def bodies(store: Store, missing: Sequence[Missing]) -> list[str]:
    """The text of each chunk, cut out of the stored documents."""
    wanted = sorted({chunk.version_id for chunk in missing})
    with store.connection() as connection:
        rows = connection.execute(queries(store.schema, "embedding")["texts"], {"version_ids": wanted}).fetchall()
    texts: dict[int, str] = dict(rows)
    return [texts[chunk.version_id][chunk.start_cp : chunk.end_cp] for chunk in missing]


def reusable(
    store: Store, page: Page, *, identity: str, dimensions: int, missing: Sequence[Missing]
) -> dict[tuple[int, bytes], NDArray[np.float32]]:
    """Vectors made before for the same input, label and embedder, by (sensitivity, SHA-256 of the input)."""
    found: dict[tuple[int, bytes], NDArray[np.float32]] = {}
    sql = queries(store.schema, "embedding")["reusable"]
    with store.connection() as connection:
        for label in sorted({chunk.sensitivity for chunk in missing}):
            params = {
                "scope_id": page.scope_id,
                "embedder_identity": identity,
                "dimensions": dimensions,
                "sensitivity": label,
                "sha256": sorted({chunk.sha256 for chunk in missing if chunk.sensitivity == label}),
            }
            for sha256, vector in connection.execute(sql, params):
                found[label, sha256] = vector.to_numpy()
    return found


@dataclass(frozen=True, slots=True)
class ReadyChunk:
    missing: Missing
    body: str
    vector: NDArray[np.float32]


def stage_chunks(
    store: Store,
    page: Page,
    batch_no: int,
    chunks: Sequence[ReadyChunk],
    lexicon: Lexicon | None,
    *,
    embedded: int,
    reused: int,
) -> None:
    """Chunk rows with their vectors and words, committed together with the count of what they cost."""
    sql = queries(store.schema, "embedding")
    rows = [_row(page, chunk, lexicon) for chunk in chunks]  # before the transaction
    with store.connection() as connection, connection.transaction():
        _copy(connection, sql["copy_chunks"], rows)
        counts = {"page_id": page.page_id, "batch_no": batch_no, "embedded": embedded, "reused": reused}
        connection.execute(sql["count_embedded"], counts)


def _row(page: Page, chunk: ReadyChunk, lexicon: Lexicon | None) -> tuple[Any, ...]:
    missing = chunk.missing
    place = (page.slab, missing.rev_id, missing.chunk_no, page.scope_id, missing.start_cp, missing.end_cp)
    made = (HalfVector(chunk.vector), missing.sha256, Jsonb(missing.metadata), chunk.body)
    if lexicon is None:
        return (*place, *made, None, None, None)
    return (*place, *made, *words_of(chunk.body, lexicon))


def _copy(connection: Connection[Any], statement: Any, rows: Sequence[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(COLUMNS)
        for row in rows:
            copy.write_row(row)


@contextmanager
def attempt(store: Store, page: Page, batch_no: int) -> Iterator[bool]:
    """Around the embedding of a batch: whether a worker ended in it before, so that this attempt must go carefully."""
    sql = queries(store.schema, "embedding")
    key = {"page_id": page.page_id, "batch_no": batch_no}
    with store.connection() as connection:
        found = connection.execute(sql["begin_attempt"], key).fetchone()
    try:
        yield bool(found and found[0])
    finally:
        # Postgres may be what failed: then the next attempt is careful without need, which costs time and no document.
        with suppress(StoreUnavailable), store.connection() as connection:
            connection.execute(sql["end_attempt"], key)


def suspect(store: Store, page: Page, batch_no: int, chunk: Missing) -> int:
    """Writes down that ``chunk`` is about to be embedded alone; how often in a row it was."""
    params = {"page_id": page.page_id, "batch_no": batch_no, "rev_id": chunk.rev_id, "chunk_no": chunk.chunk_no}
    with store.connection() as connection:
        row = connection.execute(queries(store.schema, "embedding")["suspect"], params).fetchone()
    return int(row[0]) if row else 1


def excuse(store: Store, page: Page, batch_no: int) -> None:
    """Takes the last `suspect` back."""
    with suppress(StoreUnavailable), store.connection() as connection:
        key = {"page_id": page.page_id, "batch_no": batch_no}
        connection.execute(queries(store.schema, "embedding")["excuse"], key)


def finish_batch(store: Store, page_id: int, batch_no: int) -> tuple[int, int]:
    """Marks the batch done: chunks embedded, chunks reused, over all attempts."""
    with store.connection() as connection:
        key = {"page_id": page_id, "batch_no": batch_no}
        row = connection.execute(queries(store.schema, "embedding")["finish_batch"], key).fetchone()
    if row is None:
        raise LookupError(f"batch {batch_no} of page {page_id} is gone")
    return int(row[0]), int(row[1])


def quarantine(store: Store, page_id: int, rev_id: int, reason: str) -> None:
    """Sets one document aside; the page goes on without it."""
    with store.connection() as connection:
        params = {"page_id": page_id, "rev_id": rev_id, "reason": reason}
        connection.execute(queries(store.schema, "embedding")["quarantine"], params)
