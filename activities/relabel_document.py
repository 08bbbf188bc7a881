"""A document under another name or in another place: its bytes are the ones that were read, so nothing is fetched.

The stored text is staged anew with what is shown of it now, as a reading of its own: it is ordered, fenced, published and
rolled back like any other. It is cut as it was, so every passage finds the vector that was made for it.
"""

from collections.abc import Callable
from typing import Any

from activities.cut_stored import cut_stored
from activities.parsers.sniff import reading_hint
from activities.plan import is_failed
from activities.read_document import Reading, change_of, equal_to, hash_content
from activities.store.builds.green import NotCut, StoredText
from activities.store.pages.listing import Known
from activities.store.pages.relabel import ShownText
from activities.store.pages.staging import NotedItem, OpenItem, StagedDocument
from headwater.connectors import Describer, Description, DocumentGone, DocumentRefused, DocumentTooLarge


def relabel_document(
    item: OpenItem, connector: Describer, held: Known, reading: Reading, find: Callable[[Known], ShownText | None]
) -> StagedDocument | NotedItem | None:
    """What the page stages or notes for one document; ``None``: it must be read after all.

    ``find`` looks up what readers see of it. Raises what `read_document` raises.
    """
    try:
        described = connector.describe(change_of(item))
    except (DocumentGone, DocumentRefused, DocumentTooLarge):
        return None  # fetching it says the same, and what follows from that
    forms = (described.name, described.media_type), *described.forms
    hints = {reading_hint(name, media_type) for name, media_type in forms}
    if is_failed(held):
        # What was refused before its bytes came has no hint: only another version can help it.
        return _failed_still(item, held) if held.read_as is None or held.read_as in hints else None
    if held.read_as not in hints or described.title is None:
        return None
    shown = find(held)
    return None if shown is None else _stage(item, described, held, shown, reading)


def _stage(
    item: OpenItem, described: Description, held: Known, shown: ShownText, reading: Reading
) -> StagedDocument | NotedItem | None:
    read: dict[str, Any] = {
        "version": item.version,
        "raw_sha256": None if held.raw_sha256 is None else held.raw_sha256.hex(),
        "parser": held.parser,
        "read_as": held.read_as,
    }
    metadata = dict(described.metadata)
    content_hash = hash_content(
        described.title,
        metadata,
        shown.text,
        uri=described.uri,
        sensitivity=shown.sensitivity,
        lineage=shown.lineage,
    )
    if content_hash == shown.content_hash:
        return NotedItem(ord=item.ord, status={**read, **equal_to(shown.seen_seq)})
    stored = StoredText(
        source_id=item.source_id,
        text=shown.text,
        locators=shown.locators,
        is_markdown=shown.is_markdown,
        headings=shown.headings,
        rev_id=shown.rev_id,
    )
    cut = cut_stored(stored, item.ord, reading.profile, reading.token_ends)
    if isinstance(cut, NotCut):
        return None
    return StagedDocument(
        ord=item.ord,
        content_hash=content_hash,
        title=described.title,
        uri=described.uri,
        metadata=metadata,
        sensitivity=shown.sensitivity,
        lineage=shown.lineage,
        locators=shown.locators,
        is_markdown=shown.is_markdown,
        headings=shown.headings,
        text=shown.text,
        starts=cut.starts,
        ends=cut.ends,
        sha256=cut.sha256,
        cut_metadata=cut.metadata,
        status={**read, "chunks": len(cut.starts)},
    )


def _failed_still(item: OpenItem, held: Known) -> NotedItem:
    """No name makes it readable. An older text of it that readers see keeps the name that it was read under."""
    status = {
        "state": held.state,
        "reason": held.reason,
        "chunks": 0,
        "version": item.version,
        "parser": held.parser,
        "read_as": held.read_as,
    }
    return NotedItem(ord=item.ord, status=status)
