"""Documents that are read and cut before they are published. Nothing here is visible to a reader.

The tables are the truth on resume: a repeated attempt asks what is still missing and does only that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from activities.store import Store
from activities.store.pages.lease import stale_fence
from activities.store.sql import queries
from headwater.sensitivity import INTERNAL

BATCH_CHUNKS: Final = 128
# Each batch is some events of a history that may hold 51,200: a page of giants has larger batches, not more of them.
PAGE_BATCHES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Page:
    page_id: int
    kind: str  # sync, ingest or reindex
    connector_id: int | None  # None: of a host or a re-index
    build_id: int
    state: str
    in_flight: list[int]
    fence: int | None
    slab: int
    scope_id: int


@dataclass(frozen=True, slots=True)
class OpenItem:
    """A document of the page that has not been read yet."""

    ord: int
    source_id: str
    locator: str
    path: str
    version: str | None
    attempts: int
    alone: bool
    label: str | None = None
    faults: int = 0  # how often its origin failed at it, and at it alone


@dataclass(frozen=True, slots=True)
class Started:
    """What orders writers: the source's sequence, and the scope's head before its content is read."""

    ord: int
    source_pk: int
    read_seq: int
    head_gen: int


@dataclass(frozen=True, slots=True)
class StagedDocument:
    ord: int
    content_hash: bytes
    title: str | None
    uri: str | None
    metadata: Mapping[str, Any]
    locators: Sequence[Mapping[str, Any]]
    is_markdown: bool
    headings: Sequence[tuple[int, int, str]] | None  # start, level, title: what the parser found
    text: str
    starts: list[int]
    ends: list[int]
    sha256: list[bytes]
    cut_metadata: list[Mapping[str, Any]]
    status: Mapping[str, Any]
    sensitivity: int = INTERNAL
    lineage: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NotedItem:
    """A document that stages nothing: unchanged, failed, or gone (which makes it a delete)."""

    ord: int
    status: Mapping[str, Any]
    kind: str = "upsert"


def open_page(store: Store, page_id: int, *, fence: int | None) -> Page:
    """The page, for a run that holds its connector's lease under ``fence``; `StaleFence` for any other.

    A page without a connector stands under no lease.
    """
    with store.connection() as connection, connection.cursor(row_factory=class_row(Page)) as cursor:
        row = cursor.execute(queries(store.schema, "staging")["page"], {"page_id": page_id}).fetchone()
    if row is None:
        raise LookupError(f"page {page_id} is gone")
    if row.connector_id is not None and row.fence != fence:
        raise stale_fence(row.connector_id)
    return row


def open_items(store: Store, page: Page, *, excused: bool) -> list[OpenItem]:
    """The documents still to be read, after settling what the last attempt left in flight.

    ``excused``: that attempt's worker is known to live, so that no document ended it.
    """
    sql = queries(store.schema, "staging")
    with store.connection() as connection, connection.cursor(row_factory=class_row(OpenItem)) as cursor:
        if page.in_flight:
            blame = "blame_one" if len(page.in_flight) == 1 else "blame_nobody"
            settle = "unstart_items" if excused else blame
            connection.execute(sql[settle], {"page_id": page.page_id, "ords": page.in_flight})
        return cursor.execute(sql["open_items"], {"page_id": page.page_id}).fetchall()


def start_items(store: Store, page: Page, ords: Sequence[int]) -> dict[int, Started]:
    """Marks documents as being read, before they are; by their position in the page."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(Started)) as cursor:
        params = {"page_id": page.page_id, "scope_id": page.scope_id, "ords": list(ords)}
        return {row.ord: row for row in cursor.execute(queries(store.schema, "staging")["start_items"], params)}


def release_items(store: Store, page: Page, ords: Sequence[int]) -> None:
    """Takes a start back when reading stopped for a reason that is no document's: none of them is blamed."""
    with store.connection() as connection:
        params = {"page_id": page.page_id, "ords": list(ords)}
        connection.execute(queries(store.schema, "staging")["unstart_items"], params)


def count_faults(store: Store, page: Page, ords: Sequence[int]) -> None:
    """Holds a failure of their origin against documents that landed nowhere: they are tried again a few times only."""
    with store.connection() as connection:
        params = {"page_id": page.page_id, "ords": list(ords)}
        connection.execute(queries(store.schema, "staging")["count_faults"], params)


def land_items(
    store: Store,
    page: Page,
    started: Mapping[int, Started],
    staged: Sequence[StagedDocument],
    noted: Sequence[NotedItem],
) -> None:
    """What reading a group of documents gave, in one transaction."""
    sql = queries(store.schema, "staging")
    with store.connection() as connection, connection.pipeline(), connection.transaction():
        # Foreign keys lock rows of sources: in the order of their keys, as everywhere.
        for document in sorted(staged, key=lambda document: started[document.ord].source_pk):
            begun = started[document.ord]
            connection.execute(
                sql["stage_document"],
                {
                    "page_id": page.page_id,
                    "ord": document.ord,
                    "scope_id": page.scope_id,
                    "build_id": page.build_id,
                    "source_pk": begun.source_pk,
                    "source_seq": begun.read_seq,
                    "base_gen": begun.head_gen,
                    "content_hash": document.content_hash,
                    "title": document.title,
                    "uri": document.uri,
                    "metadata": Jsonb(document.metadata),
                    "sensitivity": document.sensitivity,
                    "lineage": list(document.lineage),
                    "locators": Jsonb(document.locators),
                    "is_markdown": document.is_markdown,
                    "headings": None if document.headings is None else Jsonb(document.headings),
                    "text": document.text,
                    "n_chunks": len(document.starts),
                    "starts": document.starts,
                    "ends": document.ends,
                    "sha256": document.sha256,
                    "cut_metadata": Jsonb(document.cut_metadata),
                    "status": Jsonb(document.status),
                },
            )
        for item in noted:
            params = {"page_id": page.page_id, "ord": item.ord, "kind": item.kind, "status": Jsonb(item.status)}
            connection.execute(sql["note_item"], params)
        connection.execute(sql["land_items"], {"page_id": page.page_id})


def finish_preparing(store: Store, page: Page) -> int:
    """Cuts the page's chunks into embed batches; how many there are."""
    sql = queries(store.schema, "staging")
    key = {"page_id": page.page_id}
    with store.connection() as connection, connection.transaction():
        if page.state == "listed":
            revisions = connection.execute(sql["staged_revisions"], key).fetchall()
            chunks = [(rev_id, chunk_no) for rev_id, count in revisions for chunk_no in range(1, count + 1)]
            size = max(BATCH_CHUNKS, -(-len(chunks) // PAGE_BATCHES))
            for batch_no, first in enumerate(range(0, len(chunks), size)):
                part = chunks[first : first + size]
                members = {"rev_ids": [rev for rev, _ in part], "chunk_nos": [no for _, no in part]}
                connection.execute(sql["insert_batch"], {**key, "batch_no": batch_no, **members})
            connection.execute(sql["finish_preparing"], key)
        row = connection.execute(sql["count_batches"], key).fetchone()
        return int(row[0]) if row else 0
