"""Shortcuts: each is a parent of what it leads to, which may lie anywhere and is followed where it lies.

The target is one document or folder however many ways lead to it, under its own grants. While it is gone, hidden or in the
trash it is waited for, because nobody tells its shortcuts when it is back.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from activities.connectors.drive.asking import UNTOLD
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.item import How, Item, is_id
from activities.connectors.drive.kinds import Way
from activities.connectors.drive.tree import AWAITED, LOST, ROOT, Due, Node, Tree
from headwater.connectors import Link

if TYPE_CHECKING:  # which follows shortcuts by this module
    from activities.connectors.drive.placing import Placing


def pointers_to(tree: Tree, file_id: str) -> list[str]:
    """The shortcuts in reach that lead to the item, or wait for it."""
    above = {*tree.links(file_id), *tree.links(AWAITED + file_id)} - {ROOT, LOST}
    return sorted(parent for parent in above if _is_pointer(tree, parent, file_id))


def _is_pointer(tree: Tree, parent: str, file_id: str) -> bool:
    above = tree.node(parent)
    return above is not None and above.way is Way.SHORTCUT and tree.reaches(parent, avoiding=file_id)


def wait_for(tree: Tree, file_id: str, pointers: Iterable[str]) -> None:
    """The item is gone or hidden, and wanted: when it comes back it is told of, and its shortcuts are not."""
    waiting = dict.fromkeys((*tree.links(AWAITED + file_id), *pointers))
    if waiting:
        tree.place(AWAITED + file_id, Node("", Way.UNSUPPORTED), list(waiting), due=None)


def follow(placing: "Placing", shortcut: Item, how: How, *, was_here: bool) -> None:
    """The shortcut hangs in the tree. What it leads to is looked at, unless that was done. ``was_here``: it hung there before."""
    if not is_id(shortcut.target_id) or shortcut.target_id == shortcut.id:
        return
    tree, target_id = placing.tree, shortcut.target_id
    tree.load([target_id])
    target, links = tree.node(target_id), tree.links(target_id)
    if target is not None and placing.is_in_reach(target_id):
        # A crawl is about paths too, and what a shortcut leads to may lie nowhere else.
        is_seen = how is not How.ASKED and (target.epoch == placing.epoch or (how is How.TOLD and was_here))
        if target.way is Way.SHORTCUT or (is_seen and _is_led(tree, shortcut, target)):
            return
    try:
        _lead(placing, shortcut, links)
    except UNTOLD as why:
        tree.note_failed(shortcut.id, shortcut.drive_id)
        if tree.node(target_id) is not None:
            placing.fail(target_id, why)


def go_after(placing: "Placing", target: Item) -> None:
    """What shortcuts lead to may have moved: below other folders, or to where another feed tells of it."""
    if pointers := pointers_to(placing.tree, target.id):
        placing.above.watch(target, pointers, again=False)
        if _begin_feed(placing, target.drive_id):
            placing.above.doubt(pointers)


def _is_led(tree: Tree, shortcut: Item, target: Node) -> bool:
    """Whether one more way to the target need only be remembered: what is shown of it stays, or is listed anew."""
    file_id, links = shortcut.target_id, tree.links(shortcut.target_id)
    path = tree.path(file_id)
    if shortcut.id not in links:
        tree.place(file_id, target, [*links, shortcut.id], due=_dues(links, shortcut.id))
    is_same = tree.path(file_id) == path
    if not is_same and target.way is Way.FOLDER:
        tree.place(file_id, target, list(tree.links(file_id)), due=Due.CRAWL)
    return is_same or target.way is Way.FOLDER


def _dues(links: Mapping[str, Link], parent: str) -> dict[str, Due | None]:
    """What is due stays due, under another parent too."""
    dues: dict[str, Due | None] = {held: Due(link.due) if link.due else None for held, link in links.items()}
    dues[parent] = Due.CRAWL if Due.CRAWL in dues.values() else None
    return dues


def _lead(placing: "Placing", shortcut: Item, links: Mapping[str, Link]) -> None:
    key = shortcut.target_key or None
    target = placing.ask(shortcut.target_id, resource_key=key)
    if _begin_feed(placing, target.drive_id if target is not None else ""):
        # What changed between the first answer and the token would be told by nobody.
        target = placing.ask(shortcut.target_id, resource_key=key)
    is_followed = target is not None and target.way is not Way.SHORTCUT
    if target is not None and is_followed and not placing.scope.holds(target):
        placing.above.watch(target, [shortcut.id], again=True)
    if target is not None and is_followed and not target.is_trashed:
        placing.take(target, How.ASKED, under=shortcut.id)
        return
    if shortcut.id in links:
        placing.detach(links[shortcut.id])
    wait_for(placing.tree, shortcut.target_id, [shortcut.id])


def _begin_feed(placing: "Placing", drive_id: str) -> bool:
    """Whether a feed had to be begun that tells of items there.

    Of a shared drive that the account is no member of its own feed tells.
    """
    feeds = placing.feeds
    if drive_id in feeds or (drive_id in placing.foreign and "" in feeds):
        return False
    if drive_id:
        try:
            feeds[drive_id] = placing.patience.ask(partial(placing.calls.start_page_token, drive_id=drive_id))
            return True
        except SharedDriveGone:
            placing.foreign.add(drive_id)
    if "" in feeds:
        return False
    feeds[""] = placing.calls.start_page_token()
    return True


__all__ = ["follow", "go_after", "pointers_to", "wait_for"]
