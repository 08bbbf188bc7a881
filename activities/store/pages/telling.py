"""What is told of a page to whoever collects spans: ids, counts and single words, read when somebody listens."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from activities.store.database import Store
from activities.store.sql import queries


@dataclass(frozen=True, slots=True)
class ToldPage:
    page_id: int
    kind: str  # sync, ingest or reindex
    state: str
    listed_us: int  # when it was listed, in microseconds of the epoch
    tenant_id: str
    resource_id: str
    corpus_id: str


@dataclass(frozen=True, slots=True)
class ToldItem:
    """A document that the page brings. Grants and deletions are none."""

    ord: int
    source_id: str
    rev_id: int | None  # of what is staged for it
    chunks: int | None
    staged_us: int | None
    state: str | None  # what reading it gave
    outcome: str | None  # what publishing it did


@dataclass(frozen=True, slots=True)
class ToldSource:
    """The document that a staged revision is of."""

    rev_id: int
    ord: int
    source_id: str


def told_page(store: Store, page_id: int) -> ToldPage | None:
    with store.connection() as connection, connection.cursor(row_factory=class_row(ToldPage)) as cursor:
        return cursor.execute(queries(store.schema, "telling")["page"], {"page_id": page_id}).fetchone()


def told_items(store: Store, page_id: int) -> list[ToldItem]:
    """The documents of a page. A re-index's are there until it is published, a sync's and a host's also after that."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(ToldItem)) as cursor:
        return cursor.execute(queries(store.schema, "telling")["items"], {"page_id": page_id}).fetchall()


def told_sources(store: Store, page_id: int, rev_ids: Sequence[int]) -> list[ToldSource]:
    with store.connection() as connection, connection.cursor(row_factory=class_row(ToldSource)) as cursor:
        params = {"page_id": page_id, "rev_ids": list(rev_ids)}
        return cursor.execute(queries(store.schema, "telling")["sources"], params).fetchall()


def shown_revisions(store: Store, rev_ids: Sequence[int]) -> set[int]:
    """Those of the staged revisions that their build shows."""
    with store.connection() as connection:
        rows = connection.execute(queries(store.schema, "telling")["shown"], {"rev_ids": list(rev_ids)}).fetchall()
    return {int(rev_id) for (rev_id,) in rows}
