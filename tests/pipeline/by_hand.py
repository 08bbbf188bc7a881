"""The activities of a sync on a real store, called one by one as the workflow would, without the workflow."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.connectors import MakeConnector, make_connector
from activities.contracts import (
    AdvancedCheckpoint,
    BatchRef,
    BeginPass,
    BegunPass,
    EmbeddedBatch,
    EndedPass,
    EndPass,
    ListedPage,
    ListPage,
    PageRef,
    Pass,
    PreparedPage,
    PublishedPage,
)
from activities.embed_batch import BatchEmbedder
from activities.embedder_source import EmbedderSource
from activities.keep_pass import PassKeeper
from activities.list_page import PageLister
from activities.parsers import ParsedDocument, ParseFailure
from activities.prepare_page import PagePreparer
from activities.publish_page import PagePublisher
from activities.read_document import Parser, readers
from activities.restage_page import PageRestager
from activities.store import Store
from headwater.embedders import Embedder, resolve_embedder
from tests.pipeline.harness import SCOPE

MAX_BYTES: Final = 1 << 20
OWNER: Final = "sync:t1/docs/handbook:shelf"

Result = TypeVar("Result")


class InlineParser:
    """Reads plain text in this process, and says so to ``heard`` first. Text that begins with # it cannot read."""

    def __init__(self, heard: Callable[[str], object] = lambda text: None) -> None:
        self._heard = heard

    def parse(self, name: str, data: bytes, media_type: str | None, max_chars: int) -> ParsedDocument | ParseFailure:
        self._heard(data.decode())
        if data.startswith(b"#"):
            return ParseFailure("failed", "It begins with a number sign.")
        return ParsedDocument(text=data.decode())


class ByHand:
    """A worker's activities; every call is a first attempt, in an environment of its own."""

    def __init__(
        self,
        store: Store,
        *,
        resolve: Callable[[str], Embedder] = resolve_embedder,
        parser: Parser | None = None,
        connectors: MakeConnector = make_connector,
    ) -> None:
        embedders, parsers = EmbedderSource(resolve), readers(MAX_BYTES)
        self._keeper = PassKeeper(store)
        self._lister = PageLister(store, parsers=parsers, connectors=connectors)
        self._preparer = PagePreparer(
            store, embedders, parser or InlineParser(), max_bytes=MAX_BYTES, connectors=connectors
        )
        self._restager = PageRestager(store, embedders)
        self._embedder = BatchEmbedder(store, embedders)
        self._publisher = PagePublisher(store)

    def begin(
        self, *, connector: str = "shelf", owner: str = OWNER, run: str = "run-1", full: bool = False, **fields: Any
    ) -> BegunPass:
        wanted = BeginPass(scope=SCOPE, connector=connector, workflow_id=owner, run_id=run, full=full, **fields)
        return _call(self._keeper.begin_pass, wanted)

    def list_page(
        self,
        in_pass: Pass,
        seq: int = 1,
        *,
        page_size: int = 100,
        meanwhile: Callable[..., None] = lambda *details: None,
    ) -> ListedPage:
        """``meanwhile`` happens when something was listed and nothing is recorded."""
        environment = ActivityEnvironment()
        environment.on_heartbeat = meanwhile
        wanted = ListPage(in_pass=in_pass, seq=seq, page_size=page_size)
        return environment.run(self._lister.list_page, wanted)

    def prepare(self, in_pass: Pass, page_id: int) -> PreparedPage:
        return _call(self._preparer.prepare_page, PageRef(in_pass=in_pass, page_id=page_id))

    def restage(self, in_pass: Pass, page_id: int) -> None:
        """The page again, for the build that readers see by now."""
        prepared = _call(self._restager.restage_page, PageRef(in_pass=in_pass, page_id=page_id))
        for batch_no in range(prepared.batches):
            self.embed(in_pass, page_id, batch_no)

    def embed(self, in_pass: Pass, page_id: int, batch_no: int = 0) -> EmbeddedBatch:
        return _call(self._embedder.embed_batch, BatchRef(in_pass=in_pass, page_id=page_id, batch_no=batch_no))

    def publish(self, in_pass: Pass, page_id: int) -> PublishedPage:
        return _call(self._publisher.publish_page, PageRef(in_pass=in_pass, page_id=page_id))

    def advance(self, in_pass: Pass, page_id: int) -> AdvancedCheckpoint:
        return _call(self._keeper.advance_checkpoint, PageRef(in_pass=in_pass, page_id=page_id))

    def end(self, in_pass: Pass, *, paused: bool = False, error: str | None = None) -> EndedPass:
        return _call(self._keeper.end_pass, EndPass(in_pass=in_pass, paused=paused, error=error))

    def lose_cursor(self, in_pass: Pass) -> EndedPass:
        """The pass ends because its connector's origin has forgotten the cursor."""
        return _call(self._keeper.end_pass, EndPass(in_pass=in_pass, error="It is gone.", forget_cursor=True))

    def stage(self, in_pass: Pass, seq: int = 1, *, page_size: int = 100) -> ListedPage:
        """The page listed, read and embedded: everything but published."""
        listed = self.list_page(in_pass, seq, page_size=page_size)
        for batch_no in range(self.prepare(in_pass, listed.page_id).batches):
            self.embed(in_pass, listed.page_id, batch_no)
        return listed

    def sync(self, **fields: Any) -> list[PublishedPage]:
        """A whole pass: what publishing each of its pages did."""
        begun, published = self.begin(**fields), []
        for seq in range(begun.next_seq, 1_000):
            listed = self.stage(begun.in_pass, seq)
            published.append(self.publish(begun.in_pass, listed.page_id))
            self.advance(begun.in_pass, listed.page_id)
            if listed.is_last:
                break
        self.end(begun.in_pass)
        return published


def refusal(call: Callable[[], object]) -> tuple[str | None, str]:
    """Type and sentence of the error that the activity leaves for the workflow."""
    try:
        call()
    except ApplicationError as error:
        return error.type, error.message
    raise AssertionError("the call was not refused")


def _call(method: Callable[[Any], Result], argument: Any) -> Result:
    result: Result = ActivityEnvironment().run(method, argument)
    return result
