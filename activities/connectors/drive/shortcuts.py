"""Shortcuts: what one leads to is wanted wherever it lies, once, and under its own grants."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.item import How, Item, is_id
from activities.connectors.drive.kinds import Way
from activities.connectors.drive.tree import Due, Node, node_of
from headwater.connectors import DocumentFault, Link

if TYPE_CHECKING:
    from activities.connectors.drive.placing import Placing


def place_shortcut(placing: "Placing", item: Item, known: Node | None, parents: list[str], how: How) -> None:
    """The shortcut is there, and what it leads to is placed with it, or waited for."""
    was_here = set(placing.tree.links(item.id)) == set(parents)
    placing.tree.place(item.id, node_of(item, epoch=placing.epoch_of(known, how)), parents, due=None)
    if not is_id(item.target_id) or item.target_id == item.id:
        return
    placing.tree.load([item.target_id])
    target, links = placing.tree.node(item.target_id), placing.tree.links(item.target_id)
    if target is not None and placing.is_in_reach(item.target_id):
        # A crawl is about paths too, and what a shortcut leads to may lie nowhere else.
        is_seen = target.epoch == placing.epoch or (how is How.TOLD and was_here)
        if target.way is Way.SHORTCUT or (is_seen and _lead(placing, item, target)):
            return
    _follow(placing, item, links)


def _lead(placing: "Placing", shortcut: Item, target: Node) -> bool:
    """Whether one more way to the target need only be remembered: what is shown of it stays, or is listed anew."""
    file_id, links = shortcut.target_id, placing.tree.links(shortcut.target_id)
    path = placing.tree.path(file_id)
    if shortcut.id not in links:
        placing.tree.place(file_id, target, [*links, shortcut.id], due=_dues(links, shortcut.id))
    is_same = placing.tree.path(file_id) == path
    if not is_same and target.way is Way.FOLDER:
        placing.tree.place(file_id, target, list(placing.tree.links(file_id)), due=Due.CRAWL)
    return is_same or target.way is Way.FOLDER


def _follow(placing: "Placing", shortcut: Item, links: Mapping[str, Link]) -> None:
    """What the shortcut leads to, which may lie anywhere and is followed from now on."""
    try:
        _lead_to(placing, shortcut, links)
    except DocumentFault as fault:
        placing.tree.note_failed(shortcut.id, shortcut.drive_id)
        if placing.tree.node(shortcut.target_id) is not None:
            placing.fail(shortcut.target_id, fault)


def _lead_to(placing: "Placing", shortcut: Item, links: Mapping[str, Link]) -> None:
    target = placing.ask(shortcut.target_id, resource_key=shortcut.target_key or None)
    if _begin_feed(placing, target.drive_id if target is not None else ""):
        # What changed between the first answer and the token would be told by nobody.
        target = placing.ask(shortcut.target_id, resource_key=shortcut.target_key or None)
    if target is not None and target.way is not Way.SHORTCUT and not target.is_trashed:
        placing.take(target, How.ASKED, under=shortcut.id)
    else:
        if shortcut.id in links:
            placing.detach(links[shortcut.id])
        placing.wait_for(shortcut.target_id, [shortcut.id])


def _begin_feed(placing: "Placing", drive_id: str) -> bool:
    """Whether a feed had to be begun that tells of items there.

    Of a shared drive that the account is no member of its own feed tells.
    """
    if drive_id in placing.feeds or (drive_id in placing.resolved and "" in placing.feeds):
        return False
    if drive_id:
        try:
            placing.feeds[drive_id] = placing.calls.start_page_token(drive_id=drive_id)
            return True
        except SharedDriveGone:
            placing.resolved.add(drive_id)
    if "" in placing.feeds:
        return False
    placing.feeds[""] = placing.calls.start_page_token()
    return True


def _dues(links: Mapping[str, Link], parent: str) -> dict[str, Due | None]:
    """What is due stays due, under another parent too."""
    dues: dict[str, Due | None] = {held: Due(link.due) if link.due else None for held, link in links.items()}
    dues[parent] = Due.CRAWL if Due.CRAWL in dues.values() else None
    return dues


__all__ = ["place_shortcut"]
