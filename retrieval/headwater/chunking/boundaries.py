"""Where a text may be cut: the loop behind every chunker, on offsets alone.

All offsets are code points. A span never starts or ends with whitespace, so ``text[start:end]`` is the passage.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_VISIBLE: Final = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Separator:
    """A place to cut: after ``mark``, or before it where ``mark`` opens what follows."""

    mark: str
    cuts_before: bool = False

    def last_cut(self, text: str, low: int, high: int) -> int | None:
        """The cut at the last ``mark`` that starts in ``[low, high]``."""
        # A mark may start at `high` itself: that is why the search ends behind it. The passage is trimmed afterwards
        # and so stays within `high`.
        at = text.rfind(self.mark, low, high + len(self.mark))
        if at < 0:
            return None
        return at if self.cuts_before else at + len(self.mark)


PLAIN: Final = (Separator("\n\n"), Separator("\n"), Separator(" "))
MARKDOWN: Final = (Separator("\n#", cuts_before=True), *PLAIN)


def spans(text: str, *, size: int, overlap: int, separators: Sequence[Separator]) -> Iterator[tuple[int, int]]:
    """The passages of at most ``size`` characters that cover ``text``, in order."""
    start = next_visible(text, 0)
    while start is not None:
        ceiling = start + size
        cut = len(text) if ceiling >= len(text) else best_cut(text, start, ceiling, separators)
        if cut is None:
            cut = ceiling
        yield start, trimmed_end(text, start, cut)
        if cut >= len(text):
            return
        start = next_visible(text, max(start + 1, cut - overlap))


def best_cut(text: str, start: int, ceiling: int, separators: Sequence[Separator]) -> int | None:
    """The cut at the strongest separator of the window's second half; ``None`` if there is no separator in it."""
    half_way = start + (ceiling - start + 1) // 2
    for separator in separators:
        cut = separator.last_cut(text, half_way, ceiling)
        if cut is not None:
            return cut
    return None


def next_visible(text: str, position: int) -> int | None:
    """The offset of the first character from ``position`` on that is not whitespace."""
    found = _VISIBLE.search(text, position)
    return None if found is None else found.start()


def trimmed_end(text: str, start: int, cut: int) -> int:
    """Where ``text[start:cut]`` ends without its trailing whitespace."""
    return start + len(text[start:cut].rstrip())
