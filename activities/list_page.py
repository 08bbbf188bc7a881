"""Activity `list_page`: walks the connector until a page of documents that must be read has come together.

Documents that are unchanged are only marked as seen, in bulk, which is what makes an unchanged corpus cheap to sync.
Nothing is read here, and nothing is deleted unless the listing was complete.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from threading import Lock
from typing import Final

from temporalio import activity

from activities.connectors import MakeConnector, make_connector
from activities.containment import HandedOver, check_running, contained
from activities.contracts import ListedPage, ListPage
from activities.draft_page import add_change
from activities.heartbeat import heartbeating
from activities.lease_in_waits import lease_in_waits
from activities.read_document import FAULT
from activities.store import Store
from activities.store.connectors import ConnectorRow, connector_by_id
from activities.store.pages import lease, listing
from activities.store.pages.listing import Draft, NewPage, Position
from activities.store.pages.memory import StoredMemory
from activities.store.pages.relisting import must_list_all
from activities.store.scopes import live_build_of
from activities.telemetry import Tell, tell_unchanged
from headwater.connectors import ChangePage, Connector
from headwater.errors import TransientError

# An activity may not run for ever, and what it listed is lost if its worker dies: after this long a page is cut.
LISTING_S: Final = 20.0
PAGE_BEFORE: Final = timedelta(milliseconds=100)  # how often it is asked whether it is published
WALKS_KEPT: Final = 16


class PageLister:
    """Compares what a connector lists with what the store holds. ``parsers`` are the current parser versions."""

    def __init__(
        self,
        store: Store,
        *,
        parsers: frozenset[str],
        connectors: MakeConnector = make_connector,
        tell: Tell | None = None,
    ) -> None:
        self._store = store
        self._tell = tell
        self._connectors = connectors
        self._parsers = parsers
        self._walks: dict[int, tuple[ConnectorRow, Connector]] = {}
        self._told: dict[int, tuple[float, TransientError]] = {}  # until when a source wants to be left alone
        self._walking = Lock()  # several connectors are listed at once

    @activity.defn(name="list_page", no_thread_cancel_exception=True)
    @contained
    def list_page(self, wanted: ListPage) -> ListedPage:
        run, store = wanted.in_pass, self._store
        stored = listing.find_page(store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq)
        if stored is None:
            began_ns = time.time_ns()
            begins = listing.position(
                store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq, fence=run.fence
            )
            row = connector_by_id(store, run.connector_id)
            build = live_build_of(store, row.scope_id)
            memory = StoredMemory(store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq)
            with lease_in_waits(store, run.connector_id, fence=run.fence):
                draft = self._draft(row, begins, wanted, memory)
            stored = listing.record_page(
                store,
                NewPage(
                    connector_id=run.connector_id,
                    scope_id=row.scope_id,
                    build_id=build.build_id,
                    pass_no=run.pass_no,
                    seq=wanted.seq,
                    fence=run.fence,
                    rule_version=row.rule_version,
                    page_size=wanted.page_size,
                    sweep_after=begins.sweep_after,
                    draft=draft,
                    memory=memory.written.to_json(),
                ),
            )
            tell_unchanged(store, self._tell, stored.page_id, count=stored.skipped, began_ns=began_ns)
        return ListedPage(
            page_id=stored.page_id,
            is_last=stored.is_last,
            items=stored.items,
            listed=stored.listed,
            skipped=stored.skipped,
            known_failed=stored.known_failed,
        )

    def _draft(self, row: ConnectorRow, begins: Position, wanted: ListPage, memory: StoredMemory) -> Draft:
        if begins.is_complete:
            return Draft(begins.cursor, is_complete=True, is_whole=begins.is_whole)
        self._heed(row.connector_id)
        connector = self._connector(row, memory)
        draft = Draft(self._start(row, connector, begins, wanted), is_complete=False)
        until = time.monotonic() + LISTING_S
        # All that is asked for may have changed, and must fit. A page less than half full asks for more.
        room, has_listed = wanted.page_size, False
        with heartbeating():
            while not draft.is_complete and room >= max(1, wanted.page_size // 2) and time.monotonic() < until:
                try:
                    listed = connector.list_page(draft.cursor, limit=room)
                except TransientError as error:
                    if not has_listed:
                        raise
                    with self._walking:
                        self._told[row.connector_id] = time.monotonic() + (error.retry_after_s or 0.0), error
                    break  # what was listed before it counts: the next page meets it too, and waits
                has_listed = True
                self._take(draft, listed, row, wanted)
                room = wanted.page_size - len(draft.items)
                activity.heartbeat(draft.listed)
                check_running()
        if not memory.is_used:
            with self._walking:
                self._walks[row.connector_id] = row, connector
        return draft

    def _heed(self, connector_id: int) -> None:
        """A source that told for how long it wants to be left alone, when the page before had something to keep, is."""
        with self._walking:
            until, error = self._told.pop(connector_id, (0.0, None))
        if error is not None and time.monotonic() < until:
            raise error

    def _start(self, row: ConnectorRow, connector: Connector, begins: Position, wanted: ListPage) -> str | None:
        """The cursor that the page begins at. A pass that is to see everything, as read or as granted, begins where all is listed."""
        if wanted.seq > 1 or (anew := connector.restart(begins.cursor)) == begins.cursor:
            return begins.cursor
        # At what its origin failed waits for the next listing: one such document is no reason for listing a million.
        if not wanted.in_pass.full and not must_list_all(
            self._store, row.connector_id, rule_version=row.rule_version, parsers=self._parsers | {FAULT}
        ):
            return begins.cursor
        # From here on a pass that is given up is followed by one that begins there too: half of what the connector remembers
        # may be of this one.
        lease.restart(self._store, row.connector_id, fence=wanted.in_pass.fence, cursor=anew)
        return anew

    def _connector(self, row: ConnectorRow, memory: StoredMemory) -> Connector:
        """The connector that listed the page before, which may go on where it stands, or a new one.

        A new one finds its place again, which in a folder of many files costs a listing of all of them for each page. One that
        remembers is always a new one: what it knows is what the store kept.
        """
        with self._walking:
            known = self._walks.pop(row.connector_id, None)
            if known is not None and known[0] == row:
                return known[1]
            while len(self._walks) >= WALKS_KEPT:
                self._walks.pop(next(iter(self._walks)))
        return self._connectors(row.kind, row.config, name=row.name, memory=memory)

    def _take(self, draft: Draft, listed: ChangePage, row: ConnectorRow, wanted: ListPage) -> None:
        source_ids = [change.source_id for change in listed.changes]
        self._await_page_before(wanted, source_ids)
        known = listing.known_sources(
            self._store, connector_id=row.connector_id, scope_id=row.scope_id, source_ids=source_ids
        )
        for change in listed.changes:
            add_change(
                draft,
                change,
                known,
                rule_version=row.rule_version,
                full=wanted.in_pass.full,
                parsers=self._parsers,
            )
        draft.listed += len(listed.changes)
        draft.unlisted += listed.unlisted
        draft.cursor, draft.is_complete, draft.is_whole = listed.cursor, listed.done, listed.is_whole

    def _await_page_before(self, wanted: ListPage, source_ids: Sequence[str]) -> None:
        """Until the page before is published if it brings one of these documents too: the store says how they were before it.

        A document that is deleted and comes back within a pass would be found unchanged, and then be deleted.
        """
        if wanted.seq == 1:
            return  # none is before it: a pass in which nothing changed asks nothing
        # No longer: who waits has one of the places that preparing the page before may need.
        run, until = wanted.in_pass, time.monotonic() + LISTING_S
        while listing.is_under_way(
            self._store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq, source_ids=source_ids
        ):
            if time.monotonic() > until:
                raise HandedOver("The page before is not published yet; the next attempt waits on.")
            activity.heartbeat()
            check_running()
            activity.wait_for_worker_shutdown_sync(PAGE_BEFORE)
