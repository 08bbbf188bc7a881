"""What an item's state makes of the tree, whoever told it, and which change follows from it.

All ways on which something is learnt of an item end here, so that a file is in reach or out of it by one rule.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from activities.connectors.drive import documents
from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.item import Item, is_id
from activities.connectors.drive.kinds import Way
from activities.connectors.drive.scope import Scope
from activities.connectors.drive.sharing import Sharing
from activities.connectors.drive.tree import AWAITED, LOST, ORPHANS, ROOT, Due, Node, Tree
from headwater.connectors import Change, DocumentGone, DocumentRefused, Link

RESOLVED_MAX: Final = 200  # folders that are asked for in one page only to know where something lies


class How(StrEnum):
    """On which way the state of an item was learnt."""

    LISTED = "listed"  # with everything else there is
    CRAWLED = "crawled"  # with what else is in its folder
    TOLD = "told"  # by the feed, whose state may be an older one
    ASKED = "asked"  # it was asked for


@dataclass(slots=True)
class Placing:
    """The items of one page. ``feeds`` has the token of each change feed that is followed; shortcuts may add some."""

    calls: DriveCalls
    tree: Tree
    sharing: Sharing
    scope: Scope
    feeds: dict[str, str]
    roots: frozenset[str]
    epoch: str
    is_whole: bool
    is_verified: bool
    """What is known and does not come up in this pass is checked, folder by folder."""

    now: datetime
    changes: dict[str, Change] = field(default_factory=dict)
    """By file id: what is learnt last counts."""

    documents: int = 0
    _resolved: set[str] = field(default_factory=set)

    def take(self, item: Item, how: How, *, under: str | None = None) -> None:
        """The item is in this state. ``under`` is a shortcut, or crawled folder, under which it was found."""
        known = self.tree.node(item.id)
        if how is How.TOLD and known is not None and item.version < known.version:
            return  # two feeds, or a feed and a listing, come in no order
        if item.is_trashed:
            self.lose(item.id)
            return
        parents = self._parents(item, how, under)
        if not parents:
            if known is not None:
                self.lose(item.id)
            return
        if known is not None and known.is_held and not item.is_document:
            self._delete(item.id)
        self.tree.forget(AWAITED + item.id)
        match item.way:
            case Way.FOLDER:
                self._folder(item, known, parents, how, under)
            case Way.SHORTCUT:
                self._shortcut(item, known, parents, how)
            case _:
                self._document(item, known, parents, how)

    def lose(self, file_id: str, *, due: Due = Due.DROP) -> None:
        """The item is gone or out of reach, and so is what hangs under it and under nothing else."""
        self._lose(file_id, self.tree.node(file_id), due)

    def detach(self, link: Link) -> None:
        """The item hangs no more under what it hung under. If it hangs elsewhere, Drive is asked how it is."""
        known = self.tree.node(link.node)
        self.tree.unlink(link.node, link.parent)
        if link.node.startswith(AWAITED):
            return
        if not (self.tree.is_placed(link.node) and self.tree.reaches(link.node)):
            self._lose(link.node, known, Due.DROP)
            return
        item = self.ask(link.node)
        if item is None:
            self._lose(link.node, known, Due.DROP)
        else:
            self.take(item, How.ASKED)

    def is_in_reach(self, node: str) -> bool:
        """Whether what hangs under ``node`` is wanted, as far as the tree tells."""
        return self.tree.is_placed(node) and (self.scope.is_flat or self.tree.reaches(node))

    def ask(self, file_id: str, *, resource_key: str | None = None) -> Item | None:
        """The item as it is now; ``None`` if it is gone or hidden, which nobody can tell apart."""
        try:
            return Item.parse(self.calls.file(file_id, resource_key=resource_key))
        except (DocumentGone, DocumentRefused):
            return None

    def _lose(self, file_id: str, known: Node | None, due: Due) -> None:
        self._await(file_id, self._shortcuts(file_id))
        self.tree.forget(file_id)
        if known is None or known.is_document:
            self._delete(file_id)
        else:
            self.tree.place(file_id, known, [LOST], due=due)

    def _delete(self, file_id: str) -> None:
        self.changes[file_id] = documents.delete(file_id)

    def _parents(self, item: Item, how: How, under: str | None) -> list[str]:
        """What the item hangs under: its folders in reach, and the shortcuts that lead to it."""
        parents = self._folders(item, how)
        if not parents and self.scope.holds(item):
            parents.append(ORPHANS)
        if item.id in self.roots and ROOT in self.tree.links(item.id):
            parents.append(ROOT)
        parents += self._shortcuts(item.id)
        if under is not None:
            parents.append(under)
        return list(dict.fromkeys(parents))

    def _folders(self, item: Item, how: How) -> list[str]:
        above = [parent for parent in item.parents if parent != item.id]
        if not self.scope.holds(item):
            self.tree.load(above)
            return [parent for parent in above if self.tree.reaches(parent, avoiding=item.id)]
        # While folders are listed, one may come before the one that it lies in.
        is_partial = how is How.LISTED and item.way is Way.FOLDER
        return [parent for parent in above if is_partial or self._resolve(parent)]

    def _shortcuts(self, file_id: str) -> list[str]:
        """The shortcuts in reach that lead to the item, or wait for it."""
        above = {*self.tree.links(file_id), *self.tree.links(AWAITED + file_id)} - {ROOT, LOST}
        return sorted(parent for parent in above if self._is_way(parent, file_id))

    def _is_way(self, parent: str, file_id: str) -> bool:
        above = self.tree.node(parent)
        return above is not None and above.way is Way.SHORTCUT and self.tree.reaches(parent, avoiding=file_id)

    def _await(self, file_id: str, shortcuts: Iterable[str]) -> None:
        """The item is gone or hidden, and wanted: when it comes back it is told of, and its shortcuts are not."""
        waiting = dict.fromkeys((*self.tree.links(AWAITED + file_id), *shortcuts))
        if waiting:
            self.tree.place(AWAITED + file_id, Node("", Way.UNSUPPORTED), list(waiting), due=None)

    def _resolve(self, folder_id: str) -> bool:
        """Whether it is known where the folder lies. A folder that is not known is asked for, with those above it."""
        todo = [folder_id]
        for each in todo:
            if self.tree.is_placed(each) or each in self._resolved:
                continue
            if len(self._resolved) >= RESOLVED_MAX:
                break
            self._resolved.add(each)
            folder = self.ask(each)
            if folder is None or folder.way is not Way.FOLDER:
                continue
            parents = [parent for parent in folder.parents if parent != each] or [ORPHANS]
            self.tree.place(each, _node(folder), parents, due=None)
            todo += [parent for parent in parents if parent != ORPHANS]
        return self.tree.is_placed(folder_id)

    def _document(self, item: Item, known: Node | None, parents: list[str], how: How) -> None:
        self.documents += 1
        self.tree.place(item.id, _node(item, epoch=self._seen(known, how)), parents, due=None)
        if known is not None and known.is_held and item.way is Way.UNSUPPORTED:
            self._delete(item.id)  # what is held of it was of another type
            return
        folder = next((parent for parent in item.parents if parent in parents), None)
        grants = self.sharing.grants_of(item, folder_id=folder)
        path = "/".join(self.tree.path(item.id))
        self.changes[item.id] = documents.upsert(item, grants, path=path, now=self.now)

    def _folder(self, item: Item, known: Node | None, parents: list[str], how: How, under: str | None) -> None:
        held = self.tree.links(item.id)
        was_there = self.is_in_reach(item.id)
        stamp = self.sharing.stamp_if_told(item)
        if stamp is None and known is not None and how in (How.TOLD, How.ASKED):
            stamp = self.sharing.stamp_of(item)
        is_new = known is None or not was_there
        match how:
            case How.LISTED:
                is_due = False
            case How.CRAWLED:
                is_due = known is None or known.epoch != self.epoch
            case _ if is_new:
                is_due = True
            case _ if under is not None:
                is_only_there = not any(parent in parents for parent in item.parents)
                is_due = (self.is_whole or is_only_there) and known is not None and known.epoch != self.epoch
            case _:
                is_due = known is None or stamp is None or _differs(known, item, stamp) or set(held) != set(parents)
        epoch = self.epoch if is_due or how is How.LISTED or known is None else known.epoch
        due = Due.CRAWL if is_due or any(link.due == Due.CRAWL for link in held.values()) else None
        if due is None and how is How.LISTED and self.is_verified:
            due = Due.VERIFY
        self.tree.place(item.id, _node(item, access=stamp, epoch=epoch), parents, due=due)

    def _seen(self, known: Node | None, how: How) -> str:
        """What the feed tells of did not come up yet where it lies: its folder may have been hidden since."""
        if how is How.TOLD:
            return "" if known is None else known.epoch
        return self.epoch

    def _shortcut(self, item: Item, known: Node | None, parents: list[str], how: How) -> None:
        was_here = set(self.tree.links(item.id)) == set(parents)
        self.tree.place(item.id, _node(item, epoch=self._seen(known, how)), parents, due=None)
        if not is_id(item.target_id) or item.target_id == item.id:
            return
        self.tree.load([item.target_id])
        target, links = self.tree.node(item.target_id), self.tree.links(item.target_id)
        if target is not None and self.is_in_reach(item.target_id):
            # A crawl is about paths too, and what a shortcut leads to may lie nowhere else.
            is_seen = target.epoch == self.epoch or (how is How.TOLD and was_here)
            if target.way is Way.SHORTCUT or (is_seen and self._lead(item, target)):
                return
        self._follow(item, links)

    def _lead(self, shortcut: Item, target: Node) -> bool:
        """Whether one more way to the target need only be remembered: what is shown of it stays, or is listed anew."""
        file_id, links = shortcut.target_id, self.tree.links(shortcut.target_id)
        path = self.tree.path(file_id)
        if shortcut.id not in links:
            self.tree.place(file_id, target, [*links, shortcut.id], due=_dues(links, shortcut.id))
        is_same = self.tree.path(file_id) == path
        if not is_same and target.way is Way.FOLDER:
            self.tree.place(file_id, target, list(self.tree.links(file_id)), due=Due.CRAWL)
        return is_same or target.way is Way.FOLDER

    def _follow(self, shortcut: Item, links: Mapping[str, Link]) -> None:
        """What the shortcut leads to, which may lie anywhere and is followed from now on."""
        target = self.ask(shortcut.target_id, resource_key=shortcut.target_key or None)
        if self._begin_feed(target.drive_id if target is not None else ""):
            # What changed between the first answer and the token would be told by nobody.
            target = self.ask(shortcut.target_id, resource_key=shortcut.target_key or None)
        if target is not None and target.way is not Way.SHORTCUT and not target.is_trashed:
            self.take(target, How.ASKED, under=shortcut.id)
        else:
            if shortcut.id in links:
                self.detach(links[shortcut.id])
            self._await(shortcut.target_id, [shortcut.id])

    def _begin_feed(self, drive_id: str) -> bool:
        """Whether a feed had to be begun that tells of items there.

        Of a shared drive that the account is no member of its own feed tells.
        """
        if drive_id in self.feeds or (drive_id in self._resolved and "" in self.feeds):
            return False
        if drive_id:
            try:
                self.feeds[drive_id] = self.calls.start_page_token(drive_id=drive_id)
                return True
            except SharedDriveGone:
                self._resolved.add(drive_id)
        if "" in self.feeds:
            return False
        self.feeds[""] = self.calls.start_page_token()
        return True


def _node(item: Item, *, access: str | None = None, epoch: str = "") -> Node:
    return Node(
        name=item.name,
        way=item.way,
        version=item.version,
        drive_id=item.drive_id,
        access=access,
        epoch=epoch,
        target_id=item.target_id,
    )


def _differs(known: Node, item: Item, stamp: str) -> bool:
    """Whether what is below the folder is shown, or may be read, otherwise than before."""
    return known != replace(_node(item, access=stamp, epoch=known.epoch), version=known.version)


def _dues(links: Mapping[str, Link], parent: str) -> dict[str, Due | None]:
    """What is due stays due, under another parent too."""
    dues: dict[str, Due | None] = {held: Due(link.due) if link.due else None for held, link in links.items()}
    dues[parent] = Due.CRAWL if Due.CRAWL in dues.values() else None
    return dues


__all__ = ["How", "Placing"]
