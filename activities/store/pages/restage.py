"""Staging a page again for the build that readers see by now: a re-index was flipped to between its staging and publishing."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from activities.store.builds.green import NotCut, StagedCut, StoredText, cut_parameters
from activities.store.database import Store
from activities.store.sql import queries


@dataclass(frozen=True, slots=True)
class StalePage:
    page_id: int
    state: str
    build_id: int
    scope_id: int
    live_build: int


@dataclass(frozen=True, slots=True)
class StagedItem:
    """A document of the page with the revision that it was staged as."""

    ord: int
    rev_id: int
    version_id: int


def stale_page(store: Store, page_id: int) -> StalePage:
    """The page, with the build that it should be staged for."""
    with store.connection() as connection:
        cursor = connection.cursor(row_factory=class_row(StalePage))
        row = cursor.execute(queries(store.schema, "restage")["page"], {"page_id": page_id}).fetchone()
    if row is None:
        raise LookupError(f"page {page_id} is gone")
    return row


def staged_items(store: Store, page_id: int) -> list[StagedItem]:
    with store.connection() as connection:
        cursor = connection.cursor(row_factory=class_row(StagedItem))
        return cursor.execute(queries(store.schema, "restage")["staged_items"], {"page_id": page_id}).fetchall()


def staged_text(store: Store, item: StagedItem) -> StoredText | None:
    with store.connection() as connection:
        cursor = connection.cursor(row_factory=class_row(StoredText))
        params = {"rev_id": item.rev_id, "version_id": item.version_id}
        return cursor.execute(queries(store.schema, "restage")["text"], params).fetchone()


def move_page(store: Store, page: StalePage, cuts: Sequence[StagedCut | NotCut]) -> None:
    """The page belongs to the live build, with new revisions of the same versions, in one transaction.

    A repeat changes nothing. The scope's lock is not taken: this stages, and publishing looks at the build again.
    """
    sql, key = queries(store.schema, "restage"), {"page_id": page.page_id, "build_id": page.live_build}
    with store.connection() as connection, connection.transaction():
        if connection.execute(sql["lock_page"], {**key, "from_build": page.build_id}).fetchone() is None:
            return
        with connection.pipeline():
            for cut in cuts:
                if isinstance(cut, NotCut):
                    connection.execute(sql["note"], {**key, "ord": cut.ord, "status": Jsonb(cut.status)})
                else:
                    connection.execute(sql["stage"], {**key, "ord": cut.ord, **cut_parameters(cut)})
            old = [cut.from_rev for cut in cuts if isinstance(cut, StagedCut)]
            connection.execute(sql["drop_cuts"], {"rev_ids": old})
            connection.execute(sql["forget_batches"], key)
            connection.execute(sql["move_page"], key)
