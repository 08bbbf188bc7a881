"""What connectors remember: the rows of `link`, seen through the writes that are not durable yet.

A page's writes become rows in the transaction that moves the checkpoint past it, so exactly once. Until then the pages behind it
see them laid over the rows: page n+1 is listed while page n is embedded.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from psycopg import Connection
from psycopg.rows import class_row

from activities.store.database import Store
from activities.store.sql import queries
from headwater.connectors import Forgotten, Link
from headwater.connectors.storable import as_stored

Key = tuple[str, str]  # node and parent


@dataclass(slots=True)
class Writes:
    """Changes of a memory, folded: what is forgotten comes first, what is put after it."""

    is_all_forgotten: bool = False
    nodes: set[str] = field(default_factory=set)  # forgotten with all their links
    links: set[Key] = field(default_factory=set)  # forgotten by themselves
    put: dict[Key, Link] = field(default_factory=dict)

    def add(self, change: Link | Forgotten) -> None:
        if isinstance(change, Link):
            self.put[change.node, change.parent] = change
        elif change.node is None:
            self.is_all_forgotten, self.nodes, self.links, self.put = True, set(), set(), {}
        elif change.parent is None:
            self.nodes.add(change.node)
            for key in [key for key in self.put if key[0] == change.node]:
                del self.put[key]
        else:
            self.links.add((change.node, change.parent))
            self.put.pop((change.node, change.parent), None)

    def changes(self) -> list[Link | Forgotten]:
        """Changes that do the same, one after the other."""
        forgotten = [Forgotten()] if self.is_all_forgotten else []
        forgotten += [Forgotten(node) for node in sorted(self.nodes)]
        forgotten += [Forgotten(node, parent) for node, parent in sorted(self.links)]
        return [*forgotten, *self.put.values()]

    def to_json(self) -> str | None:
        """As a page keeps it; ``None`` if nothing was written."""
        if not (self.is_all_forgotten or self.nodes or self.links or self.put):
            return None
        return json.dumps(
            {
                "all": self.is_all_forgotten,
                "nodes": sorted(self.nodes),
                "links": sorted(self.links),
                "put": [asdict(link) for link in self.put.values()],
            }
        )

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        links = (Link(**link) for link in kept["put"])
        return cls(
            is_all_forgotten=kept["all"],
            nodes=set(kept["nodes"]),
            links={(node, parent) for node, parent in kept["links"]},
            put={(link.node, link.parent): link for link in links},
        )


class StoredMemory:
    """The `headwater.connectors.Memory` of one connector, as page ``seq`` of a pass finds it."""

    def __init__(self, store: Store, *, connector_id: int, pass_no: int, seq: int) -> None:
        self._store = store
        self._key = {"connector_id": connector_id}
        self._sql = queries(store.schema, "memory")
        self._page = {"pass_no": pass_no, "seq": seq}
        self._over: Writes | None = None  # what is laid over the rows; None: nobody asked yet
        self.written = Writes()
        self.is_used = False

    def links(self, nodes: Collection[str]) -> Mapping[str, Sequence[Link]]:
        over, wanted = self._laid_over(), set(nodes)
        asked = [] if over.is_all_forgotten else sorted(wanted - over.nodes)
        rows = self._rows("links_of", nodes=asked) if asked else []
        shown = [row for row in rows if not _hides(over, row)]
        found = dict[str, list[Link]]()
        for link in sorted([*shown, *(link for link in over.put.values() if link.node in wanted)], key=_order):
            found.setdefault(link.node, []).append(link)
        return found

    def children(self, parent: str, *, after: str = "", limit: int) -> Sequence[Link]:
        over, behind = self._laid_over(), after.encode()
        put = [link for link in over.put.values() if link.parent == parent]
        hidden = over.nodes | {node for node, under in over.links if under == parent} | {link.node for link in put}
        rows = self._rows("children_of", over, parent=parent, after=after, hidden=sorted(hidden), limit=limit)
        return sorted([*rows, *(link for link in put if link.node.encode() > behind)], key=_order)[:limit]

    def due(self, *, limit: int) -> Sequence[Link]:
        over = self._laid_over()
        hidden = sorted(over.links | over.put.keys())
        rows = self._rows(
            "due_links",
            over,
            nodes=sorted(over.nodes),
            hidden_nodes=[node for node, _ in hidden],
            hidden_parents=[parent for _, parent in hidden],
            limit=limit,
        )
        return sorted([*rows, *(link for link in over.put.values() if link.due is not None)], key=_order)[:limit]

    def write(self, changes: Sequence[Link | Forgotten]) -> None:
        over = self._laid_over()
        for change in list(map(as_stored, changes)):
            over.add(change)
            self.written.add(change)

    def _laid_over(self) -> Writes:
        self.is_used = True
        if self._over is None:
            over = Writes()
            with self._store.connection() as connection:
                rows = connection.execute(self._sql["pending_writes"], {**self._key, **self._page}).fetchall()
            for (kept,) in rows:
                for change in Writes.from_json(kept).changes():
                    over.add(change)
            self._over = over
        return self._over

    def _rows(self, name: str, over: Writes | None = None, **params: object) -> list[Link]:
        if over is not None and over.is_all_forgotten:
            return []
        with self._store.connection() as connection, connection.cursor(row_factory=class_row(Link)) as cursor:
            return cursor.execute(self._sql[name], {**self._key, **params}).fetchall()


def remember(connection: Connection, schema: str, page_id: int) -> None:
    """The page's writes become what its connector remembers. The caller moves the checkpoint past it in this transaction."""
    sql = queries(schema, "memory")
    row = connection.execute(sql["writes_of"], {"page_id": page_id}).fetchone()
    if row is None:
        return
    key, writes = {"connector_id": row[0]}, Writes.from_json(row[1])
    if writes.is_all_forgotten:
        connection.execute(sql["forget_all"], key)
    if writes.nodes:
        connection.execute(sql["forget_nodes"], {**key, "nodes": sorted(writes.nodes)})
    if writes.links:
        nodes, parents = zip(*sorted(writes.links), strict=True)
        connection.execute(sql["forget_links"], {**key, "nodes": list(nodes), "parents": list(parents)})
    if writes.put:
        links = json.dumps([asdict(link) for link in writes.put.values()])
        connection.execute(sql["put_links"], {**key, "links": links})


def _hides(over: Writes, link: Link) -> bool:
    key = link.node, link.parent
    return link.node in over.nodes or key in over.links or key in over.put


def _order(link: Link) -> tuple[bytes, bytes]:
    return link.node.encode(), link.parent.encode()
