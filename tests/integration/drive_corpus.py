"""A corpus that follows an emulated Drive step by step, without a workflow: what is asked, embedded, kept and found."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from temporalio.exceptions import ApplicationError

from activities.contracts import Pass, PublishedPage
from activities.prepare_page import FAULTS
from activities.read_document import Parser
from activities.store import Store
from headwater.embedders import Embedder
from headwater.models import Authorization, Hit
from headwater.retriever import Retriever
from tests.drive.request_log import RequestLog
from tests.drive.serving import RunningDrive
from tests.drive.world import World
from tests.pipeline.by_hand import ByHand
from tests.pipeline.drive_shelf import drive_shelf
from tests.pipeline.harness import SCOPE, SPEC, states, visible
from tests.pipeline.heard_embedder import HeardEmbedder

ADA, BEN, EVE, ROBOT = "ada@a.test", "ben@a.test", "eve@b.test", "robot@b.test"
"""Two of one domain, one of another, and the account of the connector."""

DOWNLOAD: Final = "drive.files.get:media"
EXPORT: Final = "drive.files.export:media"


@dataclass(frozen=True)
class Synced:
    """What one sync did."""

    upserted: int
    deleted: int
    failed: int
    skipped: int
    generation: int
    embedded: list[str]
    """The texts that were embedded for it."""

    downloads: int
    exports: int

    @property
    def did_nothing(self) -> bool:
        """Nothing was read, embedded, shown or taken away."""
        counts = (self.upserted, self.deleted, self.failed, self.downloads, self.exports)
        return counts == (0, 0, 0, 0, 0) and self.embedded == []


@dataclass
class DriveCorpus:
    """``name`` is the connector's."""

    drive: RunningDrive
    store: Store
    dsn: str
    hand: ByHand
    embedded: list[str]
    name: str = "drive"
    runs: int = field(default=0, init=False)

    @property
    def world(self) -> World:
        return self.drive.world

    @property
    def log(self) -> RequestLog:
        return self.drive.log

    def sync(self, *, full: bool = False, page_size: int = 100) -> Synced:
        """One sync to its end. What a workflow would wait out is raised, but for the faults of single documents."""
        self.runs += 1
        mark, before = self.log.mark(), len(self.embedded)
        begun = self.hand.begin(connector=self.name, run=f"run-{self.runs}", full=full)
        pages, skipped = list[PublishedPage](), 0
        try:
            for seq in range(begun.next_seq, 10_000):
                listed = self.hand.list_page(begun.in_pass, seq, page_size=page_size)
                skipped += listed.skipped
                for batch_no in range(self._prepare(begun.in_pass, listed.page_id)):
                    self.hand.embed(begun.in_pass, listed.page_id, batch_no)
                pages.append(self.hand.publish(begun.in_pass, listed.page_id))
                self.hand.advance(begun.in_pass, listed.page_id)
                if listed.is_last:
                    break
        except ApplicationError as error:
            self.hand.end(begun.in_pass, error=error.message)
            raise
        self.hand.end(begun.in_pass)
        return Synced(
            upserted=sum(page.upserted for page in pages),
            deleted=sum(page.deleted for page in pages),
            failed=sum(page.failed for page in pages),
            skipped=skipped + sum(page.skipped for page in pages),
            generation=max((page.generation for page in pages), default=0),
            embedded=self.embedded[before:],
            downloads=self.log.count(DOWNLOAD, since=mark),
            exports=self.log.count(EXPORT, since=mark),
        )

    def _prepare(self, in_pass: Pass, page_id: int) -> int:
        """The page's batches. A document at which Drive fails is tried again as often as the retry policy would."""
        for tries in range(1, FAULTS + 1):
            try:
                return self.hand.prepare(in_pass, page_id).batches
            except ApplicationError as error:
                if error.type != "DocumentFault" or tries == FAULTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def hits(self, email: str, query: str = "text", *, top_k: int = 32, groups: Sequence[str] = ()) -> list[Hit]:
        """What a user gets as the nearest, best first."""
        told = (f"domain:{email.partition('@')[2]}", *sorted(self.world.groups_of(email)), *groups)
        who = Authorization(principal_id=email, tenant_id=SCOPE.tenant_id, group_ids=told)
        with Retriever.connect(self.dsn, embedder=SPEC) as retriever:
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
    parser: Parser | None = None,
    email: str = ROBOT,
    **config: Any,
) -> Iterator[DriveCorpus]:
    """An empty corpus with a connector over ``world``, which is served while the context lasts. Without a ``parser`` all is
    plain text, as `InlineParser` reads it."""
    embedded: list[str] = []

    def resolve(spec: str) -> Embedder:
        return HeardEmbedder(spec, embedded.extend)

    with drive_shelf(store, dsn, folder, world, email=email, **config) as shelf:
        yield DriveCorpus(shelf.drive, store, dsn, ByHand(store, resolve=resolve, parser=parser), embedded)


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
