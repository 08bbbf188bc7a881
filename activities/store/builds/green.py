"""Filling a build beside the live one with the versions that readers see: listed in pages, staged, given their spans.

The stored texts are all it needs. Nothing here takes a generation or moves the pointer; what is published meanwhile is
listed by the next round, and what is deleted is hidden in every build at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from activities.store.builds.builds import BuildConflict, check_building, hold_publishing
from activities.store.database import Store
from activities.store.garbage.freeing import delete_chunks
from activities.store.pages.publish import PageConflict
from activities.store.sql import in_slab, queries
from headwater.lexical import language_of

PAGE_SIZE: Final = 100
PAGE_CHUNKS: Final = 4_096  # a page of giants holds fewer
STRAYS: Final = 1_000  # spans that are ended under one lock


@dataclass(frozen=True, slots=True)
class Listed:
    """The pages that are to be filled: from ``first_seq`` to ``last_seq``, none where ``pages`` is 0."""

    first_seq: int
    last_seq: int
    pages: int


@dataclass(frozen=True, slots=True)
class GreenPage:
    page_id: int
    state: str
    build_id: int
    scope_id: int
    slab: int
    lexicon: str | None
    is_copy: bool  # of the live build's own space: chunks are copied


@dataclass(frozen=True, slots=True)
class StoredText:
    """A normalised text and all that decides how it is cut. ``rev_id`` of the live build; None: readers see it no more."""

    source_id: str
    text: str
    locators: Sequence[Mapping[str, Any]]
    is_markdown: bool
    headings: Sequence[tuple[int, int, str]] | None
    rev_id: int | None


@dataclass(frozen=True, slots=True)
class StagedCut:
    """A stored text cut anew. ``from_rev`` is the revision of the same version that it stands beside."""

    ord: int
    from_rev: int
    starts: list[int]
    ends: list[int]
    sha256: list[bytes]
    metadata: list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class NotCut:
    """A document that is not staged: ``gone``, or with the reason why it cannot be."""

    ord: int
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Carried:
    """What publishing a page into the build did."""

    sources: int
    chunks: int
    failed: int


def list_missing(store: Store, build_id: int, *, round_no: int, hold: bool) -> Listed:
    """Pages of what the build lacks; what readers do not see any more is taken out of it.

    With ``hold`` publishing waits from here on, so that nothing more comes while the last pages are filled. A repeat finds
    the pages it made.
    """
    sql, key = queries(store.schema, "green"), {"build_id": build_id}
    if hold:
        hold_publishing(store, build_id)
    sizes = {"page_size": PAGE_SIZE, "page_chunks": PAGE_CHUNKS}
    with store.connection() as connection:
        check_building(connection, store.schema, build_id)
        _drop_strays(connection, store.schema, build_id)
        with connection.transaction():
            connection.execute(queries(store.schema, "builds")["look_up"], {})
            connection.execute(sql["list_missing"], {**key, **sizes, "round": round_no})
        found = connection.execute(sql["unpublished"], key).fetchone()
    assert found is not None
    return Listed(first_seq=found[0] or 0, last_seq=found[1] or -1, pages=found[2])


def _drop_strays(connection: psycopg.Connection, schema: str, build_id: int) -> None:
    """Ends spans of what readers do not see. Found without the lock: one that is none any more is only carried over again."""
    sql, builds, key = queries(schema, "green"), queries(schema, "builds"), {"build_id": build_id}
    with connection.transaction():
        connection.execute(builds["look_up"], {})
        strays = connection.execute(sql["strays"], key).fetchall()
    for first in range(0, len(strays), STRAYS):
        some = strays[first : first + STRAYS]
        gone = {"rev_ids": [rev_id for rev_id, _ in some], "gens": [gen for _, gen in some]}
        with connection.transaction():
            connection.execute(builds["lock_scope_of"], key)
            connection.execute(sql["drop_strays"], {**key, **gone})


def green_page(store: Store, build_id: int, seq: int) -> GreenPage | None:
    """Page ``seq`` of the build; None if there is none. `BuildConflict` when the build is not being made any more."""
    with store.connection() as connection:
        check_building(connection, store.schema, build_id)
        cursor = connection.cursor(row_factory=class_row(GreenPage))
        params = {"build_id": build_id, "seq": seq}
        return cursor.execute(queries(store.schema, "green")["page"], params).fetchone()


def open_versions(store: Store, page: GreenPage) -> list[tuple[int, int]]:
    """Position and version of the page's documents that are not staged yet."""
    with store.connection() as connection:
        return connection.execute(
            queries(store.schema, "green")["open_items"], {"page_id": page.page_id}
        ).fetchall()  # fmt: skip


