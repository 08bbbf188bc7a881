"""How hosts ask the workflows. Type-checked and never run: what stands here keeps its types."""

import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import assert_type
from uuid import UUID

from temporalio.client import Client, TLSConfig

from headwater import Authorization, Scope
from headwater.client import HeadwaterClient
from headwater.contracts import (
    CollectGarbageResult,
    Conflict,
    DeleteSourcesResult,
    ExpiringGrant,
    Grants,
    IngestOutcome,
    IngestSource,
    IngestSourcesResult,
    PropagateDeletionResult,
    ReindexCorpusResult,
    ReindexProgress,
    RenameSourcesResult,
    RepointResult,
    SetGenerationResult,
    SetSourceAccessResult,
    SourceGrants,
    SyncResult,
)

SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")
ALICE = Authorization(principal_id="alice", tenant_id="t1")
SOON = datetime(2031, 6, 30, tzinfo=UTC)


async def connects(dsn: str, client: Client) -> None:
    assert_type(await HeadwaterClient.connect(dsn, "127.0.0.1:7233"), HeadwaterClient)
    await HeadwaterClient.connect(None, "temporal.example:7233", namespace="mine", tls=True, api_key="key")
    await HeadwaterClient.connect(None, "temporal.example:7233", tls=TLSConfig(client_cert=b""), schema="mine")
    await HeadwaterClient.connect(dsn, client=client, requested_by="nightly")


async def parts() -> AsyncIterator[bytes]:
    yield b"part"


async def pushes(headwater: HeadwaterClient) -> None:
    for content in (b"bytes", io.BytesIO(b"a file"), [b"parts"], parts()):
        assert_type(await headwater.stage(SCOPE, "text/plain", content), UUID)
    source = IngestSource(
        source_id="policy",
        text="Approvals take two days.",
        media_type="text/markdown",
        title="Policy",
        uri="https://example.com/policy",
        metadata={"year": 2031, "tags": ["hr", None]},
        grants=Grants(principal_ids=("alice",), access_version=1, expires_at=SOON),
        sensitivity="internal",
        lineage=("draft#0001",),
        expected_revision=0,
        content_hash="0" * 64,
    )
    pushed = await headwater.ingest_sources(SCOPE, [source], request_id="r1")
    assert_type(pushed, IngestSourcesResult)
    assert_type(pushed.sources, tuple[IngestOutcome, ...])
    assert_type(pushed.sources[0].conflict, Conflict | None)


async def decides(headwater: HeadwaterClient) -> None:
    grants = SourceGrants(
        source_id="policy", group_ids=("hr",), everyone=False, access_version=2,
        expiring=(ExpiringGrant(principal_id="bob", expires_at=SOON),),
    )  # fmt: skip
    assert_type(await headwater.set_source_access(SCOPE, [grants], request_id="r1"), SetSourceAccessResult)
    assert_type(await headwater.delete_sources(SCOPE, ["policy"], request_id="r2"), DeleteSourcesResult)
    hidden = await headwater.propagate_deletion(
        SCOPE, "policy", authorization=ALICE, request_id="r3", reason="legal_hold"
    )
    assert_type(hidden, PropagateDeletionResult)
    assert_type(hidden.layers, dict[str, int])


async def moves(headwater: HeadwaterClient) -> None:
    page = await headwater.repoint_source(SCOPE, "a", "b", authorization=ALICE, request_id="r1", page_size=100)
    assert_type(page, RepointResult)
    assert_type(page.cursor, str | None)
    pairs = await headwater.rename_sources(SCOPE, authorization=ALICE, request_id="r2", renames=[("a", "b")])
    assert_type(pairs, RenameSourcesResult)
    await headwater.rename_sources(SCOPE, authorization=ALICE, request_id="r3", prefix=("old/", "new/"))


async def keeps(headwater: HeadwaterClient) -> None:
    assert_type(await headwater.on_behalf_of("admin").sync_corpus(SCOPE, "shelf", full=True), SyncResult)
    await headwater.nudge(SCOPE, "shelf")
    assert_type(await headwater.reindex_corpus(SCOPE, embedder="hash:64"), ReindexCorpusResult)
    assert_type(await headwater.reindex_progress(SCOPE), ReindexProgress | None)
    assert_type(await headwater.abort_reindex(SCOPE), bool)
    assert_type(await headwater.set_generation(SCOPE, generation=7), SetGenerationResult)
    assert_type(await headwater.set_generation(SCOPE, pin=True), SetGenerationResult)
    assert_type(await headwater.collect_garbage(SCOPE, older_than_s=3_600), CollectGarbageResult)


async def refused(headwater: HeadwaterClient) -> None:
    """What must not pass. A wrong call that is accepted makes its comment unused, which is an error too."""
    await headwater.delete_sources(SCOPE, ["a"])  # type: ignore[call-arg]  # no request_id  # pyright: ignore[reportCallIssue]
    await headwater.propagate_deletion(  # type: ignore[call-arg]  # nobody asks  # pyright: ignore[reportCallIssue]
        SCOPE, "a", request_id="r1"
    )
    await headwater.propagate_deletion(
        SCOPE,
        "a",
        authorization=ALICE,
        request_id="r1",
        reason="whim",  # type: ignore[arg-type]  # no such reason  # pyright: ignore[reportArgumentType]
    )
