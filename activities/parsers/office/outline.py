"""The text of an office document as it grows, line by line, with the offsets of its headings."""

import re
from dataclasses import dataclass
from typing import Final

from activities.parsers.normalise import normalise

CELL: Final = " | "  # between cells: their texts must not run into each other
_NAMED_MAX: Final = 20
_SPACES: Final = re.compile("[ \t\xa0]+")


class TooLong(Exception):
    """The text has more characters than it may have."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or a paragraph with forced line ends. ``level`` is 1 to 6 for a heading, ``is_apart`` for a paragraph."""

    text: str
    level: int = 0
    is_apart: bool = False


class Outline:
    """Finished lines. Offsets are those of the final text, since every line is normalised when it is added."""

    def __init__(self, max_chars: int) -> None:
        self.max_chars = max_chars
        self.headings: list[tuple[int, int, int]] = []
        self.length = 0
        self.has_images = False
        self._parts: list[str] = []
        self._raw_left = 2 * max_chars  # what is collected before it is a line may hold spaces that go
        self._is_apart = False
        self._announced: Line | None = None

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def count(self, chars: int) -> None:
        """Say that so many characters were collected: a row or a shape must not grow without end before it is added."""
        self._raw_left -= chars
        if self._raw_left < 0:
            raise TooLong

    def add(self, line: Line) -> None:
        """Add a line; one without a visible character is left out."""
        text = normalise(line.text).strip()
        if not text:
            return
        announced, self._announced = self._announced, None
        if announced is not None:
            self.add(announced)
        if line.level:
            text = " ".join(text.split())
        gap = 0 if not self._parts else 2 if self._is_apart or line.is_apart or line.level else 1
        start = self.length + gap
        self.length = start + len(text)
        if self.length > self.max_chars:
            raise TooLong
        if line.level:
            self.headings.append((start, self.length, line.level))
        self._parts += ["\n" * gap, text]
        self._is_apart = line.is_apart or bool(line.level)

    def announce(self, heading: Line) -> None:
        """Add ``heading`` as soon as something follows it: a tab without a cell is not worth its name."""
        self.part()
        self._announced = heading

    def part(self) -> int:
        """Set what follows apart by a blank line; the offset where it will begin."""
        self._is_apart = True
        return self.length + 2 if self._parts else 0


def collapse(text: str) -> str:
    """``text`` with runs of spaces as one, its line ends kept."""
    return "\n".join(_SPACES.sub(" ", line).strip() for line in text.split("\n")).strip()


def listed(what: str, numbers: list[int]) -> str | None:
    """``Slides 2, 3: unreadable.``; ``None`` without numbers. Only the first ones are named."""
    if not numbers:
        return None
    more = f" and {len(numbers) - _NAMED_MAX} more" if len(numbers) > _NAMED_MAX else ""
    named = ", ".join(map(str, numbers[:_NAMED_MAX]))
    return f"{what}{'s' if len(numbers) > 1 else ''} {named}{more}: unreadable."


def in_cell(lines: list[Line]) -> str:
    """The lines of a table's cell as one."""
    return " ".join(" ".join(line.text.split()) for line in lines if line.text.strip())
