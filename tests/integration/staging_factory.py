"""Pages staged straight into the store, as a sync would leave them, without reading, parsing or a workflow."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql
from psycopg.types.json import Jsonb

from activities.contracts import PublishedPage
from activities.store import Store
from activities.store.connectors import ConnectorRow, ensure_connector
from activities.store.generations import set_generation
from activities.store.lexicon.passage import passage_terms, tiers, weights
from activities.store.pages.item_outcome import ItemOutcome, page_outcomes
from activities.store.pages.lease import begin_pass
from activities.store.pages.listed_grants import kept_grants
from activities.store.pages.publish import publish_page
from activities.store.scopes import LiveBuild, SpaceSpec, ensure_scope
from headwater.connectors import GrantSet
from headwater.contracts import Grants
from headwater.embedders.hashing import HashEmbedder
from headwater.models import Scope

EVERYONE = GrantSet(everyone=True)
CHUNKER = "chars/1 size=1000 overlap=100 tokens=any"
AVERAGE = 20.0  # terms of a passage


@dataclass(frozen=True, slots=True)
class Corpus:
    """A scope with its live build, and a connector that holds the lease `fence`."""

    scope: Scope
    build: LiveBuild
    connector: ConnectorRow
    fence: int


@dataclass(frozen=True, slots=True)
class Document:
    """One line of a page. `texts` are its chunks; its text is these with a blank line between."""

    source_id: str
    texts: Sequence[str] = ("some text",)
    seq: int | None = None  # None: read after all readings before
    base_gen: int | None = None  # None: the scope's head now
    grants: GrantSet | Grants | None = None  # None: leave them as they are
    title: str | None = None
    uri: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    locators: Sequence[dict[str, Any]] = ()
    chunk_metadata: Sequence[dict[str, Any]] | None = None
    lineage: Sequence[str] = ()
    sensitivity: int = 1
    vectors: NDArray[np.float32] | None = None  # None: of the hash embedder
    missing_chunks: int = 0  # this many of the last are not embedded yet
    state: str | None = None  # None: indexed, or empty without texts
    reason: str | None = None
    version: str | None = "v1"
    is_read: bool = True
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class Noted:
    """A line of a page that stages nothing: unchanged or failed, a change of grants, or a deletion."""

    source_id: str
    kind: str = "upsert"
    status: dict[str, Any] | None = None
    grants: GrantSet | Grants | None = None
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    source_pk: int
    source_seq: int
    head_gen: int


def failed(source_id: str, state: str = "failed", reason: str = "it is broken", **more: Any) -> Noted:
    return Noted(source_id, status={"state": state, "reason": reason, "chunks": 0, "version": "v9"}, **more)


def unchanged(source_id: str, **more: Any) -> Noted:
    return Noted(source_id, status={"unchanged": True, "version": "v9", "parser": "text/9"}, **more)


def deleted(source_id: str) -> Noted:
    return Noted(source_id, kind="delete")


def granted(source_id: str, grants: GrantSet) -> Noted:
    return Noted(source_id, kind="grants", grants=grants)


def make_corpus(
    store: Store, scope: str = "acme/library/handbook", *, connector: str = "folder-a", dimensions: int = 8
) -> Corpus:
    """The corpus of that name, made if it is new, with a connector that has just taken its lease."""
    embedder = HashEmbedder(dimensions)
    space = SpaceSpec(f"hash:{dimensions}", embedder.identity, dimensions, embedder.max_tokens, CHUNKER)
    parsed = Scope.parse(scope)
    build = ensure_scope(store, parsed, space)
    with store.connection() as connection:
        connection.execute(_sql(store, _AVERAGE), {"build_id": build.build_id, "average": AVERAGE})
    row = ensure_connector(store, build.scope_id, connector, "folder", {"root": "/nowhere"}, new_rule=True)
    lease = begin_pass(store, row.connector_id, owner=f"sync:{scope}:{connector}", run="run-1", full=False)
    return Corpus(scope=parsed, build=replace(build, avgdl=AVERAGE), connector=row, fence=lease.fence)


def publish(store: Store, corpus: Corpus, *lines: Document | Noted) -> PublishedPage:
    """The lines, staged as one page and published."""
    return publish_page(store, stage(store, corpus, *lines), fence=corpus.fence)


def roll_back(store: Store, corpus: Corpus, generation: int) -> None:
    """Readers see what they saw at `generation`."""
    set_generation(store, corpus.scope, generation)


def push(store: Store, corpus: Corpus, *lines: Document | Noted) -> list[ItemOutcome]:
    """The lines, published as a page of a host; what became of each."""
    page_id = stage(store, corpus, *lines, is_hosts=True)
    publish_page(store, page_id)
    outcomes = page_outcomes(store, page_id)
    assert outcomes is not None
    return outcomes


def stage(store: Store, corpus: Corpus, *lines: Document | Noted, is_hosts: bool = False) -> int:
    """The id of a page of these lines, of the corpus's connector or of a host, ready to be published."""
    build, connector = corpus.build, corpus.connector
    readings = _read(store, build, lines)
    with store.connection() as connection, connection.transaction():
        row = connection.execute(
            _sql(store, _PAGE),
            {
                "kind": "ingest" if is_hosts else "sync",
                "connector_id": None if is_hosts else connector.connector_id,
                "build_id": build.build_id,
                "fence": corpus.fence,
                "rule_version": connector.rule_version,
                "sequence": sql.Identifier(store.schema, "page").as_string(connection),
            },
        ).fetchone()
        assert row is not None
        page_id: int = row[0]
        for number, line in enumerate(lines):
            item = {"page_id": page_id, "ord": number, "source_id": line.source_id, "grants": _grants(line.grants)}
            item |= {"expected_revision": line.expected_revision}
            if isinstance(line, Noted):
                item |= {"kind": line.kind, "rev_id": None, "status": Jsonb(line.status) if line.status else None}
            else:
                status = _status(line) if line.is_read else None
                rev_id = _stage_revision(store, connection, build, line, readings[line.source_id])
                item |= {"kind": "upsert", "rev_id": rev_id, "status": Jsonb(status) if status else None}
            connection.execute(_sql(store, _ITEM), item)
    return page_id


