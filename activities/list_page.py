"""Activity `list_page`: walks the connector until a page of documents that must be read has come together.

Documents that are unchanged are only marked as seen, in bulk, which is what makes an unchanged corpus cheap to sync.
Nothing is read here, and nothing is deleted unless the listing was complete.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from temporalio import activity

from activities.connectors import MakeConnector, make_connector
from activities.containment import HandedOver, check_running, contained
from activities.contracts import ListedPage, ListPage
from activities.heartbeat import heartbeating
from activities.plan import BROUGHT, Plan, is_failed, plan
from activities.store import Store
from activities.store.connectors import ConnectorRow, connector_by_id
from activities.store.pages import listing
from activities.store.pages.listing import Draft, Item, Known, NewPage, Position
from activities.store.scopes import live_build_of
from headwater.connectors import Change, ChangeKind, Connector

# An activity may not run for ever, and what it listed is lost if its worker dies: after this long a page is cut.
LISTING_S: Final = 20.0
PAGE_BEFORE: Final = timedelta(milliseconds=100)  # how often it is asked whether it is published
WALKS_KEPT: Final = 16


class PageLister:
    """Compares what a connector lists with what the store holds. ``parsers`` are the current parser versions."""

    def __init__(
        self, store: Store, *, parsers: frozenset[str], connectors: MakeConnector = make_connector
    ) -> None:  # fmt: skip
        self._store = store
        self._connectors = connectors
        self._parsers = parsers
        self._walks: dict[int, tuple[ConnectorRow, Connector]] = {}

    @activity.defn(name="list_page", no_thread_cancel_exception=True)
    @contained
    def list_page(self, wanted: ListPage) -> ListedPage:
        run, store = wanted.in_pass, self._store
        stored = listing.find_page(store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq)
        if stored is None:
            begins = listing.position(
                store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq, fence=run.fence
            )
            row = connector_by_id(store, run.connector_id)
            build = live_build_of(store, row.scope_id)
            draft = self._draft(row, begins, wanted)
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
                ),
            )
        return ListedPage(
            page_id=stored.page_id,
            is_last=stored.is_last,
            items=stored.items,
            listed=stored.listed,
            skipped=stored.skipped,
            known_failed=stored.known_failed,
        )

    def _draft(self, row: ConnectorRow, begins: Position, wanted: ListPage) -> Draft:
        draft = Draft(cursor=begins.cursor, is_complete=begins.is_complete)
        if draft.is_complete:
            return draft
        connector = self._connector(row)
        until = time.monotonic() + LISTING_S
        # All that is asked for may have changed, and must fit. A page less than half full asks for more.
        room = wanted.page_size
        with heartbeating():
            while not draft.is_complete and room >= max(1, wanted.page_size // 2) and time.monotonic() < until:
                self._take(draft, connector, row, wanted, limit=room)
                room = wanted.page_size - len(draft.items)
                activity.heartbeat(draft.listed)
                check_running()
        self._walks[row.connector_id] = row, connector
        return draft

    def _connector(self, row: ConnectorRow) -> Connector:
        """The connector that listed the page before, which may go on where it stands, or a new one.

        A new one finds its place again, which in a folder of many files costs a listing of all of them for each page.
        """
        known = self._walks.pop(row.connector_id, None)
        if known is not None and known[0] == row:
            return known[1]
        while len(self._walks) >= WALKS_KEPT:
            self._walks.pop(next(iter(self._walks)), None)
        return self._connectors(row.kind, row.config, name=row.name)

    def _take(self, draft: Draft, connector: Connector, row: ConnectorRow, wanted: ListPage, *, limit: int) -> None:
        listed = connector.list_page(draft.cursor, limit=limit)
        source_ids = [change.source_id for change in listed.changes]
        self._await_page_before(wanted, source_ids)
        known = listing.known_sources(
            self._store, connector_id=row.connector_id, scope_id=row.scope_id, source_ids=source_ids
        )
        for change in listed.changes:
            self._add(draft, change, known, rule_version=row.rule_version, full=wanted.in_pass.full)
        draft.listed += len(listed.changes)
        draft.unlisted += listed.unlisted
        draft.cursor, draft.is_complete = listed.cursor, listed.done

    def _await_page_before(self, wanted: ListPage, source_ids: Sequence[str]) -> None:
        """Until the page before is published if it brings one of these documents too: the store says how they were before it.

        A document that is deleted and comes back within a pass would be found unchanged, and then be deleted.
        """
        run, until = wanted.in_pass, time.monotonic() + LISTING_S
        while listing.is_under_way(
            self._store, connector_id=run.connector_id, pass_no=run.pass_no, seq=wanted.seq, source_ids=source_ids
        ):
            if time.monotonic() > until:
                raise HandedOver("The page before is not published yet; the next attempt waits on.")
            activity.heartbeat()
            check_running()
            activity.wait_for_worker_shutdown_sync(PAGE_BEFORE)

    def _add(
        self, draft: Draft, change: Change, known: Mapping[str, Known], *, rule_version: int, full: bool
    ) -> None:  # fmt: skip
        held = known.get(change.source_id)
        draft.items.pop(change.source_id, None)  # what was listed last counts
        if change.kind is ChangeKind.DELETE:
            if held is not None:
                draft.items[change.source_id] = Item(kind="delete", source_id=change.source_id)
            return
        what = plan(change, held, full=full, rule_version=rule_version, parsers=self._parsers)
        if held is not None and what not in BROUGHT:
            if held.is_withheld_at(change.version):
                pass  # neither unchanged nor failed, and told of when it was withheld
            elif is_failed(held):
                draft.known_failed += 1
            else:
                draft.skipped += 1
        if held is not None and what is Plan.NOTHING:
            draft.unchanged_pks.append(held.source_pk)
            return
        regrant = rule_version > (held.rule_version if held else 0)
        draft.items[change.source_id] = Item(
            kind="upsert" if what in BROUGHT else "grants",
            source_id=change.source_id,
            locator=change.locator,
            path=change.path,
            version=change.version,
            label=change.label,
            grants=_grants(change) if regrant else None,
        )


def _grants(change: Change) -> dict[str, object]:
    """The grants as the page keeps them. A connector that cannot say who may read lets nobody read."""
    if change.grants is None:
        return {"principal_ids": [], "group_ids": [], "everyone": False}
    return {
        "principal_ids": list(change.grants.principal_ids),
        "group_ids": list(change.grants.group_ids),
        "everyone": change.grants.everyone,
    }
