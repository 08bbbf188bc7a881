"""What is due: folders are crawled, what did not come up is asked for, and what hung under a lost item goes or stays.

One change of a folder concerns everything below it, which may be a million files: so it is done page by page, and
what is left to do is remembered with the tree.
"""

from typing import Final

from activities.connectors.drive.calls import quote
from activities.connectors.drive.cursor import Cursor, Phase
from activities.connectors.drive.item import How
from activities.connectors.drive.listing import again, note_incomplete, once_more
from activities.connectors.drive.passing import Page
from activities.connectors.drive.roots import to_changes
from activities.connectors.drive.tree import FAILED, LOST, Due, Node
from headwater.connectors import (
    ChangePage,
    DocumentFault,
    DocumentGone,
    DocumentRefused,
    InvalidCursor,
    Link,
    Unlisted,
)

VERIFIED: Final = 1_000  # in one page
ASKED: Final = 50


def work(page: Page) -> ChangePage:
    """The next piece of work. When there is none the changes are read, or the pass is over."""
    if page.cursor.folder is not None:
        return _verify(page) if page.cursor.is_verifying else _crawl(page)
    due = page.tree.due(limit=min(page.limit, ASKED))
    if not due:
        return _go_on(page)
    if away := [link for link in due if _is_away(page, link)]:
        for link in away:
            page.tree.mark(link, None)
        return page.end(page.cursor)
    match due[0].due:
        case Due.CRAWL:
            return _begin_crawl(page, due[0])
        case Due.VERIFY:
            page.cursor = page.cursor.at(due[0].node, had_children=True).with_(is_verifying=True)
            return _verify(page)
        case Due.CHECK:
            return _check(page, [link for link in due if link.due == Due.CHECK])
        case Due.ASK:
            return _ask(page, due[0])
        case _:
            return _drop(page, due[0])


def _is_away(page: Page, link: Link) -> bool:
    """It lies in a shared drive that this pass did not find: all of it is crawled if it comes back, or dropped."""
    return link.due not in (Due.DROP, Due.ASK) and Node.of(link.record).drive_id in page.cursor.lost


def _go_on(page: Page) -> ChangePage:
    cursor = page.cursor
    if cursor.phase is Phase.CRAWL:
        return page.end(to_changes(page, cursor))
    rest = Cursor(
        scope=cursor.scope,
        feeds=cursor.feeds,
        lost=cursor.lost,
        roots=cursor.roots,
        listed_at=cursor.began_at if cursor.is_whole else cursor.listed_at,
        is_whole=cursor.is_whole,
    )
    return page.end(rest, is_done=True)


def _begin_crawl(page: Page, link: Link) -> ChangePage:
    page.cursor = page.cursor.at(link.node, had_children=bool(page.tree.children(link.node, limit=1)))
    return _crawl(page)


def _crawl(page: Page) -> ChangePage:
    """The next page of what is in the folder."""
    cursor = page.cursor
    folder = cursor.folder or ""
    known = page.tree.node(folder)
    if not page.placing.is_in_reach(folder):
        # What it hung under was moved or trashed since.
        page.placing.lose(folder)
        return page.end(cursor.at(None))
    drive_id = known.drive_id if known is not None and known.drive_id in page.placing.feeds else ""
    try:
        answer = page.placing.patience.ask(
            lambda: page.calls.files(
                f"{quote(folder)} in parents and trashed = false",
                page_token=cursor.token,
                page_size=page.limit,
                drive_id=drive_id or None,
                folder_id=folder,
            )
        )
    except InvalidCursor:
        return page.end(again(cursor))
    except (DocumentGone, DocumentRefused, DocumentFault) as refusal:
        return _without_listing(page, folder, drive_id, refusal)
    note_incomplete(page, answer, drive_id)
    page.take(answer["files"], How.CRAWLED, under=folder)
    token = answer.get("nextPageToken")
    if token:
        return page.end(cursor.with_(token=token))
    if (second := once_more(page, drive_id)) is not None:
        return page.end(second)
    if cursor.had_children:
        return page.end(cursor.with_(token=None, is_verifying=True))
    page.tree.done(folder, Due.CRAWL)
    return page.end(cursor.at(None))


