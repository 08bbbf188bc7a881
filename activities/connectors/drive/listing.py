"""Everything there is, corpus by corpus: first the folders, then the files, whose places are then known."""

from activities.connectors.drive.calls import FILES_MAX, quote
from activities.connectors.drive.cursor import Cursor, Phase
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.item import How
from activities.connectors.drive.kinds import FOLDER
from activities.connectors.drive.passing import Page, gone
from headwater.connectors import ChangePage, InvalidCursor, Unlisted

RESTARTS_MAX = 2  # of one listing
_FOLDERS = f"mimeType = {quote(FOLDER)} and trashed = false"
_FILES = f"mimeType != {quote(FOLDER)} and trashed = false"


def list_corpus(page: Page) -> ChangePage:
    """The next page of the corpus that comes first in the queue. A page may be empty and not the last."""
    cursor, walk = page.cursor, page.cursor.walk
    corpus, is_folders = walk.queue[0], walk.phase is Phase.FOLDERS
    try:
        answer = page.calls.files(
            _FOLDERS if is_folders else _FILES,
            page_token=walk.listing.token,
            page_size=FILES_MAX if is_folders else page.limit,
            drive_id=corpus or None,
        )
    except InvalidCursor:
        return page.end(again(cursor))
    except SharedDriveGone:
        page.unlisted.append(gone(corpus))
        return page.end(_after(page, cursor.with_(lost=(*cursor.lost, corpus))))
    if not page.take(answer["files"], How.LISTED):
        return page.cut()
    note_incomplete(page, answer, corpus)
    token = answer.get("nextPageToken")
    if token:
        return page.end(onward(cursor, token, is_empty=not answer["files"]))
    if (second := once_more(page, corpus)) is not None:
        return page.end(second)
    if is_folders:
        return page.end(cursor.to(Phase.FILES, queue=walk.queue))
    return page.end(_after(page, cursor))


def onward(cursor: Cursor, token: str, *, is_empty: bool) -> Cursor:
    """The next page of the listing. One that has no end begins again, and raises `InvalidCursor` if that does not help."""
    listing = cursor.listing.turn(token, is_empty=is_empty)
    return again(cursor) if listing is None else cursor.with_listing(listing)


def again(cursor: Cursor) -> Cursor:
    """The listing from its first page: its tokens are good for hours. Raises `InvalidCursor` if that does not help."""
    listing = cursor.listing
    if listing.token is None or listing.restarts >= RESTARTS_MAX:
        raise InvalidCursor("Drive refused the page tokens that it gave for a listing, or gave them in a circle.")
    return cursor.with_listing(listing.again(restarts=listing.restarts + 1))


def once_more(page: Page, feed: str) -> Cursor | None:
    """The listing from its first page, if something changed while it was made; ``None`` if it is good as it is.

    What is deleted or moved while pages are turned may take others with it over the edge of a page, of which no feed
    tells.
    """
    cursor, walk = page.cursor, page.cursor.walk
    if cursor.listing.token is None or cursor.listing.is_second:
        return None
    now = page.calls.start_page_token(drive_id=feed or None)
    if now == walk.marks.get(feed, page.placing.feeds.get(feed)):
        return None
    return cursor.with_listing(cursor.listing.again(is_second=True)).on(marks={**walk.marks, feed: now})


def note_incomplete(page: Page, answer: dict[str, object], corpus: str) -> None:
    """A search that Drive cut short is no listing of everything, whatever else it says."""
    if answer.get("incompleteSearch") not in (None, False):
        where = f"shared drive {corpus}" if corpus else "My Drive"
        page.unlisted.append(Unlisted(where, "Drive did not search all of it: what it left out is not deleted."))


def _after(page: Page, cursor: Cursor) -> Cursor:
    walk = cursor.walk
    if queue := walk.queue[1:]:
        return cursor.to(Phase.FOLDERS, queue=queue)
    if walk.had_items and not (walk.has_items or page.placing.has_listed):
        # So a lost right looks that takes everything away at once: no folder and no file. Files that were deleted the feed
        # tells, and what is left of a corpus, if it is only its folders, shows that it can be listed.
        page.unlisted.append(Unlisted("", "Drive lists nothing where it listed something before: none is deleted."))
        cursor = cursor.on(is_doubtful=True)
    return cursor.to(Phase.CRAWL)


__all__ = ["again", "list_corpus", "note_incomplete", "once_more", "onward"]
