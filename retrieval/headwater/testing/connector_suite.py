"""The contract test of connectors: what `SyncCorpus` relies on, tried on a small corpus of your making.

```python
class FolderCorpus:                                   # a `CorpusUnderTest`
    def __init__(self, root): self.root = root
    def connect(self): return LocalFolder(self.root, name="test")
    def put(self, name, data): (self.root / name).write_bytes(data)
    def remove(self, name): (self.root / name).unlink()

check_connector(FolderCorpus(tmp_path))
```

A connector that remembers is connected with a `MemoryInMemory`, the same each time, which `check_connector` is given too.
"""

from typing import Final, Protocol

from headwater.connectors import (
    Change,
    ChangeKind,
    ChangePage,
    Connector,
    Describer,
    Description,
    DocumentGone,
    DocumentTooLarge,
    FetchedDocument,
)
from headwater.errors import HeadwaterError
from headwater.ids import UNSTORABLE, check_source_id
from headwater.testing.memory import MemoryInMemory

DOCUMENTS: Final = {f"note-{n}.md": f"# Note {n}\n\nBody of note {n}.\n".encode() for n in range(7)}
OTHER_BYTES: Final = b"# Note 3\n\nAnother body.\n"
_MAX_BYTES: Final = 1 << 20
_PAGES_MAX: Final = 1000


class CorpusUnderTest(Protocol):
    """A corpus that the test may change, empty at first."""

    def connect(self) -> Connector:
        """A new connector to the corpus."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Adds the document, or gives it other bytes."""
        ...

    def remove(self, name: str) -> None: ...


def check_connector(corpus: CorpusUnderTest, *, memory: MemoryInMemory | None = None) -> None:
    """Raises `AssertionError` with one sentence at the first promise that the connector breaks. Removes what it put.

    ``memory`` is the one that all connectors of ``corpus`` are given, if they remember anything.
    """
    memory = memory or MemoryInMemory()
    _require(not _listed(corpus, limit=10), "An empty corpus must list nothing.")
    for name, data in DOCUMENTS.items():
        corpus.put(name, data)
    _check_pages(corpus, memory)
    _check_fetch(corpus)
    _check_change(corpus)
    _check_removal(corpus)


def _check_pages(corpus: CorpusUnderTest, memory: MemoryInMemory) -> None:
    in_one = _listed(corpus, limit=100)
    _require(len(in_one) == len(DOCUMENTS), f"{len(DOCUMENTS)} documents must be listed as so many changes.")
    _require(len({change.source_id for change in in_one}) == len(in_one), "Each document must have its own source id.")
    for change in in_one:
        _check_shape(change, corpus.connect().kind)
    for limit in (1, 3, len(DOCUMENTS)):
        _require(_listed(corpus, limit=limit) == in_one, f"Pages of {limit} must list the same in the same order.")
        _require(
            _listed(corpus, limit=limit, anew=True) == in_one,
            f"A new connector must go on from a cursor of another one (pages of {limit}).",
        )
    connector = corpus.connect()
    first = connector.list_page(None, limit=3)
    before = memory.copy()
    second = connector.list_page(first.cursor, limit=3)
    memory.restore(before)
    _require(
        list(connector.list_page(first.cursor, limit=3).changes) == list(second.changes),
        "The same cursor must give the same page again: an activity may run twice.",
    )


def _check_shape(change: Change, kind: str) -> None:
    check_source_id(change.source_id)
    _require(change.source_id.startswith(f"{kind}:"), f"A source id must begin with the kind, {kind!r}, and a colon.")
    for text in (change.locator, change.version or "", change.path, change.label or ""):
        _require(
            not UNSTORABLE.search(text), "Locator, version, path and label must hold no NUL and no lone surrogate."
        )


def _check_fetch(corpus: CorpusUnderTest) -> None:
    connector = corpus.connect()
    names: set[str] = set()
    for change in _listed(corpus, limit=100):
        document = _fetch(connector, change)
        names.add(document.name)
        _require(document.data == DOCUMENTS.get(document.name), "Names and bytes must be fetched as they were put.")
        _require(document.version in (None, change.version), "An unchanged document must be fetched with its version.")
        if change.label is not None:
            _check_description(connector, change, document)
        size = len(document.data)
        _require(connector.fetch(change, max_bytes=size).data == document.data, "max_bytes itself must be allowed.")
        _require(
            _refusal(connector, change, max_bytes=size - 1) is DocumentTooLarge,
            "One byte more than max_bytes must raise DocumentTooLarge.",
        )
    _require(names == set(DOCUMENTS), "Every document must be fetched under its own name.")


