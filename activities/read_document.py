"""One document, from its origin to what is staged: fetched, parsed, normalised, cut into chunks.

What is wrong with a document is a value here, a state with a reason, because it must not stop the page. Only an
outage, which is nobody's fault, is raised.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Protocol

from activities.parsers import CURRENT, ParsedDocument, ParseFailure, detect, parser_version
from activities.parsers.sniff import reading_hint
from activities.store.pages.listing import Known
from activities.store.pages.staging import NotedItem, OpenItem, StagedDocument
from headwater.chunking.profile import ChunkingProfile, TokenEnds
from headwater.connectors import (
    Change,
    ChangeKind,
    DocumentDenied,
    DocumentGone,
    DocumentRefused,
    DocumentTooLarge,
    DocumentUnsupported,
    FetchedDocument,
)
from headwater.errors import LimitError
from headwater.sensitivity import INTERNAL, sensitivity_level

MAX_CHARS: Final = 8_388_608
# What a document that was never parsed counts as read by: raised when the reason may no longer hold.
FETCHER: Final = "fetch/1"
# What one counts as read by at which its origin failed: nobody reads so, and whenever it is listed it is tried once more.
FAULT: Final = "fetch/fault"
# Of a document at which its origin fails: by the retry policy half a minute, which chance does not fail through.
FAULTS: Final = 5


def size_limit(max_bytes: int) -> str:
    """What a document over the limit counts as read by: another limit is another reader."""
    return f"bytes/{max_bytes}"


def readers(max_bytes: int) -> frozenset[str]:
    """What a document may have been read by, so that there is nobody who would read it otherwise."""
    return CURRENT | {FETCHER, size_limit(max_bytes)}


class Parser(Protocol):
    """Parses in a process that can be killed."""

    def parse(
        self, name: str, data: bytes, media_type: str | None, max_chars: int
    ) -> ParsedDocument | ParseFailure: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading needs besides the document."""

    parser: Parser
    profile: ChunkingProfile
    token_ends: TokenEnds | None
    max_bytes: int
    full: bool  # parse also what has the same bytes as last time


class Fetcher(Protocol):
    """The part of a connector that reading needs."""

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument: ...


def read_document(
    item: OpenItem, connector: Fetcher, held: Known | None, reading: Reading
) -> StagedDocument | NotedItem:
    """What the page stages or notes for one document. Raises only what is not its fault: `TransientError`, `SourceUnavailable`."""
    try:
        fetched = connector.fetch(change_of(item), max_bytes=reading.max_bytes)
    except DocumentGone:
        return NotedItem(ord=item.ord, status={"state": "gone"}, kind="delete")
    except DocumentTooLarge as error:
        return _failed(item, "too_large", str(error), parser=size_limit(reading.max_bytes))
    except DocumentDenied as error:
        return _failed(item, "denied", str(error), parser=FETCHER)
    except DocumentUnsupported as error:
        return _unsupported(item, str(error), held)
    except DocumentRefused as error:
        return _failed(item, "failed", str(error), parser=FETCHER)
    return _read(item, fetched, held, reading)


