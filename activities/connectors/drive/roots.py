"""How a pass begins: the roots are there, their feeds are known, and who may read them is what it was.

A root that is gone stops the connector and deletes nothing: whoever takes the connector's rights away did not mean to
delete what it held. A root in the trash was put there by somebody.
"""

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from activities.connectors.drive.calls import MY_DRIVE
from activities.connectors.drive.cursor import Cursor, Phase, Walk
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.item import Item
from activities.connectors.drive.kinds import Way
from activities.connectors.drive.passing import Page, lost_root
from activities.connectors.drive.shared_drives import followed_drives
from activities.connectors.drive.tree import FAILED, LOST, ORPHANS, ROOT, Due, Node
from headwater.connectors import ChangePage, DocumentFault, DocumentRefused, SourceUnavailable, Unlisted

# The feed is silent where permissions come down from a folder, and now and then where they should not be: so often
# all is listed.
RELIST_AFTER: Final = timedelta(hours=24)
RELIST_GAPS_AFTER: Final = timedelta(hours=1)  # if the last listing of everything left something out
FAILED_MAX: Final = 1_000  # asked for again in one pass
_MY_DRIVE_NAME: Final = "My Drive"
_ORPHANS_NAME: Final = "Shared with me"


def begin(page: Page, cursor: Cursor | None, *, now: datetime) -> ChangePage:
    """The first page of a pass, in which nothing is listed yet. ``cursor`` is that of the pass before."""
    stamp = secrets.token_hex(4)
    old = cursor or Cursor(scope=page.scope.stamp)
    is_whole = old.listed_at is None or now - old.listed_at >= (RELIST_GAPS_AFTER if old.has_gaps else RELIST_AFTER)
    page.placing.epoch, page.placing.is_whole = f"{stamp}-listing", is_whole
    # The first phase is known once the roots are.
    walk = Walk(phase=Phase.CRAWL, began_at=now, is_whole=is_whole, epoch=page.placing.epoch)
    new = old.with_(under_way=walk)
    if page.scope.is_flat:
        new = _begin_flat(page, new)
        _ask_again(page)
        return join(page, new)
    if not _begin_folders(page, new):
        return page.finish(old, is_whole=False)
    _ask_again(page)
    return page.end(new.to(Phase.CRAWL) if is_whole else to_changes(page, new))


def join(page: Page, cursor: Cursor) -> ChangePage:
    """The shared drives that come first in the queue: where their feeds stand, and who their members are."""
    queue = cursor.walk.queue
    left = queue[page.carry_out([partial(_join, page, drive_id) for drive_id in queue]) :]
    if left:
        return page.end(cursor.on(queue=left))
    if not cursor.walk.is_whole:
        return page.end(to_changes(page, cursor))
    corpora = () if page.scope.drive_id else ("",)
    queue = (*corpora, *(drive for drive in sorted(page.placing.feeds) if drive in page.placing.roots))
    return page.end(cursor.to(Phase.FOLDERS if queue else Phase.CRAWL, queue=queue))


def to_changes(page: Page, cursor: Cursor) -> Cursor:
    """The feeds are read from here on: folders that change are crawled, even if they were in this pass."""
    epoch = cursor.walk.epoch.replace("-listing", "-changes")
    feeds = tuple(feed for feed in sorted(page.placing.feeds) if feed not in cursor.lost)
    return cursor.to(Phase.CHANGES, queue=feeds).on(epoch=epoch)


def _begin_folders(page: Page, cursor: Cursor) -> bool:
    """Whether all folders are there, so that the pass may go on."""
    roots: list[Item] = []
    failed: dict[str, Node] = {}
    is_lost = False
    for folder_id in page.scope.folder_ids:
        try:
            root = _root(page, folder_id)
        except DocumentFault as fault:
            _note_fault(page, folder_id, failed, fault)
            continue
        if root is not None:
            roots.append(root)
        elif _note_lost(page, folder_id):
            is_lost = True
        else:
            raise lost_root(folder_id, page.calls.account)
    if is_lost:
        return False
    for drive_id in dict.fromkeys((*(root.drive_id for root in roots), *(node.drive_id for node in failed.values()))):
        _begin_feed(page, drive_id)
    page.placing.roots = frozenset((*(root.id for root in roots), *failed))
    _forget_others(page)
    for folder_id, node in failed.items():
        _keep(page, folder_id, node, is_crawled=True)
    for root in roots:
        if root.is_trashed:
            page.placing.roots -= {root.id}
            if page.tree.links(root.id):
                page.placing.lose(root.id)
        else:
            node = Node(root.name, Way.FOLDER, version=root.version, drive_id=root.drive_id)
            stamp = page.placing.sharing.stamp_of(root)
            _keep(page, root.id, replace(node, access=stamp), is_crawled=cursor.walk.is_whole or None)
    return True


def _note_fault(page: Page, folder_id: str, failed: dict[str, Node], fault: DocumentFault) -> None:
    """Drive fails at the folder itself. If it is known it is as it was, and what is in it is looked at."""
    known = page.tree.node(folder_id) if ROOT in page.tree.links(folder_id) else None
    if known is not None:
        failed[folder_id] = known
    elif len(page.scope.folder_ids) == 1 or folder_id == MY_DRIVE:
        raise fault
    page.unlisted.append(Unlisted(f"folder {folder_id}", str(fault)))


