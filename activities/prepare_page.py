"""Activity `prepare_page`: reads the documents of a page, eight at a time, and stages what they hold.

A document is counted before it is tried, so that one which ends the worker is found out. When several were in flight,
nobody knows which it was: none is blamed, and each is then tried alone. One at which its origin fails, and at no other, is
tried again after the others, and given up after a few attempts.
"""

import contextvars
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import timedelta
from typing import Final

import structlog
from temporalio import activity
from temporalio.exceptions import CancelledError

from activities.connectors import MakeConnector, make_connector
from activities.containment import HandedOver, check_running, contained, where
from activities.contracts import PageRef, PreparedPage
from activities.embedder_source import EmbedderSource
from activities.heartbeat import heartbeating
from activities.lease_in_waits import lease_in_waits
from activities.origins import Origin, origin_of
from activities.read_document import FAULT, FAULTS, FETCHER, Parser, Reading
from activities.store import Store, StoreUnavailable
from activities.store.pages import staging
from activities.store.pages.staging import NotedItem, OpenItem, Page, StagedDocument, Started
from activities.store.scopes import build_of
from headwater.chunking.profile import ChunkingProfile
from headwater.connectors import DocumentFault, SourceUnavailable
from headwater.embedders import TokenCounter
from headwater.errors import EmbedderMismatch, HeadwaterError, StoreError, TransientError

log = structlog.get_logger()

IN_FLIGHT: Final = 8
ATTEMPTS: Final = 3
# So long before the activity's timeout, which would leave documents in flight, that those that were begun last are read.
ATTEMPT_S: Final = 400.0
RENEWED_EVERY_S: Final = 60.0  # the lease, while documents are read
RETRY_AFTER: Final = timedelta(seconds=1)