def _check_description(connector: Connector, change: Change, document: FetchedDocument) -> None:
    described = connector.describe(change) if isinstance(connector, Describer) else None
    _require(described is not None, "A connector whose changes have a label must describe documents.")
    fetched = Description(document.name, document.media_type, document.metadata, document.title, document.uri)
    _require(described == fetched, "A document must be described as it is fetched.")


def _check_change(corpus: CorpusUnderTest) -> None:
    before, after_pass = _by_name(corpus), _pages(corpus, limit=3)[-1].cursor
    known_version = _fetch(corpus.connect(), before["note-3.md"]).version
    corpus.put("note-3.md", OTHER_BYTES)
    source_id = before["note-3.md"].source_id
    seen = [change for change in _listed(corpus, limit=3, cursor=after_pass) if change.source_id == source_id]
    _require(bool(seen), "A changed document must be listed, under its id, in the pass that begins at the last cursor.")
    _require(
        None in (known_version, seen[-1].version) or seen[-1].version != known_version,
        "A changed document must not have the version that its old bytes were fetched with.",
    )
    data = _fetch(corpus.connect(), seen[-1]).data
    _require(data == OTHER_BYTES, "A changed document must be fetched with its new bytes.")


def _check_removal(corpus: CorpusUnderTest) -> None:
    before, last_page = _by_name(corpus), _pages(corpus, limit=3)[-1]
    _require(last_page.is_whole, "A pass without a cursor must be whole: what it does not list is gone.")
    _require(_is_whole(corpus, last_page.cursor), "A pass that lists everything anew must be whole.")
    after_pass = _pages(corpus, limit=3)[-1].cursor
    kept = before.pop("note-0.md")  # a source that is empty all at once may rightly be taken for one that is away
    for name, change in before.items():
        corpus.remove(name)
        refusal = _refusal(corpus.connect(), change, max_bytes=_MAX_BYTES)
        _require(refusal is DocumentGone, "Fetching a removed document must raise DocumentGone.")
    pages = _pages(corpus, limit=3, cursor=after_pass)
    ids = {kind: {c.source_id for page in pages for c in page.changes if c.kind is kind} for kind in ChangeKind}
    _require(ids[ChangeKind.UPSERT] <= {kept.source_id}, "A removed document must not be listed as an upsert.")
    gone = {change.source_id for change in before.values()}
    _require(
        pages[-1].is_whole or ids[ChangeKind.DELETE] >= gone, "A pass that is not whole must name what was removed."
    )
    corpus.remove("note-0.md")


def _is_whole(corpus: CorpusUnderTest, cursor: str) -> bool:
    """Whether the pass that begins where the connector would list everything anew does so."""
    pages = _pages(corpus, limit=3, cursor=corpus.connect().restart(cursor))
    return pages[-1].is_whole and sum(len(page.changes) for page in pages) == len(DOCUMENTS)


def _listed(corpus: CorpusUnderTest, *, limit: int, cursor: str | None = None, anew: bool = False) -> list[Change]:
    return [change for page in _pages(corpus, limit=limit, cursor=cursor, anew=anew) for change in page.changes]


def _pages(corpus: CorpusUnderTest, *, limit: int, cursor: str | None = None, anew: bool = False) -> list[ChangePage]:
    """The pages of a pass; with ``anew``, a new connector for each."""
    connector = corpus.connect()
    pages: list[ChangePage] = []
    for _ in range(_PAGES_MAX):
        page = connector.list_page(cursor, limit=limit)
        _require(len(page.changes) <= limit, f"A page of at most {limit} holds {len(page.changes)} changes.")
        _require(not UNSTORABLE.search(page.cursor), "A cursor must hold no NUL and no lone surrogate.")
        _require(not page.unlisted, "Everything in this corpus can be listed.")
        pages.append(page)
        if page.done:
            return pages
        cursor = page.cursor
        connector = corpus.connect() if anew else connector
    raise AssertionError(f"A pass over {len(DOCUMENTS)} documents must end within {_PAGES_MAX} pages.")


def _by_name(corpus: CorpusUnderTest) -> dict[str, Change]:
    connector = corpus.connect()
    return {_fetch(connector, change).name: change for change in _listed(corpus, limit=100)}


def _fetch(connector: Connector, change: Change) -> FetchedDocument:
    return connector.fetch(change, max_bytes=_MAX_BYTES)


def _refusal(connector: Connector, change: Change, *, max_bytes: int) -> type[HeadwaterError] | None:
    try:
        connector.fetch(change, max_bytes=max_bytes)
    except HeadwaterError as error:
        return type(error)
    return None


def _require(is_kept: bool, promise: str) -> None:
    if not is_kept:
        raise AssertionError(promise)  # not `assert`: the suite must hold under `python -O` too
