"""What is due: folders are crawled, what did not come up is asked for, and what hung under a lost item goes or stays.

One change of a folder concerns everything below it, which may be a million files: so it is done page by page, and
what is left to do is remembered with the tree.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from activities.connectors.drive.asking import UNTOLD
from activities.connectors.drive.calls import quote
from activities.connectors.drive.cursor import Crawl, Cursor, Phase
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.item import How
from activities.connectors.drive.listing import again, note_incomplete, once_more, onward
from activities.connectors.drive.passing import Page
from activities.connectors.drive.roots import to_changes
from activities.connectors.drive.tree import FAILED, LOST, Due, Node
from headwater.connectors import ChangePage, DocumentFault, DocumentGone, InvalidCursor, Link, Unlisted

VERIFIED: Final = 1_000  # in one page
ASKED: Final = 50


def work(page: Page) -> ChangePage:
    """The next piece of work. When there is none the changes are read, or the pass is over."""
    crawl = page.cursor.walk.crawl
    if crawl is not None:
        return _verify(page, crawl) if crawl.listing is None else _crawl(page, crawl)
    due = page.tree.due(limit=min(page.limit, ASKED))
    if not due:
        return _go_on(page)
    if away := [link for link in due if _is_away(page, link)]:
        for link in away:
            page.tree.mark(link, None)
        return page.end(page.cursor)
    first = due[0]
    match first.due:
        case Due.CRAWL:
            crawl = Crawl(folder=first.node, had_children=bool(page.tree.children(first.node, limit=1)))
            page.cursor = page.cursor.on(crawl=crawl)
            return _crawl(page, crawl)
        case Due.VERIFY:
            return _verify(page, Crawl(folder=first.node, had_children=True, listing=None))
        case Due.CHECK:
            return _check(page, [link for link in due if link.due == Due.CHECK])
        case Due.ASK:
            return _ask(page, first)
        case _:
            return _drop(page, first)


def _is_away(page: Page, link: Link) -> bool:
    """It lies in a shared drive that this pass did not find: all of it is crawled if it comes back, or dropped."""
    return link.due not in (Due.DROP, Due.ASK) and Node.of(link.record).drive_id in page.cursor.lost


def _go_on(page: Page) -> ChangePage:
    cursor, walk = page.cursor, page.cursor.walk
    if walk.phase is Phase.CRAWL:
        return page.end(to_changes(page, cursor))
    if walk.is_whole:
        cursor = cursor.with_(listed_at=walk.began_at, has_gaps=walk.has_gaps)
    return page.finish(cursor.with_(under_way=None), is_whole=walk.is_whole)


def _crawl(page: Page, crawl: Crawl) -> ChangePage:
    """The next page of what is in the folder."""
    cursor, folder = page.cursor, crawl.folder
    known = page.tree.node(folder)
    if not page.placing.is_in_reach(folder):
        # What it hung under was moved or trashed since.
        page.placing.lose(folder)
        return page.end(cursor.on(crawl=None))
    drive_id = known.drive_id if known is not None and known.drive_id in page.placing.feeds else ""
    try:
        answer = page.placing.patience.ask(
            lambda: page.calls.files(
                f"{quote(folder)} in parents and trashed = false",
                page_token=cursor.listing.token,
                page_size=page.limit,
                drive_id=drive_id or None,
                folder_id=folder,
            )
        )
    except InvalidCursor:
        return _listed_on(page, crawl, drive_id, lambda: again(cursor))
    except (DocumentGone, SharedDriveGone, *UNTOLD) as refusal:
        return _without_listing(page, crawl, drive_id, refusal)
    if not page.take(answer["files"], How.CRAWLED, under=folder):
        return page.cut()
    note_incomplete(page, answer, drive_id)
    token = answer.get("nextPageToken")
    if token:
        return _listed_on(page, crawl, drive_id, lambda: onward(cursor, token, is_empty=not answer["files"]))
    if (second := once_more(page, drive_id)) is not None:
        return page.end(second)
    if crawl.had_children:
        return page.end(cursor.on(crawl=crawl.with_(listing=None)))
    page.tree.done(folder, Due.CRAWL)
    return page.end(cursor.on(crawl=None))


def _listed_on(page: Page, crawl: Crawl, drive_id: str, onward: Callable[[], Cursor]) -> ChangePage:
    """The folder's listing goes on. That one folder's pages cannot be turned stops no other's."""
    try:
        return page.end(onward())
    except InvalidCursor as endless:
        return _without_listing(page, crawl, drive_id, endless)


