"""The operator's view: corpora, the states of their sources, one source. Ids, counts and names, never text."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypedDict

import psycopg
from psycopg.rows import dict_row

from activities.store.database import Store
from activities.store.sql import queries
from headwater.errors import LimitError
from headwater.ids import chunk_id
from headwater.models import Scope
from headwater.states import Freshness, SourceState

MAX_LIMIT: Final = 1000


class ConnectorStatus(TypedDict):
    name: str
    kind: str
    last_sync_at: str | None
    error: str | None


class SpaceStatus(TypedDict):
    embedder: str
    identity: str
    dimensions: int
    max_tokens: int
    chunker: str


class CorpusStatus(TypedDict):
    corpus: str
    generation: int
    live_build: int
    pinned: bool
    space: SpaceStatus
    language: str | None  # in which words are stemmed; None: made before there were any
    sources: int
    chunks: int
    by_state: dict[SourceState, int]
    connectors: list[ConnectorStatus]


class SourceStatus(TypedDict):
    source_id: str
    state: SourceState
    freshness: Freshness
    reason: str | None
    chunks: int
    bytes: int
    revision: int | None
    updated_at: str


class SourcePage(TypedDict):
    sources: list[SourceStatus]
    next_cursor: str | None


class KeyStatus(TypedDict):
    key: str
    sources: int
    types: list[str]  # as JSON calls them


class GrantStatus(TypedDict):
    principal_ids: list[str]
    group_ids: list[str]
    everyone: bool
    expiring: list[dict[str, str]]


class ChunkStatus(TypedDict):
    chunk_id: str
    start: int
    end: int


class SourceDetail(SourceStatus):
    path: str | None
    uri: str | None
    owner: str | None
    access_version: int
    grants: GrantStatus
    offsets: list[ChunkStatus]
    lineage: list[str]


def corpora(store: Store, scope: Scope | None = None) -> list[CorpusStatus]:
    """Every corpus, or the one asked for; in the JSON of `headwater status`."""
    key = scope.model_dump() if scope else {"tenant_id": None, "resource_id": None, "corpus_id": None}
    with store.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(queries(store.schema, "status")["corpora"], key).fetchall()
    return [_corpus(row) for row in rows]


def sources(
    store: Store, scope: Scope, *, state: SourceState | None = None, limit: int = 50, cursor: str | None = None
) -> SourcePage:
    """The sources of a corpus in the order of their ids, after `cursor`; `next_cursor` is None at the end."""
    if not 1 <= limit <= MAX_LIMIT:
        raise LimitError(f"A page of sources has 1 to {MAX_LIMIT} of them, not {limit}: ask for the next one instead.")
    key = scope.model_dump() | {"state": state, "cursor": cursor or "", "limit": limit + 1}
    with store.connection() as connection, connection.cursor(row_factory=dict_row) as rows:
        found = rows.execute(queries(store.schema, "status")["sources"], key).fetchall()
    page = [_source(row) for row in found[:limit]]
    return {"sources": page, "next_cursor": page[-1]["source_id"] if len(found) > limit else None}


def keys(store: Store, scope: Scope) -> list[KeyStatus]:
    """The metadata keys of what readers see, which a filter can name, with what their values are, and never a value."""
    with store.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(queries(store.schema, "status")["keys"], scope.model_dump()).fetchall()
    return [{"key": row["key"], "sources": row["sources"], "types": row["types"]} for row in rows]


def source(store: Store, scope: Scope, source_id: str) -> SourceDetail | None:
    """Everything about one source but its text; None if the corpus does not hold it."""
    named = queries(store.schema, "status")
    with store.connection() as connection, connection.transaction(), connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(named["source"], scope.model_dump() | {"source_id": source_id}).fetchone()
        if row is None:
            return None
        chunks = connection.execute(named["offsets"], {"slab": row["slab"], "rev_id": row["rev_id"]}).fetchall()
        parents = connection.execute(named["lineage"], {"version_id": row["version_id"]}).fetchall()
        return {
            **_source(row),
            "path": row["path"],
            "uri": row["uri"],
            "owner": row["owner"],
            "access_version": row["access_version"],
            "grants": _grants(connection, named["grantees"], row),
            "offsets": [
                {"chunk_id": chunk_id(source_id, number), "start": start, "end": end} for number, start, end in chunks
            ],
            "lineage": [parent for (parent,) in parents],
        }


def is_known(store: Store, scope: Scope) -> bool:
    """Whether anything was ever synced, pushed or granted in this corpus."""
    with store.connection() as connection:
        return bool(connection.execute(queries(store.schema, "status")["scope"], scope.model_dump()).fetchone())


def pinned_generation(store: Store, scope: Scope) -> int | None:
    """The generation that readers are held at; None where they follow what is published."""
    with store.connection() as connection:
        row = connection.execute(queries(store.schema, "status")["pinned"], scope.model_dump()).fetchone()
    return None if row is None else int(row[0])


def access_version(store: Store, scope: Scope, source_id: str) -> int | None:
    """The version of a source's grants, also of one that has no text yet; None of one that was never heard of."""
    key = scope.model_dump() | {"source_id": source_id}
    with store.connection() as connection:
        found = connection.execute(queries(store.schema, "status")["access_version"], key).fetchone()
    return None if found is None else int(found[0])


