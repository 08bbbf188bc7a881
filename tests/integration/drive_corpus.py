"""A corpus that follows an emulated Drive step by step, without a workflow: what is asked, embedded, kept and found."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from temporalio.exceptions import ApplicationError

from activities.connectors.drive.config import DriveConfig
from activities.connectors.drive.drive import Drive
from activities.connectors.drive.sessions import DriveSessions
from activities.contracts import PublishedPage
from activities.parsers.pool import ParserPool
from activities.read_document import FAULTS, Parser
from activities.store import Store
from activities.store.connectors import ensure_connector
from activities.store.scopes import live_build
from headwater.connectors import Connector, Memory
from headwater.contracts import SyncFailure
from headwater.embedders import Embedder
from headwater.models import Authorization, Hit
from headwater.retriever import Retriever
from headwater.workflow_ids import sync_workflow_id
from tests.drive.request_log import RequestLog
from tests.drive.serving import RunningDrive
from tests.drive.world import World
from tests.pipeline.by_hand import ByHand
from tests.pipeline.drive_shelf import DriveShelf, drive_shelf
from tests.pipeline.harness import SCOPE, SPEC, states, visible
from tests.pipeline.heard_embedder import HeardEmbedder

ADA, BEN, EVE, ROBOT = "ada@a.test", "ben@a.test", "eve@b.test", "robot@b.test"
"""Two of one domain, one of another, and the account of the connector."""

DOWNLOAD: Final = "drive.files.get:media"
EXPORT: Final = "drive.files.export*"
"""For scripts of faults and for the log: however it is asked for."""
PAGES_MAX: Final = 10_000

Result = TypeVar("Result")


@dataclass(frozen=True)
class Synced:
    """What one sync did."""

    upserted: int
    deleted: int
    failed: int
    skipped: int
    withheld: int
    pages: int
    generation: int
    failures: list[SyncFailure]
    embedded: list[str]
    """The texts that were embedded for it."""

    requests: list[str]
    """The methods that Drive was asked, in their order, without sign-ins."""

    @property
    def downloads(self) -> int:
        return self.requests.count(DOWNLOAD)

    @property
    def exports(self) -> int:
        return sum(fnmatchcase(method, EXPORT) for method in self.requests)

    @property
    def read_nothing(self) -> bool:
        """No content was asked for and nothing was embedded."""
        return (self.downloads, self.exports, self.embedded) == (0, 0, [])

    @property
    def did_nothing(self) -> bool:
        """Nothing was read, embedded, shown or taken away either."""
        return self.read_nothing and (self.upserted, self.deleted, self.failed, self.withheld) == (0, 0, 0, 0)


@dataclass
class DriveCorpus:
    """``embedded`` are all texts that were embedded, in their order."""

    shelf: DriveShelf
    hand: ByHand
    embedded: list[str]
    folder: Path
    """For credentials."""

    runs: int = field(default=0, init=False)

    @property
    def drive(self) -> RunningDrive:
        return self.shelf.drive

    @property
    def world(self) -> World:
        return self.drive.world

    @property
    def log(self) -> RequestLog:
        return self.drive.log

    @property
    def store(self) -> Store:
        return self.shelf.store

    def add_connector(
        self, name: str, *, email: str = ROBOT, credentials: Path | None = None, **config: Any
    ) -> None:  # fmt: skip
        """One more connector of the corpus, over the same Drive: with the rights of ``email``, or other ``credentials``."""
        folder = self.folder / name
        folder.mkdir()
        file = credentials or self.drive.authorized_user_file(folder, email)
        settings = DriveConfig.parse({"root_url": f"{self.drive.url}/", "credentials": str(file), **config})
        build = live_build(self.store, SCOPE)
        assert build is not None
        ensure_connector(self.store, build.scope_id, name, "drive", settings.to_config(), new_rule=False)

    def sync(
        self,
        connector: str = "drive",
        *,
        full: bool = False,
        page_size: int = 100,
        wait_out: Callable[[ApplicationError], object] | None = None,
    ) -> Synced:
        """One sync to its end. A document at which Drive fails is tried again as often as the retry policy would; a throttle,
        if there is ``wait_out``, is waited out with that. Any other error ends the sync and is raised; of a cursor that Drive
        has forgotten it is noted that it is lost."""
        self.runs += 1
        mark, before = self.log.mark(), len(self.embedded)
        hand, owner = self.hand, sync_workflow_id(SCOPE, connector)
        begun = hand.begin(connector=connector, owner=owner, run=f"run-{self.runs}", full=full)
        pages, skipped = list[PublishedPage](), 0
        try:
            for seq in range(begun.next_seq, PAGES_MAX):
                listed = _tried(partial(hand.list_page, begun.in_pass, seq, page_size=page_size), wait_out)
                skipped += listed.skipped
                prepared = _tried(partial(hand.prepare, begun.in_pass, listed.page_id), wait_out)
                for batch_no in range(prepared.batches):
                    hand.embed(begun.in_pass, listed.page_id, batch_no)
                pages.append(hand.publish(begun.in_pass, listed.page_id))
                hand.advance(begun.in_pass, listed.page_id)
                if listed.is_last:
                    break
        except ApplicationError as error:
            if error.type == "InvalidCursor":
                hand.lose_cursor(begun.in_pass)
            else:
                hand.end(begun.in_pass, error=error.message)
            raise
        ended = hand.end(begun.in_pass)
        return Synced(
            upserted=sum(page.upserted for page in pages),
            deleted=sum(page.deleted for page in pages),
            failed=ended.failed,
            skipped=skipped + sum(page.skipped for page in pages),
            withheld=sum(page.withheld for page in pages),
            pages=len(pages),
            generation=ended.generation,
            failures=ended.failures,
            embedded=self.embedded[before:],
            requests=[request.method for request in self.log.of("*", since=mark) if request.method != "token"],
        )

    def hits(self, email: str, query: str = "text", *, top_k: int = 32, groups: Sequence[str] = ()) -> Sequence[Hit]:
        """What a user gets as the nearest, best first."""
        told = (f"domain:{email.partition('@')[2]}", *sorted(self.world.groups_of(email)), *groups)
        who = Authorization(principal_id=email, tenant_id=SCOPE.tenant_id, group_ids=told)
        with Retriever.connect(self.shelf.dsn, embedder=SPEC) as retriever:
            answer = retriever.retrieve(
                query,
                scope=SCOPE,
                authorization=who,
                top_k=top_k,
                max_result_bytes=1 << 19,
                max_context_tokens=8_000,
            )
        return answer.hits

    def found(self, email: str, query: str = "text", *, groups: Sequence[str] = ()) -> dict[str, str]:
        """The text that a user finds of each document, by file id. The corpus must be so small that it fits one answer."""
        hits = self.hits(email, query, groups=groups)
        assert len(hits) < 32, "what is compared must fit one answer"
        texts: dict[str, list[str]] = {}
        for hit in hits:
            texts.setdefault(hit.source_id.removeprefix("drive:"), []).append(hit.text)
        return {file_id: "\n--\n".join(sorted(found)) for file_id, found in texts.items()}

    def shown(self) -> dict[str, str]:
        """The text of each document that the corpus would show to whoever may read it, by file id."""
        return {source_id.removeprefix("drive:"): text for source_id, text in visible(self.store).items()}

    def state(self, file_id: str) -> tuple[str, str | None]:
        """State and reason of one document."""
        return states(self.store)[f"drive:{file_id}"]


@contextmanager
def drive_corpus(
    store: Store,
    dsn: str,
    folder: Path,
    world: World,
    *,
    email: str = ROBOT,
    parser: Parser | None = None,
    **config: Any,
) -> Iterator[DriveCorpus]:
    """An empty corpus with a connector ``drive`` over ``world``, which is served while the context lasts. Without a
    ``parser`` it has the parsers of the product, in a process that is started when there is something to read."""
    embedded: list[str] = []
    sessions = DriveSessions()

    def resolve(spec: str) -> Embedder:
        return HeardEmbedder(spec, embedded.extend)

    def connect(kind: str, config: Mapping[str, Any], *, name: str, memory: Memory | None = None) -> Connector:
        assert (kind, bool(name)) == ("drive", True)
        return Drive.from_config(config, memory=memory, sessions=sessions, wait=lambda seconds: None)

    with drive_shelf(store, dsn, folder, world, email=email, **config) as shelf, ParserPool(1) as pool:
        try:
            hand = ByHand(store, resolve=resolve, parser=parser or pool, connectors=connect)
            yield DriveCorpus(shelf, hand, embedded, folder)
        finally:
            sessions.close()


def _tried(step: Callable[[], Result], wait_out: Callable[[ApplicationError], object] | None) -> Result:
    """The step, once more after each failure that the retry policy would wait out."""
    faults = 0
    while True:
        try:
            return step()
        except ApplicationError as error:
            if error.type == "DocumentFault" and faults < FAULTS:
                faults += 1
            elif error.type == "Throttled" and wait_out is not None:
                wait_out(error)
            else:
                raise


def peopled() -> World:
    """A world of four users, of whom nobody has anything."""
    world = World()
    for email in (ADA, BEN, EVE, ROBOT):
        world.add_user(email)
    return world


def shared_folder(world: World, name: str = "Office") -> str:
    """A folder of Ada's, into whose permissions the robot may look and of which nobody else knows."""
    folder = world.add_folder(name, owner=ADA).id
    world.share(folder, ROBOT, role="writer")
    return folder


__all__ = [
    "ADA",
    "BEN",
    "DOWNLOAD",
    "EVE",
    "EXPORT",
    "ROBOT",
    "DriveCorpus",
    "Synced",
    "drive_corpus",
    "peopled",
    "shared_folder",
]