def _without_listing(page: Page, crawl: Crawl, drive_id: str, refusal: Exception) -> ChangePage:
    """The folder cannot be listed. If it is there, what is known to be in it is asked for, one by one."""
    folder = crawl.folder
    try:
        if not isinstance(refusal, DocumentFault):
            if not page.may_go(folder):
                page.tree.done(folder, Due.CRAWL)
                return page.end(page.cursor.on(crawl=None))
            if page.placing.ask(folder) is None:
                page.placing.lose(folder)
                return page.end(page.cursor.on(crawl=None))
    except UNTOLD as untold:
        refusal = untold
    page.tree.note_failed(folder, drive_id)
    page.unlisted.append(Unlisted("/".join(page.tree.path(folder)), f"The folder cannot be listed: {refusal}"))
    return page.end(page.cursor.on(crawl=crawl.with_(listing=None, after="")))


def _verify(page: Page, crawl: Crawl) -> ChangePage:
    """What is known to be in the folder came up, or is marked to be asked for: a page of it."""
    walk, folder = page.cursor.walk, crawl.folder
    links = () if walk.is_doubtful else page.tree.children(folder, after=crawl.after, limit=VERIFIED)
    for link in links:
        if link.due is None and Node.of(link.record).epoch != walk.epoch:
            page.tree.mark(link, Due.CHECK)
    if len(links) == VERIFIED:
        return page.end(page.cursor.on(crawl=crawl.with_(after=links[-1].node)))
    page.tree.done(folder, Due.CRAWL)
    page.tree.done(folder, Due.VERIFY)
    return page.end(page.cursor.on(crawl=None))


def _check(page: Page, links: list[Link]) -> ChangePage:
    """Items that were not where they were expected: moved a moment ago, trashed, gone, or hidden with their folder."""
    page.tree.load(each for link in links for each in (link.node, link.node.removeprefix(FAILED)))
    page.carry_out([partial(_check_one, page, link) for link in links])
    return page.end(page.cursor)


def _check_one(page: Page, link: Link) -> None:
    page.tree.mark(link, None)
    node = link.node.removeprefix(FAILED)
    page.tree.forget(FAILED + node)
    try:
        item = page.placing.ask(node)
        if item is not None:
            page.placing.take(item, How.ASKED)
            return
        if page.may_go(node):
            page.placing.lose(node)
    except UNTOLD as why:
        page.placing.fail(node, why)


def _drop(page: Page, lost: Link) -> ChangePage:
    links = page.tree.children(lost.node, limit=page.limit)
    page.tree.load(link.node for link in links)
    done = page.carry_out([partial(page.placing.detach, link) for link in links])
    if done == len(links) < page.limit:
        page.tree.unlink(lost.node, LOST)
    return page.end(page.cursor)


def _ask(page: Page, lost: Link) -> ChangePage:
    """The folder is hidden or deleted. What was in it may still be there: in another folder, or shared by itself."""
    try:
        item = page.placing.ask(lost.node)
    except UNTOLD:
        item = None
        page.tree.note_failed(lost.node, "")
    if item is not None and not item.is_trashed:
        page.placing.take(item, How.ASKED)
        return page.end(page.cursor)
    limit = min(page.limit, ASKED)
    links = page.tree.children(lost.node, limit=limit)
    page.tree.load(link.node for link in links)
    done = page.carry_out([partial(_ask_one, page, link) for link in links])
    if done == len(links) < limit:
        page.tree.unlink(lost.node, LOST)
    return page.end(page.cursor)


def _ask_one(page: Page, link: Link) -> None:
    try:
        child = page.placing.ask(link.node)
        if child is None and not page.may_go(link.node):
            page.tree.note_failed(link.node, "")
            _leave(page, link)
            return
    except UNTOLD as why:
        page.placing.fail(link.node, why)
        _leave(page, link)
        return
    if child is not None:
        page.placing.take(child, How.ASKED)
    else:
        page.placing.lose(link.node, due=Due.ASK)


def _leave(page: Page, link: Link) -> None:
    """It hangs no more under what is lost. A folder's own descendants are asked for in their turn."""
    known = page.tree.node(link.node)
    page.tree.unlink(link.node, link.parent)
    if known is not None and not known.is_document and not page.tree.is_placed(link.node):
        page.tree.place(link.node, known, [LOST], due=Due.ASK)


__all__ = ["work"]
