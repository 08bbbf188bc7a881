"""Temporal keeps every history for days, in a database that nobody guards: no text, vector, grant or secret is in one."""

import asyncio
import base64
from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg
import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.client import WorkflowExecution as Run
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.connectors import AccessRule
from activities.embed_inputs import PROBE
from activities.store import Store
from headwater.contracts import SyncNow
from headwater.errors import TransientError
from tests.pipeline import leaks, stops
from tests.pipeline.harness import SPEC, Pipeline, Shelf, running_pipeline
from tests.pipeline.heard_embedder import HeardEmbedder
from tests.pipeline.own_servers import OwnTemporal, own_temporal
from tests.pipeline.stops import stopping_at
from tests.unit.small_pdf import make_pdf, words

# Words that stand nowhere else. Each kind of document has one of its own.
TEXTS: Final = {
    "policy.md": "# Quartzmoor leave\n\nThe vellichor ibex sleeps beneath the copper moon for thirty days.",
    "note.txt": "A snollygoster keeps the second key to the archive.",
    "page.html": "<title>Borborygmus weekly</title><p>The taradiddle of March is settled in gold.</p>",
    "cjk.txt": "石英羚羊在銅月下沉睡三十天。",
    "scan.pdf": "The widdershins clause ends in June.",
    "broken.pdf": "collywobbles of a file that is no document",
    "archive.zip": "flibbertigibbet in a format that nobody reads",
    "poison.txt": "An embedder chokes on this gobbledygook alone.",
    "refused.txt": "Postgres itself would quote this kerfuffle.",
}
SECRET_WORDS: Final = (
    "Quartzmoor", "vellichor", "copper moon", "snollygoster", "Borborygmus", "taradiddle", "石英羚羊", "widdershins",
    "collywobbles", "flibbertigibbet", "gobbledygook", "kerfuffle",
)  # fmt: skip
PERSON, GROUP, PASSWORD = "wilhelmina@skulduggery.example", "brouhaha-readers", "lollygag-malarkey-77"
GRANTS: Final = (f"user:{PERSON}", f"group:{GROUP}")


@pytest.fixture
def engine() -> Iterator[OwnTemporal]:
    with own_temporal() as server:
        yield server


@pytest.fixture
async def client(engine: OwnTemporal) -> Client:
    """A server whose histories are all this test's."""
    return await Client.connect(engine.address, data_converter=pydantic_data_converter)


@pytest.fixture
def guarded(database: str) -> Iterator[str]:
    """The database's address, with a password that would be recognised anywhere."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE bumfuzzle SUPERUSER LOGIN PASSWORD '{PASSWORD}'".encode())
        try:
            yield database.replace("//headwater:test@", f"//bumfuzzle:{PASSWORD}@")
        finally:
            connection.execute("REASSIGN OWNED BY bumfuzzle TO headwater")
            connection.execute("DROP ROLE bumfuzzle")


class Troubled(HeardEmbedder):
    """Is busy once, then out of order once, and never takes one of the documents. What it says then quotes documents."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec, self._refuse)
        self._is_busy = self._is_out_of_order = True

    def _refuse(self, texts: Sequence[str]) -> None:
        if self._is_busy:
            self._is_busy = False
            raise TransientError("The model is busy.")
        if self._is_out_of_order:
            self._is_out_of_order = texts != [PROBE]
            raise KeyError(TEXTS["note.txt"])
        if any("gobbledygook" in text for text in texts):
            raise ValueError(f"cannot embed {texts}")


def fill(shelf: Shelf) -> None:
    for name, text in TEXTS.items():
        shelf.write(name, text)
    shelf.write("scan.pdf", make_pdf([words(TEXTS["scan.pdf"])]))
    shelf.write("broken.pdf", b"%PDF-1.4\n" + TEXTS["broken.pdf"].encode())
    shelf.write("archive.zip", b"PK\x03\x04" + TEXTS["archive.zip"].encode() + bytes(100))


