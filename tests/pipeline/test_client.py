"""A Python host pushes documents, says who may read them, and deletes them: as the library's README has it."""

import io
import re
import runpy
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from temporalio.client import Client

from activities.store import Store
from headwater import AsyncRetriever, Authorization, StoreError, ValidationError
from headwater.client import HeadwaterClient
from headwater.contracts import Grants, IngestSource, SourceGrants
from tests.pipeline.harness import SCOPE, SPEC, running_pipeline
from workers.options import WorkerOptions

README = Path(__file__).parents[2] / "retrieval" / "README.md"
OPTIONS = WorkerOptions(max_document_bytes=1 << 22, embedder=SPEC)


@pytest.fixture
def host_dsn(database: str) -> Iterator[str]:
    """The login of a host: it may stage and read, and nothing more."""
    login = sql.Identifier("client_host")
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'h' IN ROLE headwater_host, headwater_reader").format(login)
        )
        yield make_conninfo(database, user="client_host", password="h")
        admin.execute(sql.SQL("DROP ROLE {}").format(login))


@pytest.fixture
async def headwater(store: Store, temporal_client: Client, host_dsn: str) -> AsyncIterator[HeadwaterClient]:
    async with running_pipeline(store, temporal_client, options=OPTIONS):
        yield await HeadwaterClient.connect(host_dsn, client=temporal_client)


async def seen(dsn: str, principal: str, *groups: str) -> set[str]:
    who = Authorization(principal_id=principal, tenant_id=SCOPE.tenant_id, group_ids=groups)
    async with AsyncRetriever.connect(dsn, embedder=SPEC) as retriever:
        found = await retriever.retrieve("approvals", scope=SCOPE, authorization=who, top_k=32)
    return {hit.source_id for hit in found.hits}


async def test_the_example_of_the_readme_runs(
    headwater: HeadwaterClient, temporal_server: str, host_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
        if "async def publish(" in block
    ]
    program, report = tmp_path / "example.py", tmp_path / "report.md"
    program.write_text(example, "utf-8")
    report.write_text("# Report\n\n" + "Approvals were many. " * 5_000, "utf-8")

    await runpy.run_path(str(program))["publish"](host_dsn, temporal_server, report)

    assert capsys.readouterr().out.splitlines() == [
        "policy indexed 1 None", "report indexed 1 None", "summary indexed 1 None"
    ]  # fmt: skip
    assert await seen(host_dsn, "alice", "board") == {"report"}


async def test_the_same_request_does_nothing_twice(headwater: HeadwaterClient, host_dsn: str) -> None:
    note = IngestSource(source_id="note", text="Approvals.", grants=Grants(everyone=True, access_version=1))
    first = await headwater.ingest_sources(SCOPE, [note], request_id="r1")
    await headwater.delete_sources(SCOPE, ["note"], request_id="r2")

    assert await headwater.ingest_sources(SCOPE, [note], request_id="r1") == first
    assert await seen(host_dsn, "alice") == set()
    with pytest.raises(ValidationError, match="request_id r1 was used for another IngestSources"):
        await headwater.ingest_sources(SCOPE, [note.model_copy(update={"text": "Others."})], request_id="r1")


async def test_who_loses_a_race_is_told_and_overwrites_nothing(headwater: HeadwaterClient, host_dsn: str) -> None:
    grants = Grants(everyone=True, access_version=5)
    new = IngestSource(source_id="note", text="Approvals.", grants=grants, expected_revision=0)
    assert (await headwater.ingest_sources(SCOPE, [new], request_id="r1")).sources[0].conflict is None

    again = await headwater.ingest_sources(SCOPE, [new.model_copy(update={"text": "Others."})], request_id="r2")
    conflict = again.sources[0].conflict
    assert conflict is not None and (conflict.expected, conflict.actual) == (0, 1)

    late = [SourceGrants(source_id="note", access_version=4)]
    outcome = (await headwater.set_source_access(SCOPE, late, request_id="r3")).sources[0]
    assert (outcome.outcome, outcome.access_version) == ("conflict", 5)
    assert await seen(host_dsn, "alice") == {"note"}


async def test_a_login_without_the_role_is_told_what_it_lacks(temporal_client: Client, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("CREATE ROLE client_guest LOGIN PASSWORD 'g'")
        try:
            dsn = make_conninfo(database, user="client_guest", password="g")
            client = await HeadwaterClient.connect(dsn, client=temporal_client)
            with pytest.raises(StoreError, match="grant it the role 'headwater_host'"):
                await client.stage(SCOPE, "text/plain", io.BytesIO(b"text"))
        finally:
            admin.execute("DROP ROLE client_guest")
    client = await HeadwaterClient.connect("postgresql://me:hidden@127.0.0.1:1/db", client=temporal_client)
    with pytest.raises(StoreError) as raised:
        await client.stage(SCOPE, "text/plain", b"text")
    assert "hidden" not in str(raised.value)