def _ask_again(page: Page) -> None:
    """What Drive failed at in the pass before is asked for in this one, and such a folder is crawled."""
    links = page.tree.children(FAILED, limit=FAILED_MAX)
    page.tree.load(link.node.removeprefix(FAILED) for link in links)
    for link in links:
        page.tree.mark(link, Due.CHECK)
        node = link.node.removeprefix(FAILED)
        known = page.tree.node(node)
        if known is not None and known.way is Way.FOLDER:
            for each in list(page.tree.links(node).values()):
                page.tree.mark(each, each.due if each.parent == LOST else Due.CRAWL)


def _note_lost(page: Page, folder_id: str) -> bool:
    """Whether it was new that the folder is lost.

    Nobody tells of what happens in it meanwhile, so once it is back it is crawled: to remember that, this pass has to
    end well. The next ones fail until it is back.
    """
    link = page.tree.links(folder_id).get(ROOT)
    if link is None or link.due == Due.CRAWL:
        return False
    page.tree.mark(link, Due.CRAWL)
    page.unlisted.append(Unlisted(f"folder {folder_id}", str(lost_root(folder_id, page.calls.account))))
    return True


def _root(page: Page, folder_id: str) -> Item | None:
    """The folder; ``None`` if it is deleted or hidden, or Drive refuses to show it. A lost sign-in is raised."""
    try:
        root = page.placing.ask(folder_id)
    except DocumentRefused:
        return None
    if root is not None and root.way is not Way.FOLDER:
        raise SourceUnavailable(
            f"{folder_id} is no folder of Drive: remove the connector and add it with a folder's id."
        )
    return root


def _begin_feed(page: Page, drive_id: str) -> None:
    """A folder that was shared out of a shared drive is told of in the account's own feed."""
    feeds = page.placing.feeds
    if drive_id and drive_id not in feeds:
        try:
            feeds[drive_id] = page.calls.start_page_token(drive_id=drive_id)
        except SharedDriveGone:
            drive_id = ""
    if not drive_id and "" not in feeds:
        feeds[""] = page.calls.start_page_token()


def _forget_others(page: Page) -> None:
    """The folders that other settings named. Their documents are swept: with other settings a pass lists everything."""
    after = ""
    while links := page.tree.children(ROOT, after=after, limit=1_000):
        for link in links:
            if link.node not in page.placing.roots:
                known = page.tree.node(link.node)
                page.tree.unlink(link.node, ROOT)
                if known is not None and not page.tree.reaches(link.node):
                    page.tree.forget(link.node)
                    if not known.is_document:
                        page.tree.place(link.node, known, [LOST], due=Due.DROP)
        after = links[-1].node


def _begin_flat(page: Page, cursor: Cursor) -> Cursor:
    placing, is_whole = page.placing, cursor.walk.is_whole
    roots = {ORPHANS: Node(_ORPHANS_NAME, Way.FOLDER)}
    if page.scope.drive_id is None:
        mine = _root(page, MY_DRIVE)
        if mine is None:
            raise lost_root(MY_DRIVE, page.calls.account)
        roots[mine.id] = Node(_MY_DRIVE_NAME, Way.FOLDER)
        _begin_feed(page, "")
    drives, lost = followed_drives(page)
    for drive_id, name in drives.items():
        known = page.tree.node(drive_id)
        # Who its members are is asked of one drive after the other.
        roots[drive_id] = Node(name, Way.FOLDER, drive_id=drive_id, access=None if known is None else known.access)
    placing.roots = frozenset(roots)
    had = is_whole and any(page.tree.children(root, limit=1) for root in roots)
    for root, node in roots.items():
        is_back = root in page.cursor.lost  # nobody told of what happened in it meanwhile
        _keep(
            page, root, node, is_crawled=False if is_whole else is_back or None, otherwise=Due.VERIFY if had else None
        )
    return cursor.with_(lost=lost).to(Phase.DRIVES, queue=tuple(sorted(drives))).on(had_items=had)


def _join(page: Page, drive_id: str) -> None:
    placing = page.placing
    if drive_id not in placing.feeds:
        placing.feeds[drive_id] = page.calls.start_page_token(drive_id=drive_id)
    known = page.tree.node(drive_id)
    if known is None or known.access == (access := placing.sharing.stamp_of_drive(drive_id)):
        return
    links = page.tree.links(drive_id).values()
    otherwise = Due.VERIFY if any(link.due == Due.VERIFY for link in links) else None
    is_crawled = False if placing.is_whole else None
    _keep(page, drive_id, replace(known, access=access), is_crawled=is_crawled, otherwise=otherwise)


def _keep(page: Page, root_id: str, node: Node, *, is_crawled: bool | None, otherwise: Due | None = None) -> None:
    """The root is there. It is crawled if that is said, or if it is not said and the root is new or was changed."""
    known, links = page.tree.node(root_id), page.tree.links(root_id)
    if is_crawled is None:
        is_crawled = not page.tree.is_placed(root_id) or known is None or _is_changed(known, node)
    is_due = is_crawled or any(link.due == Due.CRAWL for link in links.values())
    epoch = page.placing.epoch if is_crawled or known is None else known.epoch
    parents = dict.fromkeys((ROOT, *(parent for parent in links if parent != LOST)))
    page.tree.place(root_id, replace(node, epoch=epoch), list(parents), due=Due.CRAWL if is_due else otherwise)


def _is_changed(known: Node, node: Node) -> bool:
    return (known.name, known.access) != (node.name, node.access)


__all__ = ["RELIST_AFTER", "begin", "join", "to_changes"]