def _read(store: Store, build: LiveBuild, lines: Sequence[Document | Noted]) -> dict[str, _Reading]:
    """As a sync does it: rows for what is listed, then sequence and head for what will be read, before it is."""
    listed = [line.source_id for line in lines if isinstance(line, Document) or line.kind != "delete"]
    documents = [line for line in lines if isinstance(line, Document)]
    read = {
        "scope_id": build.scope_id,
        "source_ids": [document.source_id for document in documents],
        "seqs": [document.seq for document in documents],
    }
    with store.connection() as connection:
        connection.execute(_sql(store, _LIST), {"scope_id": build.scope_id, "source_ids": listed})
        rows = connection.execute(_sql(store, _READ), read).fetchall()
    return {source_id: _Reading(source_pk, seq, head_gen) for source_id, source_pk, seq, head_gen in rows}


def _stage_revision(store: Store, connection: Any, build: LiveBuild, document: Document, reading: _Reading) -> int:
    text = "\n\n".join(document.texts)
    starts = [sum(len(each) + 2 for each in document.texts[:index]) for index in range(len(document.texts))]
    rev_id: int = connection.execute(
        _sql(store, _REVISION),
        {
            "scope_id": build.scope_id,
            "build_id": build.build_id,
            "source_pk": reading.source_pk,
            "source_seq": reading.source_seq,
            "base_gen": reading.head_gen if document.base_gen is None else document.base_gen,
            "content_hash": hashlib.sha256(text.encode()).digest(),
            "sensitivity": document.sensitivity,
            "title": document.title,
            "uri": document.uri,
            "metadata": Jsonb(document.metadata),
            "locators": Jsonb(list(document.locators)),
            "text": text,
            "n_chunks": len(document.texts),
            "lineage": list(document.lineage),
        },
    ).fetchone()[0]
    vectors = document.vectors if document.vectors is not None else _embed(build, document.texts)
    count = len(document.texts) - document.missing_chunks
    halves = [weights(passage_terms(each, "english"), AVERAGE) for each in document.texts]
    connection.execute(
        _sql(store, _CHUNKS),
        {
            "slab": build.slab,
            "rev_id": rev_id,
            "scope_id": build.scope_id,
            "starts": starts[:count],
            "ends": [start + len(each) for start, each in zip(starts, document.texts, strict=True)][:count],
            "vectors": [HalfVector(vector) for vector in vectors][:count],
            "hashes": [hashlib.sha256(each.encode()).digest() for each in document.texts][:count],
            "metadata": [Jsonb(each) for each in document.chunk_metadata or [{}] * len(document.texts)][:count],
            "bodies": list(document.texts)[:count],
            "tsvs": [tsvector_literal(each) for each in document.texts][:count],
            "weights": halves[:count],
            "tiers": [str(tiers(each)).replace("[", "{").replace("]", "}") for each in halves][:count],
        },
    )
    return rev_id


def _embed(build: LiveBuild, texts: Sequence[str]) -> NDArray[np.float32]:
    return HashEmbedder(build.dimensions).embed(texts)


def _status(document: Document) -> dict[str, Any]:
    return {
        "state": document.state or ("indexed" if document.texts else "empty"),
        "reason": document.reason,
        "bytes": sum(len(text.encode()) for text in document.texts),
        "version": document.version,
        "raw_sha256": hashlib.sha256("".join(document.texts).encode()).hexdigest(),
        "parser": "text/1",
        "chunks": len(document.texts),
    }