def _without_listing(page: Page, folder: str, drive_id: str, refusal: Exception) -> ChangePage:
    """The folder cannot be listed. If it is there, what is known to be in it is asked for, one by one."""
    try:
        if not isinstance(refusal, DocumentFault):
            page.make_sure(drive_id)
            if page.placing.ask(folder) is None:
                page.placing.lose(folder)
                return page.end(page.cursor.at(None))
    except DocumentFault as fault:
        refusal = fault
    page.tree.note_failed(folder, drive_id)
    page.unlisted.append(Unlisted("/".join(page.tree.path(folder)), f"The folder cannot be listed: {refusal}"))
    return page.end(page.cursor.with_(token=None, is_verifying=True))


def _verify(page: Page) -> ChangePage:
    """What is known to be in the folder came up, or is marked to be asked for: a page of it."""
    cursor = page.cursor
    folder = cursor.folder or ""
    links = () if cursor.is_doubtful else page.tree.children(folder, after=cursor.after, limit=VERIFIED)
    for link in links:
        if link.due is None and Node.of(link.record).epoch != cursor.epoch:
            page.tree.mark(link, Due.CHECK)
    if len(links) == VERIFIED:
        return page.end(cursor.with_(after=links[-1].node))
    page.tree.done(folder, Due.CRAWL)
    page.tree.done(folder, Due.VERIFY)
    return page.end(cursor.at(None))


def _check(page: Page, links: list[Link]) -> ChangePage:
    """Items that were not where they were expected: moved a moment ago, trashed, gone, or hidden with their folder."""
    page.tree.load(each for link in links for each in (link.node, link.node.removeprefix(FAILED)))
    for link in links:
        page.tree.mark(link, None)
        node = link.node.removeprefix(FAILED)
        page.tree.forget(FAILED + node)
        try:
            _check_one(page, node)
        except DocumentFault as fault:
            page.placing.fail(node, fault)
    return page.end(page.cursor)


def _check_one(page: Page, node: str) -> None:
    item = page.placing.ask(node)
    if item is not None:
        page.placing.take(item, How.ASKED)
        return
    known = page.tree.node(node)
    page.make_sure(known.drive_id if known is not None else "")
    page.placing.lose(node)


def _drop(page: Page, lost: Link) -> ChangePage:
    links = page.tree.children(lost.node, limit=page.limit)
    page.tree.load(link.node for link in links)
    for link in links:
        page.placing.detach(link)
    if len(links) < page.limit:
        page.tree.unlink(lost.node, LOST)
    return page.end(page.cursor)


def _ask(page: Page, lost: Link) -> ChangePage:
    """The folder is hidden or deleted. What was in it may still be there: in another folder, or shared by itself."""
    try:
        item = page.placing.ask(lost.node)
    except DocumentFault:
        item = None
        page.tree.note_failed(lost.node, "")
    if item is not None and not item.is_trashed:
        page.placing.take(item, How.ASKED)
        return page.end(page.cursor)
    limit = min(page.limit, ASKED)
    links = page.tree.children(lost.node, limit=limit)
    page.tree.load(link.node for link in links)
    for link in links:
        try:
            child = page.placing.ask(link.node)
        except DocumentFault as fault:
            page.placing.fail(link.node, fault)
            _leave(page, link)
            continue
        if child is not None:
            page.placing.take(child, How.ASKED)
        else:
            page.placing.lose(link.node, due=Due.ASK)
    if len(links) < limit:
        page.tree.unlink(lost.node, LOST)
    return page.end(page.cursor)


def _leave(page: Page, link: Link) -> None:
    """It hangs no more under what is lost. A folder's own descendants are asked for in their turn."""
    known = page.tree.node(link.node)
    page.tree.unlink(link.node, link.parent)
    if known is not None and not known.is_document and not page.tree.is_placed(link.node):
        page.tree.place(link.node, known, [LOST], due=Due.ASK)


__all__ = ["work"]
