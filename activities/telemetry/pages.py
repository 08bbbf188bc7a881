"""The span of each source that a page replaces, told when the page is published: not before, and not by an attempt in vain.

It lasts from when the page was listed until readers see the text. In a re-index, whose pages are all listed at once, it
begins when the stored text is cut.
"""

import time
from collections.abc import Sequence
from typing import Final

from activities.store import Store
from activities.store.pages import telling
from activities.store.pages.judge import Outcome
from activities.store.pages.telling import ToldItem, ToldPage
from activities.telemetry.spans import IndexSpan, Tell, note_untold, place_of, replacement_ids
from headwater.errors import StoreError
from headwater.states import FAILED
from headwater.telemetry import Value

_NOT_SHOWN: Final = "left_out"  # readers see it no more
_REINDEX: Final = "reindex"


class PageSpans:
    """What is told of a page that is about to be published. As it stands here, it is told to nobody."""

    __slots__ = ()

    def published(self, *, generation: int | None = None) -> None:
        """Readers see it, from ``generation`` on; or the build that is being made holds it."""


_NOBODY: Final = PageSpans()


def page_spans(store: Store, tell: Tell | None, page_id: int) -> PageSpans:
    """Asked for before the page is published: a repeat, which finds it published, tells nothing once more."""
    if tell is None:
        return _NOBODY
    try:
        page = telling.told_page(store, page_id)
        if page is None or page.state == "published":
            return _NOBODY
        return _Told(store, tell, page, telling.told_items(store, page_id) if page.kind == _REINDEX else ())
    except StoreError as error:
        note_untold(page_id, error)
        return _NOBODY


def tell_unchanged(store: Store, tell: Tell | None, page_id: int, *, count: int, began_ns: int) -> None:
    """One span for all sources that a listing passed over: a million of them would tell a million times of nothing."""
    if tell is None or count == 0:
        return
    try:
        page = telling.told_page(store, page_id)
    except StoreError as error:
        note_untold(page_id, error)
        return
    if page is not None:
        told = {**place_of(page), "cause": page.kind, "outcome": Outcome.UNCHANGED.value, "skipped": count}
        tell(IndexSpan("rag_index", began_ns, time.time_ns(), told))


class _Told(PageSpans):
    __slots__ = ("_items", "_page", "_store", "_tell")

    def __init__(self, store: Store, tell: Tell, page: ToldPage, items: Sequence[ToldItem]) -> None:
        self._store, self._tell, self._page = store, tell, page
        self._items = items  # of a re-index: its page forgets them when it is published

    def published(self, *, generation: int | None = None) -> None:
        ended_ns, page = time.time_ns(), self._page
        try:
            if page.kind == _REINDEX:
                shown = telling.shown_revisions(self._store, [each.rev_id for each in self._items if each.rev_id])
                outcomes = [(each, _carried(each, shown)) for each in self._items]
            else:
                items = telling.told_items(self._store, page.page_id)
                outcomes = [(each, each.outcome or Outcome.ABSENT.value) for each in items]
        except StoreError as error:
            note_untold(page.page_id, error)
            return
        # Of a re-index: what was not cut itself began with the first that was.
        cut_us = min((each.staged_us for each in self._items if each.staged_us), default=page.listed_us)
        for item, outcome in outcomes:
            began_us = (item.staged_us or cut_us) if page.kind == _REINDEX else page.listed_us
            self._tell(_replacement(page, item, outcome, began_ns=began_us * 1000, ended_ns=ended_ns, gen=generation))


def _replacement(
    page: ToldPage, item: ToldItem, outcome: str, *, began_ns: int, ended_ns: int, gen: int | None
) -> IndexSpan:
    is_skipped = outcome == Outcome.UNCHANGED
    told: dict[str, Value] = {
        **place_of(page),
        "cause": page.kind,
        "source_id": item.source_id,
        "outcome": outcome,
        "skipped": int(is_skipped),
        "chunks": item.chunks,
        "generation": gen if outcome == Outcome.PUBLISHED else None,
    }
    # The clock of the database and this machine's differ a little. What was passed over opens and closes.
    began = ended_ns if is_skipped else min(began_ns, ended_ns)
    ids = replacement_ids(page, item.ord)
    return IndexSpan("rag_index", began, ended_ns, told, ids=ids, error=_error(item, outcome))


def _error(item: ToldItem, outcome: str) -> str | None:
    """What the counts of a run call failed: its state, of a text that could not be had; or that somebody else holds the id."""
    if outcome == Outcome.OWNED:
        return outcome
    is_failed = outcome == Outcome.FAILED or (outcome == Outcome.PUBLISHED and item.state in FAILED)
    return (item.state or outcome) if is_failed else None


def _carried(item: ToldItem, shown: set[int]) -> str:
    if item.rev_id is None:
        return Outcome.FAILED.value if item.state in FAILED else _NOT_SHOWN
    return Outcome.PUBLISHED.value if item.rev_id in shown else _NOT_SHOWN
