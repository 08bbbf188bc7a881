"""What an item's state makes of the tree, whoever told it, and which change follows from it.

All ways on which something is learnt of an item end here, so that a file is in reach or out of it by one rule.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from activities.connectors.drive import documents
from activities.connectors.drive.above import Above
from activities.connectors.drive.asking import UNTOLD, Asking, Untold
from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.crawling import due_of_folder
from activities.connectors.drive.grants import Denial
from activities.connectors.drive.item import How, Item
from activities.connectors.drive.kinds import Way
from activities.connectors.drive.patience import Patience
from activities.connectors.drive.scope import Scope
from activities.connectors.drive.sharing import Sharing
from activities.connectors.drive.shortcuts import follow, go_after, pointers_to, wait_for
from activities.connectors.drive.tree import (
    ABOVE,
    AWAITED,
    DEPTH_MAX,
    FAILED,
    LOST,
    ORPHANS,
    ROOT,
    Due,
    Node,
    Tree,
    node_of,
)
from headwater.connectors import Change, DocumentFault, Link, Unlisted
from headwater.errors import TransientError


@dataclass(slots=True)
class Placing:
    """The items of one page. ``feeds`` has the token of each change feed that is followed; shortcuts may add some."""

    calls: DriveCalls
    tree: Tree
    sharing: Sharing
    patience: Patience
    asking: Asking
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

    unlisted: list[Unlisted] = field(default_factory=list)
    has_listed: bool = False
    foreign: set[str] = field(default_factory=set)
    """Shared drives that the account is no member of."""

    above: Above = field(init=False)
    _resolved: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.above = Above(self.tree, self.ask, self.is_in_reach)

    @contextmanager
    def wholly(self) -> Iterator[None]:
        """What is placed in here is placed wholly, or not at all where Drive has to be asked again for it."""
        changes, feeds, unlisted, has_listed = dict(self.changes), dict(self.feeds), len(self.unlisted), self.has_listed
        try:
            with self.tree.wholly():
                yield
        except TransientError:
            self.changes, self.has_listed = changes, has_listed
            self.feeds.clear()
            self.feeds.update(feeds)
            del self.unlisted[unlisted:]
            raise

    def take(self, item: Item, how: How, *, under: str | None = None) -> None:
        """The item is in this state. ``under`` is a shortcut, or crawled folder, under which it was found."""
        known = self.tree.node(item.id)
        if how is How.TOLD and known is not None and item.version < known.version:
            return  # two feeds, or a feed and a listing, come in no order
        self.tree.forget(FAILED + item.id)
        if item.is_trashed:
            self.lose(item.id)
            return
        parents = self._parents(item, how, under)
        if not parents:
            if known is not None:
                self.lose(item.id)
            return
        self.has_listed |= how is How.LISTED
        if known is not None and known.is_held and not item.is_document:
            self._delete(item.id)
        self.tree.forget(AWAITED + item.id)
        match item.way:
            case Way.FOLDER:
                self._folder(item, known, parents, how, under)
            case Way.SHORTCUT:
                was_here = set(self.tree.links(item.id)) == set(parents)
                due = Due.CHECK if self.above.is_doubted(item.id) and how is not How.ASKED else None
                self.tree.place(item.id, node_of(item, epoch=self._seen(known, how)), parents, due=due)
                follow(self, item, how, was_here=was_here)
            case _:
                self._document(item, known, parents, how)
        if under is None and not self.scope.holds(item):
            go_after(self, item)

    def lose(self, file_id: str, *, due: Due = Due.DROP) -> None:
        """The item is gone or out of reach, and so is what hangs under it and under nothing else."""
        self._lose(file_id, self.tree.node(file_id), due)

    def detach(self, link: Link) -> None:
        """The item hangs no more under what it hung under. If it hangs elsewhere, Drive is asked how it is."""
        known = self.tree.node(link.node)
        self.tree.unlink(link.node, link.parent)
        if link.node.startswith((ABOVE, AWAITED)):
            return
        if not (self.tree.is_placed(link.node) and self.tree.reaches(link.node)):
            self._lose(link.node, known, Due.DROP)
            return
        try:
            item = self.ask(link.node)
        except UNTOLD as why:
            self.fail(link.node, why)
            return
        if item is None:
            self._lose(link.node, known, Due.DROP)
        else:
            self.take(item, How.ASKED)

    def fail(self, file_id: str, why: Untold) -> None:
        """Drive does not tell how the item is, and something else may be true by now: the next pass asks for it again.

        A document is withheld until then. What is known to be in a folder is asked for one by one.
        """
        known = self.tree.node(file_id)
        self.tree.note_failed(file_id, known.drive_id if known is not None else "")
        path = "/".join(self.tree.path(file_id))
        if known is not None and known.is_document:
            denial = Denial.FAULT if isinstance(why, DocumentFault) else Denial.UNREADABLE
            self.changes[file_id] = documents.withheld(file_id, denial, path=path)
            return
        self.unlisted.append(Unlisted(path or f"file {file_id}", str(why)))
        if known is not None and known.way is Way.FOLDER and known.epoch != self.epoch:
            self.tree.note(file_id, replace(known, epoch=self.epoch))  # or a cycle of folders would be checked for ever
            for link in list(self.tree.links(file_id).values()):
                self.tree.mark(link, link.due if link.parent == LOST else Due.VERIFY)

    def is_in_reach(self, node: str) -> bool:
        """Whether what hangs under ``node`` is wanted, as far as the tree tells."""
        return self.tree.is_placed(node) and (self.scope.is_flat or self.tree.reaches(node))

    def ask(self, file_id: str, *, resource_key: str | None = None) -> Item | None:
        """The item as it is now, as `Asking.ask` says it."""
        return self.asking.ask(file_id, resource_key=resource_key)

    def _lose(self, file_id: str, known: Node | None, due: Due) -> None:
        wait_for(self.tree, file_id, pointers_to(self.tree, file_id))
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
        parents += pointers_to(self.tree, item.id)
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

    def _resolve(self, folder_id: str) -> bool:
        """Whether it is known where the folder lies. A folder that is not known is asked for, with those above it."""
        todo = [folder_id]
        for each in todo:
            if self.tree.is_placed(each) or each in self._resolved:
                continue
            if len(todo) > DEPTH_MAX:
                break
            self._resolved.add(each)
            try:
                folder = self.ask(each)
            except UNTOLD:
                self.tree.note_failed(each, "")
                continue
            if folder is None or folder.way is not Way.FOLDER:
                continue
            parents = [parent for parent in folder.parents if parent != each] or [ORPHANS]
            self.tree.place(each, node_of(folder), parents, due=None)
            todo += [parent for parent in parents if parent != ORPHANS]
        return self.tree.is_placed(folder_id)

    def _document(self, item: Item, known: Node | None, parents: list[str], how: How) -> None:
        version = documents.version_of(item, known, is_trusted=not self.is_whole or how is How.TOLD)
        self.tree.place(item.id, node_of(item, epoch=self._seen(known, how), content=version), parents, due=None)
        if known is not None and known.is_held and item.way is Way.UNSUPPORTED:
            self._delete(item.id)  # what is held of it was of another type
            return
        folder = next((parent for parent in item.parents if parent in parents), None)
        above = self.tree.node(folder) if folder is not None else None
        is_open = above is not None and not above.is_limited
        grants = self.sharing.grants_of(item, open_folder_id=folder if is_open else None)
        if grants.denial is Denial.FAULT:
            self.tree.note_failed(item.id, item.drive_id)
        path = "/".join(self.tree.path(item.id))
        self.changes[item.id] = documents.upsert(item, grants, version=version, path=path, now=self.now)

    def _folder(self, item: Item, known: Node | None, parents: list[str], how: How, under: str | None) -> None:
        held = self.tree.links(item.id)
        was_there = self.is_in_reach(item.id)
        stamp = self.sharing.stamp_if_told(item)
        if stamp is None and known is not None and how in (How.TOLD, How.ASKED):
            stamp = self.sharing.stamp_of(item)
        due = due_of_folder(
            how,
            is_new=known is None or not was_there,
            is_changed=known is None or stamp is None or _differs(known, item, stamp) or set(held) != set(parents),
            is_crawled=known is not None and known.epoch == self.epoch,
            is_pointed_at=under is not None,
            lies_elsewhere=any(parent in parents for parent in item.parents),
            is_whole=self.is_whole,
            is_verified=self.is_verified,
        )
        if how is not How.LISTED and due is None and known is not None:
            epoch = known.epoch
        else:
            epoch = self.epoch
        if any(link.due == Due.CRAWL for link in held.values()):
            due = Due.CRAWL
        self.tree.place(item.id, node_of(item, access=stamp, epoch=epoch), parents, due=due)

    def _seen(self, known: Node | None, how: How) -> str:
        """What the feed tells of did not come up yet where it lies: its folder may have been hidden since."""
        if how is How.TOLD:
            return "" if known is None else known.epoch
        return self.epoch


def _differs(known: Node, item: Item, stamp: str) -> bool:
    """Whether what is below the folder is shown, or may be read, otherwise than before."""
    return known != replace(node_of(item, access=stamp, epoch=known.epoch), version=known.version)


__all__ = ["Placing"]
