"""A Drive that is synced by running workers, and what each of its users finds in the corpus, next to what Drive lets them read."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activities.connectors.drive.config import DriveConfig
from activities.store import Store
from activities.store.connectors import ensure_connector
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.chunking.profile import ChunkingProfile
from headwater.embedders import resolve_embedder
from headwater.models import Authorization
from headwater.retriever import Retriever
from tests.drive.serving import RunningDrive, running_drive
from tests.drive.world import World
from tests.pipeline.harness import SCOPE, SPEC

HITS_MAX = 32


@dataclass(frozen=True)
class DriveShelf:
    """A connector ``name`` over a served Drive, with the rights of one of its users."""

    drive: RunningDrive
    store: Store
    dsn: str
    name: str = "drive"

    @property
    def world(self) -> World:
        return self.drive.world

    def found_by(self, email: str) -> dict[str, str]:
        """The text of each document that the corpus gives to a user, by file id."""
        with Retriever.connect(self.dsn, embedder=SPEC) as retriever:
            return found_texts(retriever, self.world, email)

    def allowed_to(self, email: str, held: Mapping[str, str]) -> dict[str, str]:
        """What of ``held``, texts by file id, Drive lets the user find."""
        return {file_id: text for file_id, text in held.items() if self.world.may_read(email, file_id)}


@contextmanager
def drive_shelf(
    store: Store, dsn: str, folder: Path, world: World, *, email: str, **config: Any
) -> Iterator[DriveShelf]:
    """The connector's row, over ``world`` as it is served while the context lasts."""
    scope_id = make_corpus(store)
    with running_drive(world) as drive:
        shelf = DriveShelf(drive, store, dsn)
        credentials = drive.authorized_user_file(folder, email)
        connect(store, scope_id, shelf.name, drive, credentials=credentials, **config)
        yield shelf


def make_corpus(store: Store) -> int:
    """The id of the corpus that all tests here speak of."""
    embedder = resolve_embedder(SPEC)
    space = SpaceSpec(
        embedder_spec=SPEC,
        embedder_identity=embedder.identity,
        dimensions=embedder.dimensions,
        max_tokens=embedder.max_tokens,
        chunker=ChunkingProfile.for_embedder(embedder).fingerprint,
    )
    return ensure_scope(store, SCOPE, space).scope_id


def connect(
    store: Store, scope_id: int, name: str, drive: RunningDrive, *, credentials: Path, **config: Any
) -> None:  # fmt: skip
    """A row of a connector to the served Drive."""
    settings = DriveConfig.parse({"root_url": f"{drive.url}/", "credentials": str(credentials), **config})
    ensure_connector(store, scope_id, name, "drive", settings.to_config(), new_rule=False)


def found_texts(retriever: Retriever, world: World, email: str) -> dict[str, str]:
    """What a user of the world finds, by file id. The host says which groups a person is in."""
    groups = (f"domain:{email.partition('@')[2]}", *sorted(world.groups_of(email)))
    answer = retriever.retrieve(
        "text",
        scope=SCOPE,
        authorization=Authorization(principal_id=email, tenant_id=SCOPE.tenant_id, group_ids=groups),
        top_k=HITS_MAX,
        max_result_bytes=1 << 19,
        max_context_tokens=8_000,
    )
    assert len(answer.hits) < HITS_MAX, "what is compared must fit one answer"
    return {hit.source_id.removeprefix("drive:"): hit.text for hit in answer.hits}
