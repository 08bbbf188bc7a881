"""What is remembered of the part of Drive in reach: what hangs under what, and what is still to be done with it.

Drive's feed says that a folder moved and nothing of what is in it, so that the tree has to be known. It may be any
graph: old items have several parents, a shortcut is the parent of what it leads to, and there are cycles.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from activities.connectors.drive.item import Item
from activities.connectors.drive.kinds import Way
from headwater.connectors import Forgotten, Link, Memory

ROOT: Final = ""  # the parent of what hangs under nothing
# The parent of what is out of reach and only remembered until nothing hangs under it; no id is so short.
LOST: Final = "-"
ORPHANS: Final = "+"  # the parent of what lies in no folder that the account sees
# Before the id of what a shortcut leads to and nobody sees: once it is told of, it is known as wanted.
AWAITED: Final = "?"
ABOVE: Final = "^"  # before the id of a folder above what a shortcut leads to; it hangs under the shortcut
FAILED: Final = "!"  # the parent, and before the id, of what Drive did not tell of: the next pass asks for it
DEPTH_MAX: Final = 200  # Drive nests a hundred folders at most, and shortcuts lead on from there


class Due(StrEnum):
    """What is still to be done with an item, as a link says it."""

    CRAWL = "crawl"  # what is in the folder is listed
    VERIFY = "verify"  # what is known to be in the folder, and did not come up in this pass, is checked
    CHECK = "check"  # it did not come up where it was expected: Drive is asked for it
    DROP = "drop"  # what hangs under it and under nothing else goes
    ASK = "ask"  # it is hidden, and Drive is asked for each item that hung under it


@dataclass(frozen=True, slots=True)
class Node:
    """What is known of an item. ``access`` is a fingerprint of a folder's permissions; ``None``: not known."""

    name: str
    way: Way
    version: int = 0
    drive_id: str = ""
    access: str | None = None
    epoch: str = ""
    target_id: str = ""
    is_limited: bool = False
    """A folder that does not hand down all that it has itself."""

    content: str = ""
    """Of a document of Google's: the version under which its content is known,"""

    modified: str = ""
    """and when it was modified then."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        return cls(
            name=record.get("name", ""),
            way=Way(record["way"]),
            version=record.get("version", 0),
            drive_id=record.get("drive", ""),
            access=record.get("access"),
            epoch=record.get("epoch", ""),
            target_id=record.get("target", ""),
            is_limited=record.get("limited", False),
            content=record.get("content", ""),
            modified=record.get("modified", ""),
        )

    def to_record(self) -> dict[str, Any]:
        record = {
            "name": self.name,
            "way": self.way.value,
            "version": self.version,
            "drive": self.drive_id,
            "access": self.access,
            "epoch": self.epoch,
            "target": self.target_id,
            "limited": self.is_limited,
            "content": self.content,
            "modified": self.modified,
        }
        return {key: value for key, value in record.items() if value not in ("", None, False)}

    @property
    def is_document(self) -> bool:
        return self.way not in (Way.FOLDER, Way.SHORTCUT)

    @property
    def is_held(self) -> bool:
        """It is a document with content, as far as is known."""
        return self.way in (Way.DOWNLOAD, Way.EXPORT)


def node_of(item: Item, *, access: str | None = None, epoch: str = "", content: str | None = None) -> Node:
    """What is remembered of the item. ``content`` is the version under which what is in it is known."""
    is_export = item.way is Way.EXPORT
    return Node(
        name=item.name,
        way=item.way,
        version=item.version,
        drive_id=item.drive_id,
        access=access,
        epoch=epoch,
        target_id=item.target_id,
        is_limited=item.is_limited,
        content=content or "" if is_export else "",
        modified=item.modified if is_export else "",
    )


class Tree:
    """The remembered tree, for one page: what is changed is seen at once and written as a whole by `flush`."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: dict[str, dict[str, Link]] = {}
        self._writes: list[Link | Forgotten] = []
        self._before: list[tuple[str, dict[str, Link]]] = []

    @contextmanager
    def wholly(self) -> Iterator[None]:
        """What is changed in here is changed wholly, or not at all where it raises."""
        writes, self._before = len(self._writes), []
        try:
            yield
        except BaseException:
            del self._writes[writes:]
            self._known.update(reversed(self._before))
            raise

    def load(self, nodes: Iterable[str]) -> None:
        """Looks up these items and all that is above them, a level at a time and not an item at a time."""
        frontier = {node for node in nodes if node not in (ROOT, LOST)}
        for _ in range(DEPTH_MAX):
            self._fetch(frontier)
            above = {parent for node in frontier for parent in self._known[node]}
            frontier = {parent for parent in above if parent not in (ROOT, LOST) and parent not in self._known}
            if not frontier:
                return

    def links(self, node: str) -> Mapping[str, Link]:
        """The links of an item, by parent."""
        self._fetch((node,))
        return self._known[node]

    def node(self, node: str) -> Node | None:
        """What is known of an item, in reach or lost."""
        link = next(iter(self.links(node).values()), None)
        return None if link is None else Node.of(link.record)

    def is_placed(self, node: str) -> bool:
        """Whether the item hangs under anything, in reach or not."""
        return any(parent != LOST for parent in self.links(node))

    def place(
        self, node: str, record: Node, parents: Collection[str], *, due: Mapping[str, Due | None] | Due | None
    ) -> None:
        """The item hangs under these and nothing else. ``due`` is the same for all links, or one for each parent."""
        for parent in list(self.links(node)):
            if parent not in parents:
                self.unlink(node, parent)
        for parent in parents:
            each = due.get(parent) if isinstance(due, Mapping) else due
            self._put(Link(node, parent, record.to_record(), due=each.value if each else None))

    def note(self, node: str, record: Node) -> None:
        """The item is known by this from now on, wherever it hangs."""
        for link in list(self.links(node).values()):
            self._put(Link(node, link.parent, record.to_record(), due=link.due))

    def mark(self, link: Link, due: str | None) -> None:
        """This is to be done with the item under that parent, or nothing any more."""
        current = self.links(link.node).get(link.parent)
        if current is not None and current.due != due:
            self._put(Link(link.node, link.parent, current.record, due=None if due is None else str(due)))

    def done(self, node: str, due: Due) -> None:
        """It was done, wherever the item hangs."""
        for link in list(self.links(node).values()):
            if link.due == due:
                self.mark(link, None)

    def unlink(self, node: str, parent: str) -> None:
        if parent in self._known_of(node):
            self._note(node)
            del self._known[node][parent]
            self._writes.append(Forgotten(node, parent))

    def forget(self, node: str) -> None:
        if self.links(node):
            self._note(node)
            self._known[node] = {}
            self._writes.append(Forgotten(node))

    def note_failed(self, node: str, drive_id: str) -> None:
        """Drive did not tell how the item is: the next pass asks for it."""
        self._put(Link(FAILED + node, FAILED, Node("", Way.UNSUPPORTED, drive_id=drive_id).to_record()))

    def children(self, parent: str, *, after: str = "", limit: int) -> Sequence[Link]:
        """What hung under ``parent`` before this page."""
        return self._remember(self._memory.children(parent, after=after, limit=limit))

    def due(self, *, limit: int) -> Sequence[Link]:
        """What was to be done before this page."""
        return self._remember(self._memory.due(limit=limit))

    def reaches(self, node: str, *, avoiding: str | None = None) -> bool:
        """Whether a way leads up from ``node`` to a root, other than through ``avoiding``."""
        seen, frontier = {avoiding}, {node} - {avoiding}
        for _ in range(DEPTH_MAX):
            self._fetch(frontier)
            above = {parent for each in frontier for parent in self._known_of(each)}
            if ROOT in above:
                return True
            seen |= frontier
            frontier = above - seen - {LOST}
            if not frontier:
                return False
        return False

    def path(self, node: str) -> tuple[str, ...]:
        """Names from the root down to the item. Of several ways up always the same, rather not a shortcut."""
        names: list[str] = []
        seen: set[str] = set()
        while node not in seen and (known := self.node(node)) is not None and len(seen) < DEPTH_MAX:
            seen.add(node)
            if known.way is not Way.SHORTCUT:
                names.append(known.name)
            above = [parent for parent in self.links(node) if parent not in (ROOT, LOST)]
            node = min(above, key=self._preference, default=ROOT)
            if node == ROOT:
                break
        return tuple(reversed(names))

    def flush(self) -> None:
        """Writes what was changed."""
        if self._writes:
            self._memory.write(self._writes)
            self._writes = []

    def _preference(self, node: str) -> tuple[int, bytes]:
        known = self.node(node)
        return 2 if known is None else int(known.way is Way.SHORTCUT), node.encode()

    def _put(self, link: Link) -> None:
        if self._known_of(link.node).get(link.parent) != link:
            self._note(link.node)
            self._known_of(link.node)[link.parent] = link
            self._writes.append(link)

    def _note(self, node: str) -> None:
        self._before.append((node, dict(self._known[node])))

    def _known_of(self, node: str) -> dict[str, Link]:
        self._fetch((node,))
        return self._known[node]

    def _fetch(self, nodes: Iterable[str]) -> None:
        missing = {node for node in nodes if node not in self._known}
        if missing:
            found = self._memory.links(missing)
            for node in missing:
                self._known[node] = {link.parent: link for link in found.get(node, ())}

    def _remember(self, links: Sequence[Link]) -> Sequence[Link]:
        """As they are now: some may have been changed in this page."""
        self._fetch(link.node for link in links)
        return [now for link in links if (now := self._known[link.node].get(link.parent)) is not None]


__all__ = ["ABOVE", "AWAITED", "FAILED", "LOST", "ORPHANS", "ROOT", "Due", "Node", "Tree", "node_of"]
