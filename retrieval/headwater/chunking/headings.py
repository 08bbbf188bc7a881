"""Which headings a passage stands under."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# A line of a megabyte that starts with "# " would otherwise be copied into the metadata of every chunk below it.
TITLE_MAX: Final = 256

# Markdown lines that matter: a heading, or a code fence (which may open right behind a list marker).
_LINE: Final = re.compile(
    r"^(?P<indent> *)(?:"
    r"(?P<hashes>#{1,6})(?![^ \t\r\n])(?P<title>[^\n]*)"
    r"|(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]{1,4})?(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)"
    r")",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at offset ``start``; ``level`` 1 is the outermost. An empty ``title`` ends sections and names none."""

    start: int
    level: int
    title: str


def atx_headings(text: str) -> list[Heading]:
    """The ``# headings`` of a Markdown text, in order; those inside fenced code are none."""
    return list(scan_headings(text))


def scan_headings(text: str) -> Iterator[Heading]:
    """The same one by one: a large text of nothing but headings then needs no memory for them."""
    fence, deepest_indent = "", 3
    for line in _LINE.finditer(text):
        mark, info = line["fence"], line["info"]
        indent = len(line["indent"])
        if fence:
            closes = mark and mark[0] == fence[0] and len(mark) >= len(fence) and not info.strip()
            if closes and indent <= deepest_indent:
                fence = ""
        elif indent > 3:
            continue  # indented code, or deep inside a list
        elif line["hashes"]:
            yield Heading(line.start("hashes"), len(line["hashes"]), _title(line["title"]))
        elif mark[0] == "~" or "`" not in info:
            # A fence in a list item closes at the item's indentation, which may be more than the usual three spaces.
            fence, deepest_indent = mark, line.start("fence") - line.start() + 3


def stacks_at(headings: Iterable[Heading], starts: Sequence[int]) -> list[list[str]]:
    """For each offset of ``starts`` the titles in force there, outermost first. ``headings`` come in order."""
    stacks: list[list[str]] = [[] for _ in starts]
    coming = iter(headings)
    following = next(coming, None)
    open_headings: list[Heading] = []
    # Pieces of a chunk that was too long for the model can start behind the chunk that follows it, hence the sorting.
    for number in sorted(range(len(starts)), key=starts.__getitem__):
        while following is not None and following.start <= starts[number]:
            while open_headings and open_headings[-1].level >= following.level:
                open_headings.pop()
            open_headings.append(following)
            following = next(coming, None)
        stacks[number] = [heading.title for heading in open_headings if heading.title]
    return stacks


def _title(rest: str) -> str:
    title = rest.strip()
    unclosed = title.rstrip("#")
    if unclosed == "" or unclosed[-1] in " \t":
        title = unclosed.rstrip()
    return title if len(title) <= TITLE_MAX else title[: TITLE_MAX - 1].rstrip() + "…"
