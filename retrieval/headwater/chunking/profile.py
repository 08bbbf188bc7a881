"""How the pipeline cuts documents: `chunk_text`'s passages, never longer than what the model reads.

The profile is part of a space: its `fingerprint` is stored with every build, and says how to cut the next document.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from headwater.chunking.boundaries import MARKDOWN, PLAIN, Separator, best_cut, spans, trimmed_end
from headwater.chunking.chunks import CHARS_CAP, CHUNKS_CAP, check_length, check_limit, check_profile, too_many_chunks
from headwater.chunking.headings import Heading, scan_headings, stacks_at
from headwater.embedders import Embedder, TokenCounter
from headwater.errors import LimitError, ValidationError

TokenEnds = Callable[[str], Sequence[int]]

_FINGERPRINT: Final = re.compile(r"chars/1 size=([0-9]{1,5}) overlap=([0-9]{1,4}) tokens=(any|[0-9]{1,5})\Z")


@dataclass(frozen=True, slots=True)
class Cut:
    """A passage: ``text[start:end]``, with ``heading`` (outermost first) and ``page`` (from 1) where they are known."""

    start: int
    end: int
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChunkingProfile:
    """The sizes of passages: ``size`` and ``overlap`` in characters, ``max_tokens`` without the special tokens."""

    size: int = 1000
    overlap: int = 100
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        check_profile(self.size, self.overlap)
        if self.max_tokens is not None:
            check_limit("max_tokens", self.max_tokens, low=1, high=99_999)

    @classmethod
    def for_embedder(cls, embedder: Embedder, *, size: int = 1000, overlap: int = 100) -> "ChunkingProfile":
        """The profile whose passages ``embedder`` reads whole."""
        if not isinstance(embedder, TokenCounter):
            return cls(size, overlap)
        return cls(size, overlap, embedder.max_tokens - embedder.special_tokens)

    @classmethod
    def from_fingerprint(cls, fingerprint: str) -> "ChunkingProfile":
        """The profile that has this `fingerprint`."""
        known = _FINGERPRINT.match(fingerprint)
        if known is None:
            raise ValidationError(
                f"Chunker {fingerprint[:80]!r} is not known to this version: use the version that built the corpus."
            )
        size, overlap, tokens = known.groups()
        return cls(int(size), int(overlap), None if tokens == "any" else int(tokens))

    @property
    def fingerprint(self) -> str:
        """All that decides the cuts, as one line. Equal fingerprints cut equal texts equally."""
        tokens = "any" if self.max_tokens is None else self.max_tokens
        return f"chars/1 size={self.size} overlap={self.overlap} tokens={tokens}"

    def cut(
        self,
        text: str,
        *,
        source_id: str,
        markdown: bool,
        headings: Sequence[Heading] | None,
        page_starts: Sequence[int],
        token_ends: TokenEnds | None,
    ) -> list[Cut]:
        """The passages of a document. A `LimitError` names ``source_id``.

        ``headings`` are those the parser found, in order; with ``None`` a Markdown text is searched for them.
        ``page_starts`` are the offsets of the pages, ``token_ends`` the embedder's, needed if tokens are limited.
        """
        check_length(text, source_id, CHARS_CAP)
        separators = MARKDOWN if markdown else PLAIN
        found = spans(text, size=self.size, overlap=self.overlap, separators=separators)
        if self.max_tokens is not None:
            if token_ends is None:
                raise ValidationError(f"Chunker {self.fingerprint!r} needs the token ends of its embedder.")
            found = _readable(text, found, separators, self.max_tokens, token_ends)
        kept = list(islice(found, CHUNKS_CAP + 1))
        if len(kept) > CHUNKS_CAP:
            raise too_many_chunks(source_id, CHUNKS_CAP)
        if headings is not None:
            stacks = stacks_at(headings, [start for start, _ in kept])
        else:
            stacks = stacks_at(scan_headings(text) if markdown else (), [start for start, _ in kept])
        return [
            Cut(start, end, _metadata(start, stack, page_starts))
            for (start, end), stack in zip(kept, stacks, strict=True)
        ]


def _metadata(start: int, stack: list[str], page_starts: Sequence[int]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    if stack:
        metadata["heading"] = stack
    if page_starts:
        metadata["page"] = max(1, bisect_right(page_starts, start))
    return metadata


def _readable(
    text: str,
    found: Iterator[tuple[int, int]],
    separators: Sequence[Separator],
    max_tokens: int,
    token_ends: TokenEnds,
) -> Iterator[tuple[int, int]]:
    """The same passages, those of more than ``max_tokens`` in pieces; between pieces only whitespace is left out."""
    for start, end in found:
        while len(ends := token_ends(text[start:end])) > max_tokens:
            counted_from, passed = start, 0
            # The tokens of the whole serve for all its pieces: counting the rest anew after each would be quadratic.
            while len(ends) - passed > max_tokens:
                ceiling = counted_from + ends[passed + max_tokens - 1]
                cut = _last_fit(text, start, ceiling, separators, max_tokens, token_ends)
                yield start, trimmed_end(text, start, cut)
                start = end - len(text[cut:end].lstrip())
                passed = bisect_right(ends, start - counted_from)
        yield start, end


def _last_fit(
    text: str,
    start: int,
    ceiling: int,
    separators: Sequence[Separator],
    max_tokens: int,
    token_ends: TokenEnds,
) -> int:
    """The last good cut after ``start`` whose piece has at most ``max_tokens`` tokens."""
    ceiling = max(ceiling, start + 1)
    while True:
        cut = best_cut(text, start, ceiling, separators)
        if cut is None:
            cut = max((at for sep in separators if (at := sep.last_cut(text, start + 1, ceiling))), default=ceiling)
        end = trimmed_end(text, start, cut)
        # A piece that begins or ends inside a word can have other tokens, and more, than the same characters had in the whole.
        ends = token_ends(text[start:end])
        if len(ends) <= max_tokens:
            return cut
        if end - start == 1:
            raise LimitError(f"One character has {len(ends):,} tokens, and the model reads {max_tokens:,} at a time.")
        ceiling = max(start + 1, min(end - 1, start + ends[max_tokens - 1]))