class PagePreparer:
    """Reads and stages documents. ``parser`` works in processes that can be killed."""

    def __init__(
        self,
        store: Store,
        embedders: EmbedderSource,
        parser: Parser,
        *,
        max_bytes: int,
        connectors: MakeConnector = make_connector,
    ) -> None:
        self._store = store
        self._embedders = embedders
        self._parser = parser
        self._max_bytes = max_bytes
        self._connectors = connectors
        self._excused: set[int] = set()

    @activity.defn(name="prepare_page", no_thread_cancel_exception=True)
    @contained
    def prepare_page(self, ref: PageRef) -> PreparedPage:
        store = self._store
        page = staging.open_page(store, ref.page_id, fence=ref.fence)
        if page.state == "listed":
            items = staging.open_items(store, page, excused=ref.page_id in self._excused)
            self._excused.discard(ref.page_id)
            if items:
                try:
                    with heartbeating(), lease_in_waits(store, page.connector_id, fence=page.fence):
                        self._read_items(page, items, full=ref.in_pass is not None and ref.in_pass.full)
                except BaseException:
                    # This worker lives: whatever is still in flight did not end it, and the next attempt knows.
                    self._excused.add(ref.page_id)
                    raise
        return PreparedPage(batches=staging.finish_preparing(store, page))

    def _read_items(self, page: Page, items: Sequence[OpenItem], *, full: bool) -> None:
        build = build_of(self._store, page.build_id)
        embedder = self._embedders.of(build)
        reading = Reading(
            parser=self._parser,
            profile=ChunkingProfile.from_fingerprint(build.chunker),
            token_ends=embedder.token_ends if isinstance(embedder, TokenCounter) else None,
            max_bytes=self._max_bytes,
            full=full,
        )
        origin = origin_of(self._store, page, items, connectors=self._connectors)
        with ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="read") as pool:
            until = time.monotonic() + ATTEMPT_S
            faults: list[DocumentFault] = []
            for group in _groups(items):
                check_running()
                if time.monotonic() > until:
                    raise HandedOver("The page takes long; the next attempt goes on.")
                origin.renew()
                faults += self._read_group(page, group, origin, reading, pool)
        if faults:
            raise max(faults, key=lambda fault: fault.retry_after_s or 0.0)

    def _read_group(
        self, page: Page, group: Sequence[OpenItem], origin: Origin, reading: Reading, pool: ThreadPoolExecutor
    ) -> list[DocumentFault]:
        given_up = [_given_up(item) for item in group if item.attempts >= ATTEMPTS]
        tried = [item for item in group if item.attempts < ATTEMPTS]
        started = origin.start([item.ord for item in tried])
        # Threads begin without a context, and an activity that is to end is known by it.
        futures = {pool.submit(contextvars.copy_context().run, origin.read, item, reading): item for item in tried}
        unread = set(futures)
        while unread := wait(unread, timeout=RENEWED_EVERY_S).not_done:
            origin.renew()
        return self._land(page, started, futures, given_up)

    def _land(
        self,
        page: Page,
        started: Mapping[int, Started],
        futures: dict[Future[StagedDocument | NotedItem], OpenItem],
        noted: list[NotedItem],
    ) -> list[DocumentFault]:
        """What reading a group gave; the faults for which a document of it is to be tried again."""
        staged: list[StagedDocument] = []
        stop: HeadwaterError | CancelledError | None = None
        waiting: list[int] = []
        faults: dict[int, DocumentFault] = {}
        for future, item in futures.items():
            error = future.exception()
            if error is None:
                result = future.result()
                if isinstance(result, StagedDocument):
                    staged.append(result)
                else:
                    noted.append(result)
            elif isinstance(error, DocumentFault):
                if item.faults + 1 < FAULTS:
                    faults[item.ord] = error
                else:
                    noted.append(_failed_at(item, error))
            elif isinstance(error, TransientError | SourceUnavailable | StoreError | EmbedderMismatch | CancelledError):
                # Not this document's fault: waiting helps, the source, Postgres or the model is not as it must be, or
                # the activity is to end.
                stop = error
                waiting.append(item.ord)
            else:
                # A defect of ours that this document brought out: it costs the document, not the page.
                log.error("document.failed", source_id=item.source_id, error=type(error).__name__, where=where(error))
                noted.append(_broken(item, error))
        self._outlast(lambda: staging.land_items(self._store, page, started, staged, noted))
        if faults:
            self._outlast(lambda: staging.count_faults(self._store, page, list(faults)))
        if stop is not None:
            staging.release_items(self._store, page, waiting)
            raise stop
        return list(faults.values())

    def _outlast(self, write: Callable[[], None]) -> None:
        """Writes what was read, however long Postgres is away: reading it again would cost a try that failed nobody."""
        while True:
            try:
                write()
                return
            except StoreUnavailable:
                check_running()
                activity.wait_for_worker_shutdown_sync(RETRY_AFTER)


def _groups(items: Sequence[OpenItem]) -> Iterator[Sequence[OpenItem]]:
    """Documents in flight together: eight, or one alone after a worker died over several."""
    together = [item for item in items if not item.alone]
    for first in range(0, len(together), IN_FLIGHT):
        yield together[first : first + IN_FLIGHT]
    for item in items:
        if item.alone:
            yield [item]


def _given_up(item: OpenItem) -> NotedItem:
    reason = f"Reading it ended the worker {item.attempts} times; it is tried again when its version changes."
    status = {"state": "quarantined", "reason": reason, "chunks": 0, "version": item.version, "parser": FETCHER}
    return NotedItem(ord=item.ord, status=status)


def _failed_at(item: OpenItem, fault: DocumentFault) -> NotedItem:
    what = str(fault).rstrip(".")
    reason = f"{what}, {item.faults + 1} times in a row; it is tried again when it is listed again."
    status = {"state": "failed", "reason": reason, "chunks": 0, "version": item.version, "parser": FAULT}
    return NotedItem(ord=item.ord, status=status)


def _broken(item: OpenItem, error: BaseException) -> NotedItem:
    reason = f"Reading it failed with {type(error).__name__}; please report it with the document's kind."
    status = {"state": "failed", "reason": reason, "chunks": 0, "version": item.version, "parser": FETCHER}
    return NotedItem(ord=item.ord, status=status)