def _grants(grants: GrantSet | Grants | None) -> Jsonb | None:
    if grants is None:
        return None
    if isinstance(grants, Grants):
        return Jsonb(grants.model_dump(mode="json"))
    return Jsonb(kept_grants(grants))


def _sql(store: Store, text: LiteralString) -> sql.Composed:
    # Executed with parameters, so a percent sign in the name must not look like one.
    return sql.SQL(text).format(schema=sql.Identifier(store.schema.replace("%", "%%")))


def tsvector_literal(text: str, language: str = "english") -> str:
    """The terms of ``text`` as Postgres reads a tsvector."""
    places = passage_terms(text, language).places
    lexemes = [(term.replace("\\", "\\\\").replace("'", "''"), positions) for term, positions in places.items()]
    return " ".join(f"'{term}':{','.join(map(str, positions))}" for term, positions in lexemes)


_AVERAGE: LiteralString = (
    "UPDATE {schema}.build SET avgdl = %(average)s WHERE build_id = %(build_id)s AND avgdl IS NULL"
)
_PAGE: LiteralString = """
    INSERT INTO {schema}.page (kind, connector_id, build_id, pass_no, seq, fence, rule_version, cursor_out, is_last, is_complete, state)
    VALUES (%(kind)s, %(connector_id)s, %(build_id)s, 1, nextval(pg_get_serial_sequence(%(sequence)s, 'page_id')), %(fence)s,
            %(rule_version)s, '', true, true, 'prepared')
    RETURNING page_id
"""
_LIST: LiteralString = """
    INSERT INTO {schema}.source (scope_id, source_id)
    SELECT %(scope_id)s, id FROM unnest(%(source_ids)s::text[]) AS u (id) ORDER BY id
    ON CONFLICT DO NOTHING
"""
_READ: LiteralString = """
    WITH locked AS (
      SELECT s.source_pk, coalesce(u.seq, s.read_seq + 1) AS seq
      FROM unnest(%(source_ids)s::text[], %(seqs)s::bigint[]) AS u (id, seq)
      JOIN {schema}.source s ON s.scope_id = %(scope_id)s AND s.source_id = u.id
      ORDER BY s.source_pk FOR NO KEY UPDATE OF s)
    UPDATE {schema}.source s SET read_seq = k.seq
    FROM locked k, {schema}.scope p WHERE s.source_pk = k.source_pk AND p.scope_id = s.scope_id
    RETURNING s.source_id, s.source_pk, s.read_seq, p.head_gen
"""
_ITEM: LiteralString = """
    INSERT INTO {schema}.page_item (page_id, ord, kind, source_id, grants, status, rev_id, expected_revision)
    VALUES (%(page_id)s, %(ord)s, %(kind)s, %(source_id)s, %(grants)s, %(status)s, %(rev_id)s, %(expected_revision)s)
"""
_REVISION: LiteralString = """
    WITH v AS (
      INSERT INTO {schema}.document_version (scope_id, source_pk, content_hash, source_seq, sensitivity, title, uri,
                                             metadata, locators, text)
      VALUES (%(scope_id)s, %(source_pk)s, %(content_hash)s, %(source_seq)s, %(sensitivity)s, %(title)s, %(uri)s,
              %(metadata)s, %(locators)s, %(text)s)
      RETURNING version_id),
    l AS (
      INSERT INTO {schema}.lineage (scope_id, version_id, ord, parent_id)
      SELECT %(scope_id)s, version_id, ord, parent FROM v, unnest(%(lineage)s::text[]) WITH ORDINALITY AS u (parent, ord))
    INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, is_derived,
                                   base_gen, n_chunks)
    SELECT %(scope_id)s, %(build_id)s, %(source_pk)s, version_id, %(source_seq)s, %(sensitivity)s,
           cardinality(%(lineage)s::text[]) > 0, %(base_gen)s, %(n_chunks)s
    FROM v
    RETURNING rev_id
"""
_CHUNKS: LiteralString = """
    INSERT INTO {schema}.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, metadata, body, tsv, bm, tiers)
    SELECT %(slab)s, %(rev_id)s, chunk_no, %(scope_id)s, start_cp, end_cp, emb, sha, metadata, body, tsv, bm, tiers::int[]
    FROM unnest(%(starts)s::int[], %(ends)s::int[], %(vectors)s::halfvec[], %(hashes)s::bytea[], %(metadata)s::jsonb[],
                %(bodies)s::text[], %(tsvs)s::tsvector[], %(weights)s::sparsevec[], %(tiers)s::text[])
         WITH ORDINALITY AS u (start_cp, end_cp, emb, sha, metadata, body, tsv, bm, tiers, chunk_no)
"""
