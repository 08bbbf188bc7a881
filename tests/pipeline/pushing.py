"""The activities of a push on a real store, called one by one as the workflow would, without the workflow."""

import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from temporalio.testing import ActivityEnvironment

from activities.accept_ingest import IngestKeeper
from activities.contracts import BatchRef, PageRef, PreparedPage, PublishedPage
from activities.contracts.ingest import AcceptIngest, EndIngest
from activities.embed_batch import BatchEmbedder
from activities.embedder_source import EmbedderSource
from activities.prepare_page import PagePreparer
from activities.publish_page import PagePublisher
from activities.read_document import Parser
from activities.restage_page import PageRestager
from activities.store import Store
from activities.store.requests import Owner, claim_request
from headwater.contracts import IngestOutcome, IngestSource, IngestSourcesResult
from headwater.models import Scope
from headwater.staged_content import stage_content
from tests.pipeline.harness import SCOPE, SPEC
from tests.pipeline.heard_embedder import HeardEmbedder

MAX_BYTES = 100_000
CHUNK_SIZE = 40

Result = TypeVar("Result")
_numbers = itertools.count(1)


class Pusher:
    """A worker's activities, and a host. ``embedded`` holds the texts that were embedded for it.

    ``heard`` is called with texts before they are embedded, and what it raises fails them.
    """

    def __init__(self, store: Store, parser: Parser, *, heard: Callable[[Sequence[str]], object] | None = None) -> None:
        self.store = store
        self.embedded: list[str] = []
        self.heard = heard or self.embedded.extend
        embedders = EmbedderSource(lambda spec: HeardEmbedder(spec, self._hear))
        self._keeper = IngestKeeper(
            store, embedders, embedder=SPEC, chunk_size=CHUNK_SIZE, chunk_overlap=0, language="english"
        )
        self._preparer = PagePreparer(store, embedders, parser, max_bytes=MAX_BYTES)
        self._embedder = BatchEmbedder(store, embedders)
        self._publisher = PagePublisher(store)
        self._restager = PageRestager(store, embedders)

    def _hear(self, texts: Sequence[str]) -> None:
        self.heard(texts)

    def accept(self, *sources: dict[str, Any], scope: Scope = SCOPE, request_id: str | None = None) -> PageRef:
        """The page of a request, which is new unless ``request_id`` says otherwise."""
        name = request_id or f"request-{next(_numbers)}"
        request = claim_request(
            self.store,
            scope,
            workflow="IngestSources",
            request_id=name,
            payload_sha256=hashlib.sha256(name.encode()).digest(),
            owner=Owner("w", "r"),
            makes_corpus=True,
        )
        asked = AcceptIngest(
            scope=scope,
            request_no=request.request_no,
            requested_by="tests",
            sources=tuple(IngestSource.model_validate(each) for each in sources),
        )
        # As it travels: everything the activity gets went through JSON.
        accepted = _call(self._keeper.accept_ingest, AcceptIngest.model_validate_json(asked.model_dump_json()))
        return PageRef(page_id=accepted.page_id, tenant_id=scope.tenant_id)

    def prepare(self, page: PageRef) -> PreparedPage:
        return _call(self._preparer.prepare_page, page)

    def restage(self, page: PageRef) -> PreparedPage:
        """The page again, for the build that readers see by now."""
        return _call(self._restager.restage_page, page)

    def stage(self, page: PageRef) -> None:
        """The page read and embedded: everything but published."""
        self.embed(page, self.prepare(page))

    def embed(self, page: PageRef, prepared: PreparedPage) -> None:
        for batch_no in range(prepared.batches):
            _call(self._embedder.embed_batch, BatchRef(**dict(page), batch_no=batch_no))

    def publish(self, page: PageRef) -> PublishedPage:
        return _call(self._publisher.publish_page, page)

    def end(self, page: PageRef, generation: int = 0) -> IngestSourcesResult:
        return _call(self._keeper.end_ingest, EndIngest(**dict(page), generation=generation))

    def finish(self, page: PageRef) -> IngestSourcesResult:
        """All that follows after a page was accepted."""
        self.stage(page)
        return self.end(page, self.publish(page).generation)

    def push(self, *sources: dict[str, Any], scope: Scope = SCOPE) -> IngestSourcesResult:
        return self.finish(self.accept(*sources, scope=scope))

    def push_one(self, source_id: str, text: str | None = None, **fields: Any) -> IngestOutcome:
        content = {} if text is None else {"text": text}
        return self.push({"source_id": source_id, **content, **fields}).sources[0]

    def hand_in(self, content: bytes, media_type: str = "text/plain", *, scope: Scope = SCOPE) -> str:
        """The id of staged content."""
        with self.store.connection() as connection:
            return str(stage_content(connection, content, scope=scope, media_type=media_type).id)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.store.connection() as connection:
            return connection.execute(query.encode()).fetchall()

    def do(self, *statements: str) -> None:
        """What only a test would do to the tables."""
        with self.store.connection() as connection:
            for statement in statements:
                connection.execute(statement.encode())


def _call(method: Callable[[Any], Result], argument: Any) -> Result:
    result: Result = ActivityEnvironment().run(method, argument)
    return result