def stored_text(store: Store, version_id: int) -> StoredText | None:
    """The text of a version; None if it was deleted."""
    with store.connection() as connection:
        cursor = connection.cursor(row_factory=class_row(StoredText))
        return cursor.execute(queries(store.schema, "green")["text"], {"version_id": version_id}).fetchone()


def stage_cuts(store: Store, page: GreenPage, cuts: Sequence[StagedCut | NotCut]) -> None:
    """Revisions of the build for what was cut, in one transaction. A repeat changes nothing."""
    sql = queries(store.schema, "green")
    with store.connection() as connection, connection.pipeline(), connection.transaction():
        for cut in cuts:
            place = {"page_id": page.page_id, "ord": cut.ord}
            if isinstance(cut, NotCut):
                connection.execute(sql["note"], {**place, "status": Jsonb(cut.status)})
            else:
                status = {"state": "indexed", "chunks": len(cut.starts)}
                connection.execute(
                    sql["stage"],
                    {**place, "build_id": page.build_id, "status": Jsonb(status), **cut_parameters(cut)},
                )


def cut_parameters(cut: StagedCut) -> dict[str, Any]:
    return {
        "from_rev": cut.from_rev,
        "n_chunks": len(cut.starts),
        "starts": cut.starts,
        "ends": cut.ends,
        "sha256": cut.sha256,
        "cut_metadata": Jsonb(cut.metadata),
    }


def copy_page(store: Store, page: GreenPage) -> None:
    """The page's chunks copied from the live build, with their vectors and words. A repeat changes nothing.

    Words by a rule that this release does not have are refused: there may be more to copy than it knows.
    """
    if page.lexicon is not None:
        language_of(page.lexicon)
    sql, key = queries(store.schema, "green"), {"page_id": page.page_id}
    with store.connection() as connection, connection.transaction():
        connection.execute(
            sql["copy_page"], {**key, "scope_id": page.scope_id, "build_id": page.build_id, "slab": page.slab}
        )
        connection.execute(sql["finish_copy"], key)


def publish_green(store: Store, page_id: int, build_id: int) -> Carried:
    """The page's documents are part of the build from now on, as far as readers still see them. A repeat returns the same.

    No reader sees a difference. `PageConflict` when chunks are missing.
    """
    sql, key = queries(store.schema, "green"), {"page_id": page_id, "build_id": build_id}
    with store.connection() as connection:
        in_build = connection.execute(sql["slab"], key).fetchone()
        if in_build is None:
            raise _gone(page_id, build_id)
        slab = int(in_build[0])
        if unfinished := connection.execute(in_slab(sql["unfinished"], slab), key).fetchone():
            rev_id, wanted, there = unfinished
            raise PageConflict(f"Revision {rev_id} has {there} of its {wanted} chunks: embed page {page_id} first.")
        with connection.transaction():
            scope = connection.execute(queries(store.schema, "builds")["lock_scope_of"], key).fetchone()
            page = connection.execute(sql["published"], key).fetchone()
            if scope is None or page is None:
                raise _gone(page_id, build_id)
            if page[1] is not None:
                return Carried(**page[1])
            check_building(connection, store.schema, build_id)
            _drop_buried(connection, store.schema, page_id, slab)
            carried = connection.execute(sql["carried"], key).fetchall()
            if carried:
                connection.execute(sql["replace_spans"], {**key, "source_pks": [pk for _, pk, _ in carried]})
                # Begun at the head: the generation that any later deletion takes ends them, and its fence hides them.
                opened = {"gen": scope[1], "rev_ids": [rev_id for rev_id, _, _ in carried]}
                connection.execute(sql["open_spans"], opened)
            failed = connection.execute(sql["mark_failed"], key).rowcount
            result = Carried(sources=len(carried), chunks=sum(count for _, _, count in carried), failed=failed)
            told = {"sources": result.sources, "chunks": result.chunks, "failed": result.failed}
            for step in ("drop_cuts", "forget_items", "forget_batches"):
                connection.execute(sql[step], key)
            connection.execute(sql["finish_page"], {**key, "result": Jsonb(told)})
            return result


def _drop_buried(connection: psycopg.Connection, schema: str, page_id: int, slab: int) -> None:
    sql, key = queries(schema, "green"), {"page_id": page_id}
    if buried := [rev_id for (rev_id,) in connection.execute(sql["buried"], key)]:
        delete_chunks(connection, schema, {slab: buried})
        connection.execute(sql["drop_buried"], {**key, "rev_ids": buried})


def _gone(page_id: int, build_id: int) -> BuildConflict:
    return BuildConflict(f"Page {page_id} of build {build_id} is gone: start the re-index again.")
