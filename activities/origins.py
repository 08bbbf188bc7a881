"""Where the documents of a page are: with a connector, or in what a host handed in. Reading them is the same."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from activities.connectors import MakeConnector
from activities.parsers import CURRENT
from activities.plan import Plan, plan
from activities.read_document import Reading, change_of, equal_to, read_document, readers
from activities.relabel_document import relabel_document
from activities.store import Store
from activities.store.connectors import connector_by_id
from activities.store.pages import ingest, lease, listing, staging
from activities.store.pages.ingest import Described
from activities.store.pages.listing import Known
from activities.store.pages.relabel import ShownText, shown_text
from activities.store.pages.staging import NotedItem, OpenItem, Page, StagedDocument, Started
from headwater.connectors import Change, Describer, DocumentRefused, DocumentTooLarge, FetchedDocument
from headwater.sensitivity import SENSITIVITIES
from headwater.states import HEALTHY


class Origin(Protocol):
    """Of one page, for one attempt at preparing it."""

    def renew(self) -> None:
        """Nobody else prepares the page meanwhile, or an error."""
        ...

    def start(self, ords: Sequence[int]) -> Mapping[int, Started]:
        """Marks documents as being read, before they are."""
        ...

    def read(self, item: OpenItem, reading: Reading) -> StagedDocument | NotedItem:
        """One document. Called by several threads at once; raises only what is not the document's fault."""
        ...


def origin_of(store: Store, page: Page, items: Sequence[OpenItem], *, connectors: MakeConnector) -> Origin:
    """Where ``items`` of ``page`` are read from, with a connector that ``connectors`` makes or from what a host handed in."""
    source_ids = [item.source_id for item in items]
    if page.connector_id is None:
        return _Pushed(store, page, source_ids)
    return _Listed(store, page, page.connector_id, source_ids, connectors)


class _Listed:
    """A connector's page: each document is fetched by a connector of its own, since they are used by one thread."""

    def __init__(
        self, store: Store, page: Page, connector_id: int, source_ids: Sequence[str], connectors: MakeConnector
    ) -> None:
        self._store = store
        self._page = page
        self._connector_id = connector_id
        self._connectors = connectors
        self._row = connector_by_id(store, connector_id)
        self._known = listing.known_sources(
            store, connector_id=connector_id, scope_id=page.scope_id, source_ids=source_ids
        )

    def renew(self) -> None:
        lease.renew(self._store, self._connector_id, fence=self._page.fence)

    def start(self, ords: Sequence[int]) -> Mapping[int, Started]:
        return staging.start_items(self._store, self._page, ords)

    def read(self, item: OpenItem, reading: Reading) -> StagedDocument | NotedItem:
        connector = self._connectors(self._row.kind, self._row.config, name=self._row.name)
        held = self._known.get(item.source_id)
        if held is not None and held.label != item.label:
            if isinstance(connector, Describer) and _has_another_label_only(item, held, reading):
                relabelled = relabel_document(item, connector, held, reading, self._shown)
                if relabelled is not None:
                    return relabelled
            held = replace(held, raw_sha256=None)  # the same bytes under another name are another document
        return read_document(item, connector, held, reading)

    def _shown(self, held: Known) -> ShownText | None:
        if held.source_version is None or held.parser is None:
            return None
        return shown_text(
            self._store,
            scope_id=self._page.scope_id,
            source_id=held.source_id,
            version=held.source_version,
            parser=held.parser,
        )


def _has_another_label_only(item: OpenItem, held: Known, reading: Reading) -> bool:
    """Asked again, since it was listed: its text may have been read, deleted or rolled back meanwhile."""
    parsers = readers(reading.max_bytes)
    return plan(change_of(item), held, full=reading.full, rule_version=0, parsers=parsers) is Plan.LABEL


class _Pushed:
    """A host's page: what it handed in, with what it said of it."""

    def __init__(self, store: Store, page: Page, source_ids: Sequence[str]) -> None:
        self._store = store
        self._page = page
        self._described = ingest.described(store, page.page_id)
        self._known = ingest.known_sources(store, scope_id=page.scope_id, source_ids=source_ids)

    def renew(self) -> None:
        """A host's page stands under no lease: two attempts at once do no harm, the first that lands counts."""

    def start(self, ords: Sequence[int]) -> Mapping[int, Started]:
        return ingest.start_items(self._store, self._page, ords)

    def read(self, item: OpenItem, reading: Reading) -> StagedDocument | NotedItem:
        described, held = self._described[item.source_id], self._known.get(item.source_id)
        if held is not None and _is_unchanged(described, held):
            status = {
                **equal_to(held.seen_seq),
                "version": item.version,
                "raw_sha256": _hex(held),
                "parser": held.parser,
            }
            return _in_order(NotedItem(ord=item.ord, status=status), described)
        if held is not None and _said(held.source_version) != _said(described.version):
            # The same bytes with another title are another document: they are read, and then compared as a whole.
            held = replace(held, raw_sha256=None)
        return _in_order(read_document(item, _Content(self._store, described), held, reading), described)


class _Content:
    """Staged content as a document that a connector fetched."""

    def __init__(self, store: Store, described: Described) -> None:
        self._store = store
        self._described = described

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        described = self._described
        if described.bytes is None:
            raise DocumentRefused("Its content is gone, with what was forgotten of the source: send it again.")
        if described.bytes > max_bytes:
            raise DocumentTooLarge(f"It has {described.bytes:,} bytes; at most {max_bytes:,} are read.")
        return FetchedDocument(
            data=ingest.read_content(self._store, described.content_id),
            version=change.version,
            name="",  # an id is no file name: how it is read, the media type and the bytes say
            media_type=described.media_type,
            metadata=described.metadata,
            title=described.title,
            uri=described.uri,
            sensitivity=SENSITIVITIES[described.sensitivity],
            lineage=tuple(described.lineage),
        )


def _in_order(read: StagedDocument | NotedItem, described: Described) -> StagedDocument | NotedItem:
    """What stages nothing has no revision to say when it was accepted, so its note does."""
    if isinstance(read, StagedDocument):
        return read
    return replace(read, status={**read.status, "seq": described.source_seq})


def _is_unchanged(described: Described, held: Known) -> bool:
    """The host gave the hash that it gave before, said the same of the document, and readers see it, read as it is read now."""
    return (
        described.content_hash is not None
        and described.version == held.source_version
        and held.content_hash is not None
        and held.state in HEALTHY
        and held.parser in CURRENT
    )


def _said(version: str | None) -> str | None:
    """The digest of what a host said of a document, besides its content."""
    return None if version is None else version.rpartition("/")[2]


def _hex(held: Known) -> str | None:
    return None if held.raw_sha256 is None else held.raw_sha256.hex()
