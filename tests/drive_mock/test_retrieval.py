"""The whole way from either server to an answer: who is named finds the document, who is not finds nothing."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
from temporalio.client import Client

from activities.connectors.drive.config import DriveConfig
from activities.store import Store
from activities.store.connectors import ensure_connector
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.chunking.profile import ChunkingProfile
from headwater.embedders import resolve_embedder
from headwater.models import Authorization
from headwater.retriever import Retriever
from tests.drive_mock.office import Office
from tests.integration.drive_follower import ADA, BEN
from tests.pipeline.harness import SCOPE, SPEC, Pipeline, running_pipeline

pytestmark = pytest.mark.long

READER = {"type": "user", "role": "reader", "emailAddress": BEN}


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.open(database) as opened:
        yield opened


@pytest.fixture
async def pipeline(store: Store, temporal_client: Client) -> AsyncIterator[Pipeline]:
    async with running_pipeline(store, temporal_client) as running:
        yield running


@dataclass(frozen=True)
class Corpus:
    """What a connector ``name`` brings of the office."""

    dsn: str
    name: str = "drive"

    def found(self, email: str) -> list[str]:
        """The texts that somebody finds."""
        who = Authorization(principal_id=email, tenant_id=SCOPE.tenant_id)
        with Retriever.connect(self.dsn, embedder=SPEC) as retriever:
            return sorted(hit.text for hit in retriever.retrieve("text", scope=SCOPE, authorization=who).hits)


@pytest.fixture
def corpus(office: Office, store: Store, database: str) -> Corpus:
    embedder = resolve_embedder(SPEC)
    space = SpaceSpec(
        embedder_spec=SPEC,
        embedder_identity=embedder.identity,
        dimensions=embedder.dimensions,
        max_tokens=embedder.max_tokens,
        chunker=ChunkingProfile.for_embedder(embedder).fingerprint,
    )
    build = ensure_scope(store, SCOPE, space)
    config = DriveConfig.parse(office.follower.config).to_config()
    made = Corpus(database)
    ensure_connector(store, build.scope_id, made.name, "drive", config, new_rule=False)
    return made


async def test_the_corpus_is_what_the_server_holds(pipeline: Pipeline, office: Office, corpus: Corpus) -> None:
    plans = office.add_folder("plans")
    plan = office.add("plan.txt", b"Text of the plan.", parent=plans)
    note = office.add("note.txt", b"Text of the note.")
    office.server.share(plan, READER)

    first = await pipeline.sync(corpus)
    assert (first.upserted, first.failed, first.exhausted) == (2, 0, True)
    assert corpus.found(ADA) == ["Text of the note.", "Text of the plan."]
    assert corpus.found(BEN) == ["Text of the plan."]
    assert corpus.found("eve@b.test") == []

    office.server.unshare(plan, BEN)
    office.server.share(note, READER)
    office.rename(plans, "routes")
    second = await pipeline.sync(corpus)
    assert second.embedded_chunks == 0
    assert corpus.found(BEN) == ["Text of the note."]
    assert (office.server.downloads(plan), office.server.downloads(note)) == (1, 1)

    office.write(note, b"Another text of the note.")
    office.delete(plan)
    third = await pipeline.sync(corpus)
    assert (third.upserted, third.deleted) == (1, 1)
    assert corpus.found(ADA) == corpus.found(BEN) == ["Another text of the note."]

    fourth = await pipeline.sync(corpus)
    assert (fourth.upserted, fourth.deleted, fourth.embedded_chunks, fourth.generation) == (0, 0, 0, third.generation)