def _read(
    item: OpenItem, fetched: FetchedDocument, held: Known | None, reading: Reading
) -> StagedDocument | NotedItem:  # fmt: skip
    raw = hashlib.sha256(fetched.data)
    parser = parser_version(detect(fetched.name, fetched.data, fetched.media_type))
    read: dict[str, Any] = {
        "version": fetched.version,
        "raw_sha256": raw.hexdigest(),
        "parser": parser,
        "read_as": reading_hint(fetched.name, fetched.media_type),
        "bytes": len(fetched.data),
    }
    is_visible = held is not None and held.content_hash is not None
    is_same = held is not None and held.raw_sha256 == raw.digest() and held.parser == parser
    if held is not None and is_same and is_visible and not reading.full:
        return NotedItem(ord=item.ord, status={**read, **equal_to(held.seen_seq)})
    parsed = reading.parser.parse(fetched.name, fetched.data, fetched.media_type, MAX_CHARS)
    told: dict[str, Any] = {"state": parsed.state, "reason": parsed.reason}
    if isinstance(parsed, ParseFailure):
        if not (parsed.state == "no_text" and is_visible):
            return NotedItem(ord=item.ord, status={**read, **told, "chunks": 0})
        # What readers see is in the document no more. That is known, and no failure to read it.
        parsed = ParsedDocument(text="")
    title = fetched.title or parsed.title or _one_line(PurePosixPath(fetched.name).name) or None
    metadata, label = dict(fetched.metadata), sensitivity_level(fetched.sensitivity)
    content_hash = hash_content(
        title, metadata, parsed.text, uri=fetched.uri, sensitivity=label, lineage=fetched.lineage
    )
    if held is not None and held.content_hash == content_hash and not _is_cut_otherwise(held.parser, parser):
        told = _told(told, is_blank=not parsed.text.strip())
        return NotedItem(ord=item.ord, status={**read, **equal_to(held.seen_seq), **told})
    try:
        cuts = reading.profile.cut(
            parsed.text,
            source_id=item.source_id,
            markdown=parsed.is_markdown,
            headings=parsed.headings,
            page_starts=parsed.page_starts,
            token_ends=reading.token_ends,
        )
    except LimitError as error:
        return NotedItem(ord=item.ord, status={**read, "state": "too_large", "reason": str(error), "chunks": 0})
    return StagedDocument(
        ord=item.ord,
        content_hash=content_hash,
        title=title,
        uri=fetched.uri,
        metadata=metadata,
        sensitivity=label,
        lineage=fetched.lineage,
        locators=[{"page": number, "start": start} for number, start in enumerate(parsed.page_starts, start=1)],
        is_markdown=parsed.is_markdown,
        headings=None
        if parsed.headings is None
        else [(heading.start, heading.level, heading.title) for heading in parsed.headings],
        text=parsed.text,
        starts=[cut.start for cut in cuts],
        ends=[cut.end for cut in cuts],
        sha256=[hash_input(parsed.text[cut.start : cut.end]) for cut in cuts],
        cut_metadata=[cut.metadata for cut in cuts],
        status={**read, **_told(told, is_blank=not cuts), "chunks": len(cuts)},
    )


def _unsupported(item: OpenItem, reason: str, held: Known | None) -> StagedDocument | NotedItem:
    """It became something that has no text. What readers see is in the document no more: that is known, and no failure."""
    noted = _failed(item, "unsupported", reason, parser=FETCHER)
    if held is None or held.content_hash is None:
        return noted
    content_hash = hash_content(None, {}, "")
    if held.content_hash == content_hash:
        return NotedItem(ord=item.ord, status={**noted.status, **equal_to(held.seen_seq)})
    return StagedDocument(
        ord=item.ord,
        content_hash=content_hash,
        title=None,
        uri=None,
        metadata={},
        sensitivity=INTERNAL,
        lineage=(),
        locators=[],
        is_markdown=False,
        headings=None,
        text="",
        starts=[],
        ends=[],
        sha256=[],
        cut_metadata=[],
        status=noted.status,
    )


def change_of(item: OpenItem) -> Change:
    """The change that the connector listed."""
    return Change(
        kind=ChangeKind.UPSERT,
        source_id=item.source_id,
        locator=item.locator,
        version=item.version,
        path=item.path,
        label=item.label,
    )


def equal_to(seen_seq: int | None) -> dict[str, Any]:
    """What is noted of a document that is as readers see it, and of which reading that was: another may be shown by then."""
    return {"unchanged": True, "same_seq": seen_seq}


def _is_cut_otherwise(before: str | None, now: str) -> bool:
    """The same text was of another format, as when it is Markdown now: its passages are others."""
    kinds = {each.partition("/")[0] for each in (before, now) if each in CURRENT}
    return len(kinds - {"unsupported"}) == 2


def _told(told: dict[str, Any], *, is_blank: bool) -> dict[str, Any]:
    return {**told, "state": "empty"} if is_blank and told["state"] != "no_text" else told


def _failed(item: OpenItem, state: str, reason: str, *, parser: str) -> NotedItem:
    status = {"state": state, "reason": reason, "chunks": 0, "bytes": 0, "version": item.version, "parser": parser}
    return NotedItem(ord=item.ord, status=status)


def _one_line(name: str) -> str:
    """A file's name as a title: a name may hold line ends and control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in name).split())


def hash_content(
    title: str | None,
    metadata: Mapping[str, Any],
    text: str,
    *,
    uri: str | None = None,
    sensitivity: int = INTERNAL,
    lineage: Sequence[str] = (),
) -> bytes:
    """SHA-256 of all that a reader could see of a document, and of what decides whether he may."""
    whole: list[Any] = [title, sorted(metadata.items()), text]
    if uri is not None or lineage or sensitivity != INTERNAL:  # what has none of these is hashed as it always was
        whole += [uri, sensitivity, list(lineage)]
    return hashlib.sha256(json.dumps(whole, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()


def hash_input(text: str) -> bytes:
    """SHA-256 of the exact embedder input: equal inputs share a vector."""
    return hashlib.sha256(text.encode()).digest()