def sources_ending(store: Store, scope: Scope, endings: Sequence[str], *, limit: int) -> list[str]:
    """The ids of sources that end in one of these at a part of the path, shortest first."""
    with store.connection() as connection:
        key = scope.model_dump() | {"endings": list(endings), "limit": limit}
        return [found for (found,) in connection.execute(queries(store.schema, "status")["sources_ending"], key)]


def _corpus(row: dict[str, Any]) -> CorpusStatus:
    return {
        "corpus": row["corpus"],
        "generation": row["generation"],
        "live_build": row["live_build"],
        "pinned": row["pinned"],
        "space": {
            "embedder": row["embedder_spec"],
            "identity": row["embedder_identity"],
            "dimensions": row["dimensions"],
            "max_tokens": row["max_tokens"],
            "chunker": row["chunker"],
        },
        "language": row["language"],
        "sources": row["sources"],
        "chunks": row["chunks"],
        "by_state": {SourceState(state): count for state, count in row["by_state"].items()},
        "connectors": [_connector(each) for each in row["connectors"]],
    }


def _connector(row: dict[str, Any]) -> ConnectorStatus:
    last = row["last_sync_at"]
    return {
        "name": row["name"],
        "kind": row["kind"],
        "last_sync_at": None if last is None else _at(datetime.fromisoformat(last)),
        "error": row["error"],
    }


def _source(row: dict[str, Any]) -> SourceStatus:
    return {
        "source_id": row["source_id"],
        "state": SourceState(row["state"]),
        "freshness": Freshness(row["freshness"]),
        "reason": row["reason"],
        "chunks": row["chunks"],
        "bytes": row["bytes"],
        "revision": row["revision"],
        "updated_at": _at(row["updated_at"]),
    }


def _grants(connection: psycopg.Connection, query: bytes, row: dict[str, Any]) -> GrantStatus:
    granted = connection.execute(query, {"grants": row["grants"], "source_pk": row["source_pk"]}).fetchall()
    lasting = [(kind, name) for kind, name, expires_at in granted if expires_at is None]
    return {
        "principal_ids": [name for kind, name in lasting if kind == "principal"],
        "group_ids": [name for kind, name in lasting if kind == "group"],
        "everyone": ("everyone", "") in lasting,
        "expiring": [
            {f"{kind}_id" if name else kind: name or "true", "expires_at": _at(expires_at)}
            for kind, name, expires_at in granted
            if expires_at is not None
        ],
    }


def _at(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="seconds")
