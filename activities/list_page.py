"""Activity `list_page`: walks the connector until a page of documents that must be read has come together.

Documents that are unchanged are only marked as seen, in bulk, which is what makes an unchanged corpus cheap to sync.
Nothing is read here, and nothing is deleted unless the listing was complete.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from temporalio import activity

from activities.connectors import make_connector
from activities.containment import check_running, contained
from activities.contracts import ListedPage, ListPage
from activities.plan import Plan, is_failed, plan
from activities.store import Store, listing
from activities.store.connectors import ConnectorRow, connector_by_id
from activities.store.listing import Item, Known, NewPage, Position
from activities.store.scopes import live_build_of
from headwater.connectors import Change, ChangeKind, Connector, Unlisted

# An activity may not run for ever, and what it listed is lost if its worker dies: after this long a page is cut.
LISTING_S: Final = 20.0


@dataclass(slots=True)
class _Draft:
    """A page coming together."""

    cursor: str | None
    is_complete: bool
    items: dict[str, Item] = field(default_factory=dict)  # by source id: what was listed last counts
    unchanged_pks: list[int] = field(default_factory=list)
    unlisted: list[Unlisted] = field(default_factory=list)
    listed: int = 0
    skipped: int = 0
    known_failed: int = 0


class PageLister:
    """Compares what a connector lists with what the store holds. ``parsers`` are the current parser versions."""

    def __init__(self, store: Store, *, parsers: frozenset[str]) -> None:
        self._store = store
        self._parsers = parsers

    @activity.defn(name="list_page")
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
                    cursor_out=draft.cursor or "",
                    is_complete=draft.is_complete,
                    sweep_after=begins.sweep_after,
                    listed=draft.listed,
                    skipped=draft.skipped,
                    known_failed=draft.known_failed,
                    items=list(draft.items.values()),
                    unchanged_pks=draft.unchanged_pks,
                    unlisted=draft.unlisted,
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

    def _draft(self, row: ConnectorRow, begins: Position, wanted: ListPage) -> _Draft:
        draft = _Draft(cursor=begins.cursor, is_complete=begins.is_complete)
        if draft.is_complete:
            return draft
        connector = make_connector(row.kind, row.config, name=row.name)
        # Half a page at a time: a page is cut as soon as the next half might not fit, so that it holds at least half
        # of what it may, unless the listing ends.
        limit = max(1, wanted.page_size // 2)
        until = time.monotonic() + LISTING_S
        while not draft.is_complete and len(draft.items) + limit <= wanted.page_size and time.monotonic() < until:
            self._take(draft, connector, row, limit=limit, full=wanted.in_pass.full)
            activity.heartbeat(draft.listed)
            check_running()
        return draft

    def _take(self, draft: _Draft, connector: Connector, row: ConnectorRow, *, limit: int, full: bool) -> None:
        listed = connector.list_page(draft.cursor, limit=limit)
        known = listing.known_sources(
            self._store,
            connector_id=row.connector_id,
            scope_id=row.scope_id,
            source_ids=[change.source_id for change in listed.changes],
        )
        for change in listed.changes:
            self._add(draft, change, known, rule_version=row.rule_version, full=full)
        draft.listed += len(listed.changes)
        draft.unlisted += listed.unlisted
        draft.cursor, draft.is_complete = listed.cursor, listed.done

    def _add(
        self, draft: _Draft, change: Change, known: Mapping[str, Known], *, rule_version: int, full: bool
    ) -> None:  # fmt: skip
        held = known.get(change.source_id)
        if change.kind is ChangeKind.DELETE:
            if held is not None:
                draft.items[change.source_id] = Item(kind="delete", source_id=change.source_id)
            return
        what = plan(change, held, full=full, rule_version=rule_version, parsers=self._parsers)
        if held is not None and what is not Plan.READ:
            if is_failed(held):
                draft.known_failed += 1
            else:
                draft.skipped += 1
        if held is not None and what is Plan.NOTHING:
            draft.unchanged_pks.append(held.source_pk)
            return
        regrant = rule_version > (held.rule_version if held else 0)
        draft.items[change.source_id] = Item(
            kind="upsert" if what is Plan.READ else "grants",
            source_id=change.source_id,
            locator=change.locator,
            path=change.path,
            version=change.version,
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
