"""What hosts push: accepted in one transaction as a page of its own, and staged content until that page is published."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import class_row

from activities.store.database import Store
from activities.store.pages.listing import Known
from activities.store.pages.staging import Page, Started
from activities.store.requests import InvalidInput, audit
from activities.store.scopes import LiveBuild
from activities.store.sources.access import ensure_sources
from activities.store.sql import queries
from headwater.contracts import IngestSource
from headwater.sensitivity import sensitivity_level

PLAIN: Final = "text/plain"


@dataclass(frozen=True, slots=True)
class Described:
    """What a host said of a document, and where its content is. ``bytes`` None: the content is gone."""

    source_id: str
    version: str
    content_id: UUID
    media_type: str | None
    bytes: int | None
    title: str | None
    uri: str | None
    metadata: dict[str, Any]
    sensitivity: int
    lineage: list[str]
    content_hash: str | None
    source_seq: int


@dataclass(frozen=True, slots=True)
class _Counted:
    """The row that went by an id when a push of it was accepted, and the place of the push among all readings of it."""

    source_pk: int
    source_seq: int


def accept_page(
    store: Store, build: LiveBuild, sources: Sequence[IngestSource], *, request_no: int, actor: str | None
) -> int:
    """The page of these sources, ready to be prepared; the one that the request has already if it was accepted before.

    `InvalidInput` where a content that is named cannot be used: then nothing was written.
    """
    sql = queries(store.schema, "ingest")
    source_ids = [each.source_id for each in sources]
    with store.connection() as connection:
        # Committed by itself: a row that holds nothing harms nobody, and two requests that name one new id wait no longer.
        ensure_sources(connection, store.schema, build.scope_id, source_ids)
        with connection.transaction():
            named = {"build_id": build.build_id, "request_no": request_no, "listed": len(sources)}
            made = connection.execute(sql["insert_page"], named).fetchone()
            if made is None:
                found = connection.execute(sql["page_of"], {"request_no": request_no}).fetchone()
                assert found is not None
                return int(found[0])
            page_id = int(made[0])
            _use_contents(connection, sql, build.scope_id, sources)
            contents = _stage_texts(connection, sql, build.scope_id, sources)
            read = {"scope_id": build.scope_id, "source_ids": source_ids}
            readings = {
                source_id: _Counted(source_pk, seq)
                for source_id, source_pk, seq in connection.execute(sql["count_readings"], read)
            }
            head = connection.execute(sql["head"], {"scope_id": build.scope_id}).fetchone()
            assert head is not None
            items = [
                _record(ord_, each, content, readings[each.source_id])
                for ord_, (each, content) in enumerate(zip(sources, contents, strict=True))
            ]
            rows = {"page_id": page_id, "items": json.dumps(items), "base_gen": head[0]}
            connection.execute(sql["insert_items"], rows)
            connection.execute(sql["insert_described"], rows)
            detail = {"page": page_id, "sources": len(sources)}
            audit(connection, store.schema, build.scope_id, actor=actor, action="ingest", detail=detail)
            return page_id


def _use_contents(
    connection: psycopg.Connection, sql: Mapping[str, bytes], scope_id: int, sources: Sequence[IngestSource]
) -> None:
    wanted = sorted({each.staged for each in sources if each.staged is not None})
    if not wanted:
        return
    used = connection.execute(sql["use_contents"], {"scope_id": scope_id, "contents": wanted})
    is_closed: dict[UUID, bool] = dict(used.fetchall())
    for number, each in enumerate(sources):
        if each.staged is None:
            continue
        if each.staged not in is_closed:  # of another corpus it is not said that it is there
            raise InvalidInput(
                f"sources.{number}.staged: this corpus has no content {each.staged}: it was never opened here, was used, or "
                "was not used for a day; stage it again."
            )
        if not is_closed[each.staged]:
            raise InvalidInput(f"sources.{number}.staged: content {each.staged} is not closed: call stage_close first.")


def _stage_texts(
    connection: psycopg.Connection, sql: Mapping[str, bytes], scope_id: int, sources: Sequence[IngestSource]
) -> list[UUID]:
    """The id of each source's content; inline text gets one here."""
    contents = [each.staged or uuid4() for each in sources]
    inline = [
        (content, each.media_type or PLAIN, each.text.encode())
        for content, each in zip(contents, sources, strict=True)
        if each.text is not None
    ]
    if inline:
        staged: dict[str, Any] = {
            "contents": [content for content, _, _ in inline],
            "media_types": [media_type for _, media_type, _ in inline],
            "data": [data for _, _, data in inline],
        }
        connection.execute(sql["insert_contents"], {"scope_id": scope_id, **staged})
        connection.execute(sql["insert_parts"], staged)
    return contents


