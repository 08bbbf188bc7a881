"""The change feeds: each is read to its end, page by page, and its token moves with every page."""

import hashlib
import json
from functools import partial

from activities.connectors.drive.asking import UNTOLD
from activities.connectors.drive.cursor import Cursor, Phase
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.item import How, Item, is_id
from activities.connectors.drive.kinds import Way
from activities.connectors.drive.passing import Page, gone
from activities.connectors.drive.shortcuts import pointers_to
from activities.connectors.drive.tree import ABOVE, AWAITED, Due
from headwater.connectors import ChangePage, InvalidCursor


def read_changes(page: Page) -> ChangePage:
    """The next page of the feed that comes first in the queue."""
    cursor = page.cursor
    if not cursor.walk.queue:
        return page.end(cursor.to(Phase.SETTLE))
    feed = cursor.walk.queue[0]
    feeds = page.placing.feeds
    try:
        answer = page.calls.changes(feeds[feed], page_size=page.limit, drive_id=feed or None)
    except SharedDriveGone:
        return page.end(_without(page, feed))
    if not _take(page, answer["changes"]):
        return page.cut()
    token = answer.get("nextPageToken")
    feeds[feed] = token or answer["newStartPageToken"]
    return page.end(_onward(cursor, token, is_empty=not answer["changes"]) if token else _after(cursor))


def _onward(cursor: Cursor, token: str, *, is_empty: bool) -> Cursor:
    turned = cursor.listing.turn(token, is_empty=is_empty)
    if turned is None:
        raise InvalidCursor("Drive's changes have no end: their pages go in a circle. Everything is listed anew.")
    return cursor.with_listing(turned)


def _after(cursor: Cursor) -> Cursor:
    queue = cursor.walk.queue[1:]
    return cursor.to(Phase.CHANGES, queue=queue) if queue else cursor.to(Phase.SETTLE)


def _without(page: Page, feed: str) -> Cursor:
    """The drive vanished meanwhile. What a shortcut led to there is found gone by a listing of everything."""
    cursor = _after(page.cursor)
    if page.scope.is_flat and feed in page.placing.roots:
        if feed in cursor.lost:
            return cursor
        page.unlisted.append(gone(feed))
        return cursor.with_(lost=(*cursor.lost, feed))
    del page.placing.feeds[feed]
    return cursor.with_(listed_at=None).on(is_whole=False)


def _take(page: Page, changes: list[dict[str, object]]) -> bool:
    """Of several entries for one file the last counts. Drive's own rule: what is removed has no file, only an id."""
    latest: dict[str, dict[str, object]] = {}
    for change in changes:
        file_id = change.get("fileId")
        if change.get("changeType", "file") == "file" and isinstance(file_id, str) and is_id(file_id):
            latest.pop(file_id, None)
            latest[file_id] = change
    items = {file_id: _item(change) for file_id, change in latest.items()}
    page.tree.load(
        each
        for file_id, item in items.items()
        for each in (file_id, AWAITED + file_id, ABOVE + file_id, *(item.parents if item is not None else ()))
    )
    is_taken = page.take_each(
        {
            _entry(latest[file_id]): partial(
                _without_item, page, file_id, is_removed=latest[file_id].get("removed") is True
            )
            if item is None
            else partial(page.placing.take, item, How.TOLD)
            for file_id, item in items.items()
        }
    )
    if is_taken:
        page.placing.above.notice([*items, *_drives(changes)])
    return is_taken


def _drives(changes: list[dict[str, object]]) -> list[str]:
    """The shared drives that changed, as their members do: their ids are those of their top folders."""
    ids = [change.get("driveId") for change in changes if change.get("changeType") == "drive"]
    return [each for each in ids if isinstance(each, str) and is_id(each)]


def _entry(change: dict[str, object]) -> str:
    """A name for what is told of a file. When an answer is asked for again, the same token tells of what the file has
    become meanwhile: that is another entry, which no page has taken yet."""
    told = hashlib.sha256(json.dumps(change, sort_keys=True).encode()).hexdigest()[:16]
    return f"{change['fileId']} {told}"


def _item(change: dict[str, object]) -> Item | None:
    raw = change.get("file")
    if change.get("removed") is True or not isinstance(raw, dict):
        return None
    item = Item.parse(raw)
    return item if item is not None and item.id == change["fileId"] else None


def _without_item(page: Page, file_id: str, *, is_removed: bool) -> None:
    """Deleted, or hidden from the account, or moved to where another feed tells of it. Or Drive does not say what it is."""
    placing = page.placing
    known = page.tree.node(file_id)
    try:
        is_elsewhere = known is not None and (file_id in placing.roots or len(placing.feeds) > 1)
        if not is_removed or is_elsewhere or pointers_to(page.tree, file_id):
            item = placing.ask(file_id)
            if item is not None:
                placing.take(item, How.ASKED)
                return
        if known is not None and not page.may_go(file_id):
            return
    except UNTOLD as why:
        placing.fail(file_id, why)
        return
    is_asked = page.scope.is_flat and known is not None and known.way is Way.FOLDER
    placing.lose(file_id, due=Due.ASK if is_asked else Due.DROP)


__all__ = ["read_changes"]
