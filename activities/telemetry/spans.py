"""A span of indexing as it is handed on once it is over, and how one process names a span that another one will tell.

A source is read, embedded and published by activities that run in whatever process has a slot, at moments of their own.
None of them could hand the next one a span: it ends where it was begun. So the ids of a replacement's span are derived from
where it stands, a place on a page, which every activity knows: whoever embeds names it as the parent, whoever publishes
tells it.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from activities.store.pages.telling import ToldPage
from headwater.errors import StoreError
from headwater.telemetry import SpanName, Value

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SpanIds:
    """By what others find a span: 128 and 64 bits, none of them zero."""

    trace_id: int
    span_id: int


@dataclass(frozen=True, slots=True)
class IndexSpan:
    """One that is over. ``ids`` are given where others name it as ``below``; times are those of the epoch in nanoseconds."""

    name: SpanName
    began_ns: int
    ended_ns: int
    attributes: Mapping[str, Value]
    ids: SpanIds | None = None
    below: SpanIds | None = None
    error: str | None = None  # its kind; None: it went well


Tell = Callable[[IndexSpan], None]


def place_of(page: ToldPage) -> dict[str, Value]:
    """What every span of a page says of it."""
    return {
        "tenant_id": page.tenant_id,
        "resource_id": page.resource_id,
        "corpus_id": page.corpus_id,
        "page": page.page_id,
    }


def note_untold(page_id: int, error: StoreError) -> None:
    """What was done is done: nothing fails because it could not be told."""
    log.warning("spans.not_told", page_id=page_id, error=type(error).__name__)


def replacement_ids(page: ToldPage, ord: int) -> SpanIds:
    """Those of the span of the document at place ``ord`` of a page.

    Numbers of pages are small, and collectors hear many installations: the moment in which it was listed tells them apart.
    """
    place = "\0".join(
        (page.tenant_id, page.resource_id, page.corpus_id, *map(str, (page.listed_us, page.page_id, ord)))
    )
    digest = hashlib.sha256(place.encode("utf-8", "surrogatepass")).digest()
    return SpanIds(int.from_bytes(digest[:16]) or 1, int.from_bytes(digest[16:24]) or 1)
