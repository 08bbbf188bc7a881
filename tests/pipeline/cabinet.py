"""A connector of the tests' own: papers in memory, whose names are no part of their versions. It counts what is asked of it."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from activities.store import Store
from activities.store.connectors import ensure_connector
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.chunking.profile import ChunkingProfile
from headwater.connectors import (
    Change,
    ChangeKind,
    ChangePage,
    Connector,
    Description,
    DocumentGone,
    DocumentRefused,
    FetchedDocument,
    GrantSet,
    Memory,
)
from headwater.embedders import resolve_embedder
from tests.integration.staging_factory import Corpus
from tests.pipeline.harness import SCOPE, SPEC


@dataclass(frozen=True)
class Paper:
    """One document. ``touched`` makes another version of the same bytes."""

    data: bytes
    name: str
    folder: str = ""
    touched: int = 0
    is_titled: bool = True
    is_refused: bool = False
    lineage: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        return f"{hashlib.sha256(self.data).hexdigest()[:8]}.{self.touched}"

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def shown(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "metadata": {"path": self.path},
            "title": self.name if self.is_titled else None,
            "uri": f"https://cabinet.example/{self.path}",
        }


@dataclass
class Cabinet:
    """All papers by id; what was fetched and what was described, in order."""

    papers: dict[str, Paper] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    described: list[str] = field(default_factory=list)
    while_describing: Callable[[], object] = lambda: None
    feed: list[Callable[[], Sequence[str]]] = field(
        default_factory=list
    )  # a page each: ids of what changed; empty: all is listed

    def put(self, source_id: str, text: str, name: str, **fields: Any) -> None:
        self.papers[source_id] = Paper(text.encode(), name, **fields)

    def change(self, source_id: str, **fields: Any) -> None:
        self.papers[source_id] = replace(self.papers[source_id], **fields)

    def connect(
        self, kind: str, config: Mapping[str, Any], *, name: str, memory: Memory | None = None
    ) -> Connector:  # fmt: skip
        return _Drawer(self)

    def register(self, store: Store, *, chunking: ChunkingProfile) -> Corpus:
        """A new corpus with this cabinet as its connector."""
        embedder = resolve_embedder(SPEC)
        space = SpaceSpec(
            embedder_spec=SPEC,
            embedder_identity=embedder.identity,
            dimensions=embedder.dimensions,
            max_tokens=embedder.max_tokens,
            chunker=chunking.fingerprint,
        )
        build = ensure_scope(store, SCOPE, space)
        connector = ensure_connector(store, build.scope_id, "shelf", "cabinet", {}, new_rule=True)
        return Corpus(SCOPE, build, connector, fence=0)


class _Drawer:
    def __init__(self, cabinet: Cabinet) -> None:
        self._cabinet = cabinet

    @property
    def kind(self) -> str:
        return "cabinet"

    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        feed, page = self._cabinet.feed, int(cursor or 0)
        source_ids = feed[page]() if feed else sorted(self._cabinet.papers)
        assert len(source_ids) <= limit
        return ChangePage(
            [self._change(source_id) for source_id in source_ids],
            cursor=str(page + 1 if feed else 0),
            done=page + 1 >= len(feed),
            is_whole=not feed,
        )

    def _change(self, source_id: str) -> Change:
        """What is to be shown travels in the locator, as of when it was listed."""
        paper = self._cabinet.papers.get(source_id)
        if paper is None:
            return Change(ChangeKind.DELETE, source_id, locator="")
        return Change(
            kind=ChangeKind.UPSERT,
            source_id=source_id,
            locator=json.dumps(paper.shown),
            version=paper.version,
            path=paper.path,
            grants=GrantSet(everyone=True),
            label=json.dumps(paper.shown),
        )

    def restart(self, cursor: str | None) -> str | None:
        return cursor

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        self._cabinet.fetched.append(change.source_id)
        paper = self._paper(change)
        if paper.is_refused:
            raise DocumentRefused("It cannot be downloaded.")
        return FetchedDocument(
            data=paper.data, version=paper.version, lineage=paper.lineage, **json.loads(change.locator)
        )  # fmt: skip

    def describe(self, change: Change) -> Description:
        self._cabinet.described.append(change.source_id)
        self._cabinet.while_describing()
        self._paper(change)
        return Description(**json.loads(change.locator))

    def _paper(self, change: Change) -> Paper:
        if change.source_id not in self._cabinet.papers:
            raise DocumentGone("It is no longer there.")
        return self._cabinet.papers[change.source_id]
