"""A stored text, cut as a sync would cut it: a re-index and a page that is staged again need nothing of its origin."""

from typing import Any

from activities.read_document import hash_input
from activities.store.builds.green import NotCut, StagedCut, StoredText
from headwater.chunking.headings import Heading
from headwater.chunking.profile import ChunkingProfile, TokenEnds
from headwater.errors import LimitError

GONE: dict[str, Any] = {"state": "gone"}


def cut_stored(
    stored: StoredText | None, number: int, profile: ChunkingProfile, token_ends: TokenEnds | None
) -> StagedCut | NotCut:
    """The passages of line ``number`` of a page; or why there are none: it is gone, or gives more than a document may have."""
    if stored is None or stored.rev_id is None:
        return NotCut(number, GONE)
    headings = stored.headings
    try:
        cuts = profile.cut(
            stored.text,
            source_id=stored.source_id,
            markdown=stored.is_markdown,
            headings=None if headings is None else [Heading(start, level, title) for start, level, title in headings],
            page_starts=[place["start"] for place in stored.locators if "page" in place],
            token_ends=token_ends,
        )
    except LimitError as error:
        return NotCut(number, {"state": "too_large", "reason": str(error), "chunks": 0})
    return StagedCut(
        ord=number,
        from_rev=stored.rev_id,
        starts=[cut.start for cut in cuts],
        ends=[cut.end for cut in cuts],
        sha256=[hash_input(stored.text[cut.start : cut.end]) for cut in cuts],
        metadata=[cut.metadata for cut in cuts],
    )
