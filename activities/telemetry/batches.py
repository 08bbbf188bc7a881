"""The span of embedding a source's passages, told by each attempt at a batch that did something for it.

Passages of several sources are embedded in one call, and one source may fill several batches. So a span lasts from when the
first of the source's passages in the batch is taken up until the last of them is committed, and says how many those were.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from activities.containment import HandedOver
from activities.store import Store
from activities.store.pages import telling
from activities.store.pages.embedding import Missing, ReadyChunk
from activities.store.pages.telling import ToldPage, ToldSource
from activities.telemetry.spans import IndexSpan, Tell, note_untold, place_of, replacement_ids
from headwater.errors import StoreError
from headwater.telemetry import Value, error_kind


class BatchSpans:
    """What is told of an attempt at a batch: enter it when it begins. As it stands here, it is told to nobody."""

    __slots__ = ()

    def committed(self, chunks: Sequence[ReadyChunk], *, is_made: bool) -> None:
        """These passages have their vectors now, which were made for them, or before for others."""

    def refused(self, rev_ids: Iterable[int], error: Exception) -> None:
        """A passage of each could not be embedded, and the document is set aside."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None


_NOBODY: Final = BatchSpans()


def batch_spans(store: Store, tell: Tell | None, page_id: int, batch_no: int, missing: Sequence[Missing]) -> BatchSpans:
    """For an attempt at these passages, which are those of the batch that have no vector yet."""
    if tell is None:
        return _NOBODY
    left: dict[int, int] = {}
    for chunk in missing:
        left[chunk.rev_id] = left.get(chunk.rev_id, 0) + 1
    try:
        page = telling.told_page(store, page_id)
        sources = telling.told_sources(store, page_id, list(left))
    except StoreError as error:
        note_untold(page_id, error)
        return _NOBODY
    return _NOBODY if page is None else _Told(tell, page, batch_no, sources, left)


@dataclass(slots=True)
class _Source:
    told: ToldSource
    left: int  # passages that have no vector yet
    embedded: int = 0
    reused: int = 0
    began_ns: int | None = None
    ended_ns: int = 0
    error: str | None = None


class _Told(BatchSpans):
    __slots__ = ("_batch_no", "_page", "_since", "_sources", "_tell")

    def __init__(
        self, tell: Tell, page: ToldPage, batch_no: int, sources: Sequence[ToldSource], left: Mapping[int, int]
    ) -> None:
        self._tell, self._page, self._batch_no = tell, page, batch_no
        self._sources = {each.rev_id: _Source(each, left[each.rev_id]) for each in sources}
        self._since = time.time_ns()  # when what is committed next was taken up

    def committed(self, chunks: Sequence[ReadyChunk], *, is_made: bool) -> None:
        now = time.time_ns()
        made: set[tuple[int, bytes]] = set()  # equal passages share one vector: the first of them has it made
        for chunk in (each.missing for each in chunks):
            key = chunk.sensitivity, chunk.sha256
            is_first = is_made and key not in made
            made.add(key)
            if (source := self._sources.get(chunk.rev_id)) is not None:
                source.began_ns = source.began_ns or self._since
                source.ended_ns = now
                source.left -= 1
                source.embedded += is_first
                source.reused += not is_first
        self._since = now

    def refused(self, rev_ids: Iterable[int], error: Exception) -> None:
        for rev_id in rev_ids:
            if (source := self._sources.get(rev_id)) is not None:
                source.began_ns = source.began_ns or self._since
                source.ended_ns = time.time_ns()
                source.error = error_kind(error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # An attempt that hands over has not failed: the next one goes on where it committed.
        if error is not None and not isinstance(error, HandedOver):
            for source in self._sources.values():
                if source.left and source.error is None:
                    source.began_ns, source.ended_ns = source.began_ns or self._since, time.time_ns()
                    source.error = error_kind(error)
        for source in self._sources.values():
            if source.began_ns is not None:
                self._tell(self._span(source, source.began_ns))

    def _span(self, source: _Source, began_ns: int) -> IndexSpan:
        page, told = self._page, source.told
        attributes: dict[str, Value] = {
            **place_of(page),
            "source_id": told.source_id,
            "batch": self._batch_no,
            "embedded": source.embedded,
            "reused": source.reused,
        }
        below = replacement_ids(page, told.ord)
        return IndexSpan("embedding.index", began_ns, source.ended_ns, attributes, below=below, error=source.error)
