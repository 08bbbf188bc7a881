"""Moves asked for without a workflow, and many sources and edges written in bulk for them."""

from collections.abc import Collection, Sequence
from typing import Any, Final, LiteralString

from activities.contracts.repoint import MovedPage
from activities.store import Store
from activities.store.sources.repoint import Move, move_page
from headwater.contracts import Grants
from headwater.models import Authorization
from tests.integration.asked import new_request, who
from tests.integration.seen import of_schema, table
from tests.integration.staging_factory import Corpus, Document, push

ALICE: Final = who("alice")
SERVICE: Final = who("mover")
SERVICES: Final = (("acme", "mover"),)
ALICES: Final = Grants(principal_ids=("alice",), access_version=1)


def hosts(store: Store, corpus: Corpus, *documents: Document) -> None:
    """Documents that a host pushes, one after the other."""
    for document in documents:
        (outcome,) = push(store, corpus, document)
        assert outcome.outcome == "published", outcome


def move(
    store: Store,
    corpus: Corpus,
    from_id: str,
    to_id: str,
    *,
    authorization: Authorization = SERVICE,
    page_size: int = 4_096,
    request_no: int | None = None,
    step: str = "page",
    services: Collection[tuple[str, str]] = SERVICES,
    **more: Any,
) -> MovedPage:
    """What one page of the move did, under a request of its own."""
    return move_page(
        store,
        corpus.scope,
        Move(from_id, to_id, authorization, page_size, **more),
        request_no=request_no or new_request(store, corpus, "RepointSource"),
        step=step,
        actor="tests",
        service_principals=services,
    )


def move_all(store: Store, corpus: Corpus, from_id: str, to_id: str, **more: Any) -> list[MovedPage]:
    """All pages of the move."""
    pages = [move(store, corpus, from_id, to_id, **more)]
    while pages[-1].after is not None:
        pages.append(move(store, corpus, from_id, to_id, after=pages[-1].after, **more))
    return pages


def many_sources(store: Store, corpus: Corpus, ids: Sequence[str]) -> None:
    """Sources of a host with a text of one passage each, readable by alice, without passages or vectors."""
    _bulk(store, corpus, _SOURCES, ids=list(ids))


def many_rows(store: Store, corpus: Corpus, ids: Sequence[str]) -> None:
    """Ids that are granted to alice and hold nothing."""
    _bulk(store, corpus, _ROWS, ids=list(ids))


def many_edges(store: Store, corpus: Corpus, derived: Sequence[str], parents: Sequence[str]) -> None:
    """Each of ``derived``, which are sources, rests on each of ``parents``."""
    _bulk(store, corpus, _EDGES, derived=list(derived), parents=list(parents))


def parents_of(store: Store, source_id: str) -> list[str]:
    """What the texts of the source rest on, in order."""
    (source_pk,) = (row["source_pk"] for row in table(store, "source") if row["source_id"] == source_id)
    versions = {row["version_id"] for row in table(store, "document_version") if row["source_pk"] == source_pk}
    edges = [row for row in table(store, "lineage") if row["version_id"] in versions]
    return [str(row["parent_id"]) for row in sorted(edges, key=lambda row: (row["version_id"], row["ord"]))]


def audits(store: Store, action: str = "repoint") -> list[dict[str, Any]]:
    """What was audited, in order."""
    rows = sorted(table(store, "audit"), key=lambda row: int(row["id"]))
    return [dict(row["detail"]) for row in rows if row["action"] == action]


def _bulk(store: Store, corpus: Corpus, text: LiteralString, **parameters: Any) -> None:
    build = corpus.build
    named = {"scope_id": build.scope_id, "build_id": build.build_id, "grantee": "alice", **parameters}
    with store.connection() as connection, connection.transaction():
        connection.execute(of_schema(store, _GRANTEE), {**named, "tenant_id": corpus.scope.tenant_id})
        connection.execute(of_schema(store, text), named)
        connection.execute(of_schema(store, _ANALYZE), {})


_GRANTEE: LiteralString = """
    INSERT INTO {schema}.grantee (tenant_id, kind, name) VALUES (%(tenant_id)s, 'principal', %(grantee)s) ON CONFLICT DO NOTHING
"""
_ANALYZE: LiteralString = "ANALYZE {schema}.source, {schema}.span, {schema}.lineage"
_ROWS: LiteralString = """
    INSERT INTO {schema}.source (scope_id, source_id, grants, access_version)
    SELECT %(scope_id)s, id, ARRAY(SELECT grantee_id FROM {schema}.grantee WHERE name = %(grantee)s), 1
    FROM unnest(%(ids)s::text[]) AS u (id)
"""
_SOURCES: LiteralString = """
    WITH taken AS (
      UPDATE {schema}.scope SET head_gen = head_gen + 1, live_gen = head_gen + 1 WHERE scope_id = %(scope_id)s
      RETURNING head_gen AS gen),
    built AS (UPDATE {schema}.build SET head_gen = (SELECT gen FROM taken) WHERE build_id = %(build_id)s),
    s AS (
      INSERT INTO {schema}.source (scope_id, source_id, grants, access_version, revision, read_seq)
      SELECT %(scope_id)s, id, ARRAY(SELECT grantee_id FROM {schema}.grantee WHERE name = %(grantee)s), 1, 1, 1
      FROM unnest(%(ids)s::text[]) AS u (id)
      RETURNING source_pk),
    v AS (
      INSERT INTO {schema}.document_version (scope_id, source_pk, revision, content_hash, source_seq, text)
      SELECT %(scope_id)s, source_pk, 1, sha256(source_pk::text::bytea), 1, 'text' FROM s
      RETURNING version_id, source_pk),
    r AS (
      INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, base_gen, n_chunks)
      SELECT %(scope_id)s, %(build_id)s, source_pk, version_id, 1, 1, 0, 1 FROM v
      RETURNING rev_id, source_pk, version_id)
    INSERT INTO {schema}.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
    SELECT rev_id, (SELECT gen FROM taken), %(build_id)s, source_pk, version_id, 1, 1, false FROM r
"""
_EDGES: LiteralString = """
    INSERT INTO {schema}.lineage (scope_id, version_id, ord, parent_id)
    SELECT %(scope_id)s, v.version_id, p.ord, p.parent_id
    FROM unnest(%(derived)s::text[]) AS u (id)
    JOIN {schema}.source s ON s.scope_id = %(scope_id)s AND s.source_id = u.id
    JOIN {schema}.document_version v USING (source_pk)
    CROSS JOIN unnest(%(parents)s::text[]) WITH ORDINALITY AS p (parent_id, ord)
"""