def _record(ord_: int, source: IngestSource, content: UUID, counted: _Counted) -> dict[str, Any]:
    return {
        "ord": ord_,
        "source_id": source.source_id,
        "content_id": str(content),
        "version": version_of(source),
        "grants": None if source.grants is None else source.grants.model_dump(mode="json"),
        "expected_revision": source.expected_revision,
        "media_type": None if source.staged is None else source.media_type,
        "title": source.title,
        "uri": source.uri,
        "metadata": source.metadata,
        "sensitivity": sensitivity_level(source.sensitivity),
        "lineage": list(dict.fromkeys(source.lineage)),
        "content_hash": source.content_hash,
        "source_seq": counted.source_seq,
        "source_pk": counted.source_pk,
    }


def version_of(source: IngestSource) -> str:
    """What is recorded with a source: the host's hash of its content, and a digest of all else it said of it."""
    said = [
        source.media_type,
        source.title,
        source.uri,
        source.metadata,
        sensitivity_level(source.sensitivity),
        list(dict.fromkeys(source.lineage)),
    ]
    digest = hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
    return f"{source.content_hash or ''}/{digest[:32]}"


def described(store: Store, page_id: int) -> dict[str, Described]:
    """What the host said of each document of the page, by source id."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(Described)) as cursor:
        cursor.execute(queries(store.schema, "ingest")["described"], {"page_id": page_id})
        return {row.source_id: row for row in cursor}


def read_content(store: Store, content_id: UUID) -> bytes:
    """All bytes of a staged content."""
    with store.connection() as connection:
        query, key = queries(store.schema, "ingest")["content"], {"content_id": content_id}
        # Binary: as text, large content would be twice as large on its way.
        return b"".join(row[0] for row in connection.execute(query, key, binary=True))


def known_sources(store: Store, *, scope_id: int, source_ids: Sequence[str]) -> dict[str, Known]:
    """What is held of ``source_ids``, by id, whoever published it."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(Known)) as cursor:
        params = {"scope_id": scope_id, "source_ids": list(source_ids)}
        cursor.execute(queries(store.schema, "ingest")["known_sources"], params)
        return {row.source_id: row for row in cursor}


def start_items(store: Store, page: Page, ords: Sequence[int]) -> dict[int, Started]:
    """Marks documents as being read, as `staging.start_items` does, with the order they were accepted in."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(Started)) as cursor:
        params = {"page_id": page.page_id, "ords": list(ords)}
        return {row.ord: row for row in cursor.execute(queries(store.schema, "ingest")["start_items"], params)}


def forget_contents(store: Store, page_id: int) -> None:
    """Deletes what was handed in for a page that is published. A content that another page names is kept for that one."""
    sql, key = queries(store.schema, "ingest"), {"page_id": page_id}
    with store.connection() as connection, connection.transaction():
        used = [row[0] for row in connection.execute(sql["lock_used"], key)]
        connection.execute(sql["drop_described"], key)
        if used:
            connection.execute(sql["drop_contents"], {"contents": used})
