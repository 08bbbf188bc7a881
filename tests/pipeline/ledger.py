"""A connector of the tests' own that lists everything once and then follows a feed of changes; it remembers what it listed.

Its origin says who may read each document, and the feed names documents without what they hold: deleted ones are those that
it remembers and that are no more.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from activities.store import Store
from activities.store.connectors import ensure_connector
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.connectors import (
    Change,
    ChangeKind,
    ChangePage,
    Connector,
    DocumentGone,
    DocumentRefused,
    FetchedDocument,
    Forgotten,
    GrantSet,
    InvalidCursor,
    Link,
    Memory,
)
from headwater.embedders import resolve_embedder
from tests.pipeline.editions import CHUNKING
from tests.pipeline.harness import SCOPE, SPEC

ANN = GrantSet(principal_ids=("ann",))


@dataclass(frozen=True)
class Entry:
    text: str
    grants: GrantSet = ANN
    refusal: DocumentRefused | None = None

    @property
    def version(self) -> str:
        return hashlib.sha256(f"{self.text}{self.refusal}".encode()).hexdigest()[:8]


@dataclass
class Ledger:
    """All entries by name, and the names of what changed, in order. ``fetched`` and ``begun`` tell what was asked."""

    entries: dict[str, Entry] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    begun: list[str | None] = field(default_factory=list)  # cursors of first pages
    forgot: set[str] = field(default_factory=set)  # cursors that it knows no more
    failing: list[Exception] = field(default_factory=list)  # raised when a page was listed

    def put(self, name: str, text: str, grants: GrantSet = ANN) -> None:
        self.entries[name] = Entry(text, grants)
        self.log.append(name)

    def share(self, name: str, grants: GrantSet, *, silently: bool = False) -> None:
        self.entries[name] = replace(self.entries[name], grants=grants)
        if not silently:
            self.log.append(name)

    def refuse(self, name: str, refusal: DocumentRefused | None) -> None:
        self.entries[name] = replace(self.entries[name], refusal=refusal)
        self.log.append(name)

    def remove(self, name: str) -> None:
        del self.entries[name]
        self.log.append(name)

    def connect(
        self, kind: str, config: Mapping[str, Any], *, name: str, memory: Memory | None = None
    ) -> Connector:  # fmt: skip
        return _Reader(self, memory)

    def register(self, store: Store, *names: str, kind: str = "drive") -> list[int]:
        """A corpus with connectors to this ledger: their ids."""
        embedder = resolve_embedder(SPEC)
        space = SpaceSpec(
            embedder_spec=SPEC,
            embedder_identity=embedder.identity,
            dimensions=embedder.dimensions,
            max_tokens=embedder.max_tokens,
            chunker=CHUNKING.fingerprint,
        )
        scope_id = ensure_scope(store, SCOPE, space).scope_id
        rows = [ensure_connector(store, scope_id, name, kind, {}, new_rule=True) for name in names or ("shelf",)]
        return [row.connector_id for row in rows]


class _Reader:
    def __init__(self, ledger: Ledger, memory: Memory | None) -> None:
        self._ledger = ledger
        self._memory = memory

    @property
    def kind(self) -> str:
        return "drive"

    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        assert self._memory is not None
        ledger = self._ledger
        if cursor in ledger.forgot:
            raise InvalidCursor("The ledger knows nothing of that page.")
        phase, _, place = (cursor or f"list {len(ledger.log)}/").partition(" ")
        if cursor is None or (phase == "feed" and "/" not in place):
            ledger.begun.append(cursor)
        page = self._listed(cursor, place, limit) if phase == "list" else self._fed(place, limit)
        if ledger.failing:
            raise ledger.failing.pop()
        return page

    def restart(self, cursor: str | None) -> str | None:
        return None

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        self._ledger.fetched.append(change.locator)
        entry = self._ledger.entries.get(change.locator)
        if entry is None:
            raise DocumentGone("It is no longer there.")
        if entry.refusal is not None:
            raise entry.refusal
        return FetchedDocument(entry.text.encode(), entry.version, name=f"{change.locator}.txt")

    def _listed(self, cursor: str | None, place: str, limit: int) -> ChangePage:
        """All there is, in order; then what the feed said meanwhile."""
        assert self._memory is not None
        start, _, after = place.partition("/")
        if cursor is None:
            self._memory.write([Forgotten()])
        names = sorted(name for name in self._ledger.entries if name > after)[:limit]
        self._memory.write([Link(name, "ledger", {"version": self._ledger.entries[name].version}) for name in names])
        changes = [self._change(name) for name in names]
        if len(names) == limit:
            return ChangePage(changes, f"list {start}/{names[-1]}", done=False)
        return ChangePage(changes, f"feed {start}/{start}", done=False)

    def _fed(self, place: str, limit: int) -> ChangePage:
        """What changed since ``place``; with a slash it is the end of a pass that listed everything first."""
        assert self._memory is not None
        at, _, start = place.partition("/")
        names = self._ledger.log[int(at) :][:limit]
        end = int(at) + len(names)
        held = self._memory.links(names)
        changes = []
        for name in names:
            if name in self._ledger.entries:
                self._memory.write([Link(name, "ledger", {"version": self._ledger.entries[name].version})])
                changes.append(self._change(name))
            elif name in held:
                self._memory.write([Forgotten(name)])
                changes.append(Change(ChangeKind.DELETE, f"drive:{name}", ""))
        if end < len(self._ledger.log):
            return ChangePage(changes, f"feed {end}/{start or 'x'}", done=False)
        return ChangePage(changes, f"feed {end}", done=True, is_whole=start.isdigit())

    def _change(self, name: str) -> Change:
        entry = self._ledger.entries[name]
        return Change(
            kind=ChangeKind.UPSERT,
            source_id=f"drive:{name}",
            locator=name,
            version=entry.version,
            path=name,
            grants=entry.grants,
            access=hashlib.sha256(repr(entry.grants).encode()).hexdigest(),
        )
