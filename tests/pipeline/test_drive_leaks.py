"""Tokens, keys and document text are needed while a Drive is synced; histories, rows, logs, errors and spans hold none of them."""

import io
import json
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import psycopg
import pytest
import structlog
from temporalio.client import Client, WorkflowFailureError
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.connectors.drive.config import DriveConfig
from activities.store import Store
from activities.store.connectors import ensure_connector, find_connector
from headwater.contracts import SyncResult
from tests.drive.faults import Fault
from tests.pipeline import leaks, stops
from tests.pipeline.collector import Collector, collecting
from tests.pipeline.drive_secrets import ANN, BOB, PERSON, WORDS, SecretOffice, Secrets, text_of
from tests.pipeline.drive_shelf import DriveShelf, drive_shelf
from tests.pipeline.harness import SCOPE, Pipeline, Shelf, running_pipeline
from tests.pipeline.heard_embedder import HeardEmbedder
from tests.pipeline.own_servers import own_temporal
from tests.pipeline.stops import stopping_at
from workers.options import WorkerOptions
from workers.telemetry import configure_logging

OTHER: Final = "other"
# What readers get passages from; all other tables are about documents and not of them.
OF_TEXT: Final = ("document_version", "chunk", "chunk_s0")


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A server whose histories are all this test's."""
    with own_temporal() as server:
        yield await Client.connect(server.address, data_converter=pydantic_data_converter)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that the process logs, as `headwater up` logs it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging("json", level=logging.INFO, stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)
    structlog.reset_defaults()


@pytest.fixture
def office() -> SecretOffice:
    return SecretOffice()


@pytest.fixture
def shelf(office: SecretOffice, store: Store, database: str, tmp_path: Path) -> Iterator[DriveShelf]:
    with drive_shelf(store, database, tmp_path, office.world, email=PERSON, folder_ids=[office.folder]) as shelf:
        yield shelf


@pytest.fixture
def secrets(shelf: DriveShelf, office: SecretOffice, store: Store, tmp_path: Path) -> Secrets:
    """Those of two connectors, of which one signs in as a service account."""
    secrets = Secrets(shelf.drive, tmp_path)
    known = find_connector(store, SCOPE, shelf.name)
    assert known is not None
    settings = DriveConfig.parse(
        {"root_url": f"{shelf.drive.url}/", "credentials": str(secrets.of_account), "folder_ids": [office.other]}
    )
    ensure_connector(store, known.scope_id, OTHER, "drive", settings.to_config(), new_rule=False)
    # The first one's row says the same path, and the file there is written anew.
    assert known.config["credentials"] == str(secrets.of_person)
    return secrets


