"""Requests of hosts as the store knows them, and who may read what of a corpus."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from psycopg import sql

from activities.store import Store
from activities.store.requests import Owner, claim_request
from activities.store.sources.access import allowed, set_access
from activities.store.sources.deletion import delete_once
from headwater.contracts import AccessOutcome, SourceGrants
from headwater.models import Authorization, Scope
from tests.integration.staging_factory import Corpus


def new_request(store: Store, corpus: Corpus, workflow: str = "SetSourceAccess") -> int:
    """The number of a request that nobody sent before."""
    return claim_request(
        store,
        corpus.scope,
        workflow=workflow,
        request_id=uuid4().hex,
        payload_sha256=b"payload",
        owner=Owner("workflow", "run"),
    ).request_no


def grant(store: Store, corpus: Corpus, source_id: str, version: int, **grants: Any) -> AccessOutcome:
    """The outcome of giving a source these grants."""
    (outcome,) = grant_all(store, corpus, [SourceGrants(source_id=source_id, access_version=version, **grants)])
    return outcome


def grant_all(store: Store, corpus: Corpus, grants: Sequence[SourceGrants]) -> Sequence[AccessOutcome]:
    """The outcomes of one request."""
    request_no = new_request(store, corpus)
    return set_access(store, corpus.scope, grants, request_no=request_no, actor="tests").sources


def delete_sources(store: Store, scope_id: int, source_ids: Sequence[str]) -> int:
    """The generation at which a host's request ended them."""
    query = sql.SQL("SELECT tenant_id, resource_id, corpus_id FROM {} WHERE scope_id = %s")
    with store.connection() as connection:
        row = connection.execute(query.format(sql.Identifier(store.schema, "scope")), (scope_id,)).fetchone()
    assert row is not None
    scope = Scope(tenant_id=row[0], resource_id=row[1], corpus_id=row[2])
    owner = Owner("workflow", "run")
    request = claim_request(
        store, scope, workflow="DeleteSources", request_id=uuid4().hex, payload_sha256=b"payload", owner=owner
    )
    return delete_once(store, scope, source_ids, request_no=request.request_no, actor="tests").generation


def who(principal: str, *groups: str, tenant: str = "acme", version: int | None = None) -> Authorization:
    return Authorization(principal_id=principal, tenant_id=tenant, group_ids=groups, access_version=version)


def may_read(store: Store, corpus: Corpus, source_id: str, authorization: Authorization) -> bool:
    """Whether the source is granted now."""
    with store.connection() as connection:
        return bool(allowed(connection, store.schema, corpus.build.scope_id, authorization, [source_id]))