async def run_everything(pipeline: Pipeline, shelf: Shelf, database: str) -> list[bytes]:
    """A first sync with trouble, an edit, a deletion, new grants, and two runs that fail. What is kept while it runs."""
    fill(shelf)
    pipeline.register(shelf, access=AccessRule.from_grants(GRANTS))
    async with stopping_at(stops.BEFORE_PUBLISHING, database) as stop:
        handle = await pipeline.start(shelf)
        await stop.reached()
        running = [await leaks.kept(pipeline.client, await handle.describe())]
        end_connections_of_the_worker(database)
        await stop.let_go()
        result = await handle.result()
    assert (result.upserted, result.failed) == (6, 3)
    assert {failure.state for failure in result.failures} == {"failed", "unsupported", "quarantined"}

    shelf.write("note.txt", TEXTS["note.txt"] + " Nobody knows which.")
    (shelf.root / "cjk.txt").unlink()
    pipeline.register(shelf, access=AccessRule.from_grants([*GRANTS, "everyone"]))
    handle = await pipeline.start(shelf)
    await handle.execute_update("sync_now", {"full": True}, result_type=SyncNow)
    await handle.result()

    shelf.write("refused.txt", TEXTS["refused.txt"] + " And again.")
    refuse_rows(database)
    with pytest.raises(WorkflowFailureError):
        await pipeline.sync(shelf)
    shelf.root.rename(shelf.root.parent / "away")
    with pytest.raises(WorkflowFailureError):
        await pipeline.sync(shelf)
    return running


def end_connections_of_the_worker(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'bumfuzzle'")


def refuse_rows(database: str) -> None:
    """From now on Postgres refuses documents, and quotes them."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("""
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused: %', NEW.text USING DETAIL = NEW.text; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON headwater.document_version
               FOR EACH ROW EXECUTE FUNCTION refuse()""")


async def all_runs(client: Client, count: int) -> list[Run]:
    """The runs that the server knows, when it shows as many as there are."""
    async with asyncio.timeout(30):
        while True:
            runs = [run async for run in client.list_workflows()]
            if len(runs) >= count:
                return runs
            await asyncio.sleep(0.05)


def vectors(store: Store) -> list[Any]:
    with store.connection() as connection:
        return [row[0].to_numpy() for row in connection.execute("SELECT emb FROM headwater.chunk")]


async def test_no_history_holds_text_vectors_grants_or_secrets(
    store: Store, guarded: str, database: str, client: Client, shelf: Shelf
) -> None:
    embedder = Troubled(SPEC)
    with Store.open(guarded) as own:
        async with running_pipeline(own, client, resolve=lambda spec: embedder) as pipeline:
            running = await run_everything(pipeline, shelf, database)
        stored = vectors(own)
    assert len(stored) > len(TEXTS) // 2

    needles = {word: list(leaks.forms_of_text(word)) for word in (*SECRET_WORDS, PERSON, GROUP, PASSWORD)}
    needles |= {f"vector {number}": list(leaks.forms_of_vector(vector)) for number, vector in enumerate(stored)}
    runs = await all_runs(client, 4)
    kept = [*running, *[await leaks.kept(client, run) for run in runs]]
    assert len(kept) == 5
    assert [name for name, forms in needles.items() if leaks.found(forms, b"".join(kept))] == []

    # The search finds each of them in a run that was told everything, however it was told.
    for told in (
        {"texts": [*TEXTS.values()], "vectors": [vector.tolist() for vector in stored], "who": GRANTS, "dsn": guarded},
        {
            "texts": [text.encode("utf-16-le").hex() for text in TEXTS.values()],
            "vectors": [base64.b64encode(b"." + vector.astype("<f2").tobytes()).decode() for vector in stored],
            "who": [base64.b64encode(grant.encode()).decode() for grant in GRANTS],
            "dsn": ascii(guarded),
        },
    ):
        handle = await client.start_workflow("Gossip", told, id="gossip", task_queue="nobody", memo={"dsn": guarded})
        gossip = await leaks.kept(client, await handle.describe())
        await handle.terminate()
        assert [name for name, forms in needles.items() if not leaks.found(forms, gossip)] == []