class Choking(HeardEmbedder):
    """Never takes one of the documents, and quotes it."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec, self._refuse)

    def _refuse(self, texts: Sequence[str]) -> None:
        if any(WORDS["poison.txt"] in text for text in texts):
            raise ValueError(f"cannot embed {texts}")


def quoting(secrets: Secrets, name: str) -> str:
    """What a careless server would answer."""
    return f"{text_of(name)} {' '.join(secrets.all().values())}"


async def first_sync(pipeline: Pipeline, shelf: DriveShelf, office: SecretOffice, secrets: Secrets) -> SyncResult:
    """Documents that are refused, withheld, broken, cut off and poisonous, among others that are published."""
    files, method = office.files, "drive.files.get:media"
    shelf.drive.faults.add(
        Fault(
            method, file_id=files["refused.txt"], times=None, status=403, reason="cannotDownloadFile",
            message=quoting(secrets, "refused.txt"),
        ),
        Fault(method, file_id=files["failing.txt"], status=500, body=f"<p>{quoting(secrets, 'failing.txt')}</p>"),
        Fault(method, file_id=files["cut.txt"], lost_at_bytes=20),
    )  # fmt: skip
    result = await pipeline.sync(shelf)
    assert (result.upserted, result.withheld) == (8, 2), result.model_dump()
    assert {failure.state for failure in result.failures} == {"failed", "unsupported", "quarantined"}
    return result


async def later_syncs(pipeline: Pipeline, shelf: DriveShelf, office: SecretOffice, secrets: Secrets) -> list[str]:
    """Changes, tokens that end, and what is said of two runs that fail."""
    office.world.unshare(office.folder, BOB)
    office.world.write(office.files["note.txt"], text_of("note.txt") + " Nobody knows where.")
    office.world.delete(office.files["cjk.txt"])
    office.files["added.txt"] = office.add("added.txt")
    shelf.drive.tokens.expire_access(PERSON)
    changed = await pipeline.sync(shelf)
    assert (changed.upserted, changed.deleted) == (2, 1)
    assert secrets.count_of_tokens >= 3

    refusal = Fault(
        "drive.changes.list", status=403, reason="insufficientPermissions", message=quoting(secrets, "policy.md")
    )
    shelf.drive.faults.add(refusal)
    said = [await failed_sync(pipeline, shelf)]
    shelf.drive.tokens.revoke(PERSON)
    return [*said, await failed_sync(pipeline, shelf)]


async def failed_sync(pipeline: Pipeline, shelf: DriveShelf) -> str:
    """All that the error of a run says, causes included."""
    with pytest.raises(WorkflowFailureError) as failure:
        await pipeline.sync(shelf)
    said = ""
    error: BaseException | None = failure.value
    while error is not None:
        said += f"{error} {error!r}\n"
        error = error.__cause__
    return said


def rows(dsn: str, *, of_text: bool = False) -> bytes:
    """Every row of the tables that hold passages, or of all the others."""
    with psycopg.connect(dsn) as connection:
        named = "SELECT relname::text FROM pg_class WHERE relnamespace = 'headwater'::regnamespace AND relkind = 'r'"
        tables = [name for (name,) in connection.execute(named) if (name in OF_TEXT) == of_text]
        assert len(tables) >= 2
        found = [connection.execute(f'SELECT t::text FROM headwater."{each}" t'.encode()).fetchall() for each in tables]
    return "\n".join(row[0] for table in found for row in table).encode()


async def histories(client: Client) -> bytes:
    return b"".join([await leaks.kept(client, run) async for run in client.list_workflows()])


def leaked(needles: Mapping[str, str], haystack: bytes) -> list[str]:
    """Which of them are there, in whatever form."""
    return [name for name, text in needles.items() if leaks.found(leaks.forms_of_text(text), haystack)]


async def test_tokens_keys_and_text_are_in_no_history_row_log_error_or_span(
    client: Client, store: Store, database: str, shelf: DriveShelf, office: SecretOffice, secrets: Secrets,
    log: io.StringIO, collector: Collector,
) -> None:  # fmt: skip
    options = WorkerOptions(max_document_bytes=1 << 20, otlp_endpoint=collector.url)
    async with running_pipeline(store, client, resolve=Choking, options=options) as pipeline:
        async with stopping_at(stops.BEFORE_PUBLISHING, database) as stop:
            handle = await pipeline.start(Shelf(Path(), name=OTHER))
            await stop.reached()
            kept = {"rows of a page that is not published": rows(database)}
            await stop.let_go()
            assert (await handle.result()).upserted == 1
        result = await first_sync(pipeline, shelf, office, secrets)
        said = await later_syncs(pipeline, shelf, office, secrets)
        kept |= {
            "histories": await histories(client),
            "rows": rows(database),
            "log": log.getvalue().encode(),
            "errors": "\n".join([result.model_dump_json(), *said]).encode(),
        }
    kept["spans"] = b"".join(collector.sent)

    hidden = secrets.all() | WORDS
    assert [(where, leak) for where, held in kept.items() for leak in leaked(hidden, held)] == []
    assert leaked({"ann": ANN, "bob": BOB}, kept["histories"] + kept["spans"]) == []

    # The search finds what is there: published words in the tables of passages, secrets in the files they came from.
    assert "document.quarantined" in log.getvalue() and "insufficientPermissions" in said[0], (log.getvalue(), said)
    assert {"quarantined", "failed"} <= {span.told.get("rag.error") for span in collector.named("rag_index")}
    published = {
        name: WORDS[name] for name in ("policy.md", "Native", "note.txt", "scan.pdf", "secret.txt", "added.txt")
    }
    assert leaked(published, rows(database, of_text=True)) == list(published)
    told = json.dumps([file.read_text() for file in (secrets.of_person, secrets.of_account)]).encode()
    assert len(leaked(secrets.all(), told)) == len(secrets.all()) - secrets.count_of_tokens
