"""A connector's memory that lasts as long as its object: for tests, and for trying a connector without a store."""

from collections.abc import Collection, Mapping, Sequence
from typing import Self

from headwater.connectors import Forgotten, Link
from headwater.connectors.storable import as_stored


class MemoryInMemory:
    """A `headwater.connectors.Memory` in dictionaries. Writing is at once for good: see `copy` and `restore`."""

    def __init__(self) -> None:
        self._links: dict[str, dict[str, Link]] = {}  # by node, by parent
        self._children: dict[str, set[str]] = {}

    def links(self, nodes: Collection[str]) -> Mapping[str, Sequence[Link]]:
        return {node: self._of(node) for node in nodes if node in self._links}

    def children(self, parent: str, *, after: str = "", limit: int) -> Sequence[Link]:
        behind = [node for node in self._children.get(parent, ()) if node.encode() > after.encode()]
        return [self._links[node][parent] for node in sorted(behind, key=str.encode)[:limit]]

    def due(self, *, limit: int) -> Sequence[Link]:
        return [link for link in self.all_links() if link.due is not None][:limit]

    def write(self, changes: Sequence[Link | Forgotten]) -> None:
        for change in list(map(as_stored, changes)):
            if isinstance(change, Link):
                self._links.setdefault(change.node, {})[change.parent] = change
                self._children.setdefault(change.parent, set()).add(change.node)
            elif change.node is None:
                self.__init__()  # type: ignore[misc]  # nothing is left, as at first
            else:
                self._forget(change.node, change.parent)

    def all_links(self) -> list[Link]:
        """Everything there is, in byte order of the node and then of the parent."""
        return [link for node in sorted(self._links, key=str.encode) for link in self._of(node)]

    def copy(self) -> Self:
        """Another memory that remembers the same."""
        copied = type(self)()
        copied.write(self.all_links())
        return copied

    def restore(self, other: "MemoryInMemory") -> None:
        """Remembers what ``other`` does and nothing else, as when a page was listed and never published."""
        self.write([Forgotten(), *other.all_links()])

    def _of(self, node: str) -> list[Link]:
        return [link for _, link in sorted(self._links[node].items(), key=lambda item: item[0].encode())]

    def _forget(self, node: str, parent: str | None) -> None:
        held = self._links.get(node, {})
        for under in [parent] if parent is not None else list(held):
            if held.pop(under, None) is not None:
                self._children[under].discard(node)
        if not held:
            self._links.pop(node, None)
