"""Word documents: the body in order, with headings, tables, text boxes, headers, footers and notes.

Left out, as nobody reads it on the page: what a tracked change deleted, text marked as hidden, codes of fields. So are
guides to pronunciation, and comments, which are talk about the document.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from activities.parsers.office.outline import CELL, Line, Outline, collapse, in_cell
from activities.parsers.office.package import Damaged, Package, attribute

_HEADING: Final = re.compile(r"heading ([1-6])\Z", re.IGNORECASE)
_SKIPPED: Final = frozenset({"del", "moveFrom", "rt"})  # rt: the reading of a word, which would split it
_OFF: Final = frozenset({"0", "false", "off", "none"})
_BREAKS: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# A row whose cells are longer than this lays out a page; its cells are not values in a table.
_LAYOUT_CHARS: Final = 1_000
_CHAIN_MAX: Final = 16


def read_word(package: Package, part: str, outline: Outline) -> str | None:
    """Add the document's text to ``outline``; what could not be read, if anything, as a sentence."""
    missing: list[str] = []
    levels = _style_levels(package, part)
    seen: set[str] = set()
    # Headers come first, where no heading is in force; a document has up to three of each, often alike.
    for kinds in (("header",), (None,), ("footer",), ("footnotes", "endnotes")):
        for kind in kinds:
            for each in [part] if kind is None else package.related(part, kind):
                body = _Body(levels, outline, seen=seen if kind in ("header", "footer") else None)
                outline.part()
                try:
                    package.visit(each, body)
                except Damaged:
                    if kind is None:
                        raise
                    missing.append(kind)
    return f"Some of its {' and '.join(dict.fromkeys(missing))} cannot be read." if missing else None


def _style_levels(package: Package, part: str) -> dict[str, int]:
    """The heading levels of paragraph styles, by style id. Without styles a document has no headings."""
    levels: dict[str, int] = {}
    for each in package.related(part, "styles")[:1]:
        styles = _Styles()
        try:
            package.visit(each, styles)
        except Damaged:
            return {}
        levels = styles.levels()
    return levels


@dataclass(slots=True)
class _Style:
    level: int | None = None
    parent: str | None = None


class _Styles:
    """Names of built-in styles are the same in every language, ids and names of others are anything."""

    def __init__(self) -> None:
        self._styles: dict[str, _Style] = {}
        self._open: _Style | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        value = attribute(attributes, "val") or ""
        if name == "style":
            self._open = self._styles[attribute(attributes, "styleId") or ""] = _Style()
        elif self._open is None:
            return
        elif name == "name" and self._open.level is None:
            heading = _HEADING.match(value)
            self._open.level = int(heading[1]) if heading else 1 if value.lower() == "title" else None
        elif name == "basedOn":
            self._open.parent = value
        elif name == "outlineLvl":
            self._open.level = _outline_level(value)

    def data(self, text: str) -> None: ...

    def end(self, name: str) -> None:
        if name == "style":
            self._open = None

    def levels(self) -> dict[str, int]:
        return {style_id: self._level(style) for style_id, style in self._styles.items()}

    def _level(self, style: _Style) -> int:
        for _ in range(_CHAIN_MAX):
            if style.level is not None:
                return style.level
            parent = self._styles.get(style.parent or "")
            if parent is None:
                break
            style = parent
        return 0


def _outline_level(value: str) -> int:
    """Levels count from 0; 9 is body text, and 6 to 8 are deeper than headings here go."""
    return int(value) + 1 if value.isdecimal() and int(value) < 6 else 0


@dataclass(slots=True)
class _Paragraph:
    pieces: list[str] = field(default_factory=list)
    level: int = 0
    is_item: bool = False
    after: list[Line] = field(default_factory=list)  # text boxes that are anchored in it


@dataclass(slots=True)
class _Cell:
    lines: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class _Row:
    cells: list[list[Line]] = field(default_factory=list)


class _Body:
    """Paragraphs may hold text boxes that hold paragraphs, and cells tables: each line goes to what encloses it."""

    def __init__(self, levels: Mapping[str, int], outline: Outline, *, seen: set[str] | None) -> None:
        self._levels = levels
        self._outline = outline
        self._seen = seen  # lines that need not be told again
        self._open: list[_Paragraph | _Cell | _Row] = []
        self._hidden: list[bool] = []  # for each open run
        self._had_choice: list[bool] = []  # for each open alternative
        self._skipped = 0
        self._in_text = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._skipped:
            self._skipped += 1
        elif name in _SKIPPED or name.endswith("PrChange") or (name == "Fallback" and any(self._had_choice[-1:])):
            self._skipped = 1
        elif name == "p":
            self._open.append(_Paragraph())
        elif name == "tr":
            self._open.append(_Row())
        elif name == "tc":
            self._open.append(_Cell())
        elif name == "r":
            self._hidden.append(False)
        elif name == "AlternateContent":
            self._had_choice.append(False)
        elif name == "Choice" and self._had_choice:
            self._had_choice[-1] = True
        else:
            self._detail(name, attributes)

    def _detail(self, name: str, attributes: Mapping[str, str]) -> None:
        if name in ("blip", "imagedata"):
            self._outline.has_images = True
        paragraph = self._open[-1] if self._open else None
        if not isinstance(paragraph, _Paragraph):
            return
        if name == "t":
            self._in_text = not any(self._hidden[-1:])
        elif name in _BREAKS and self._hidden and not self._hidden[-1]:
            paragraph.pieces.append(_BREAKS[name])
        elif name == "vanish" and self._hidden:
            self._hidden[-1] = (attribute(attributes, "val") or "on") not in _OFF
        elif name == "pStyle":
            paragraph.level = self._levels.get(attribute(attributes, "val") or "", 0)
        elif name == "outlineLvl":
            paragraph.level = _outline_level(attribute(attributes, "val") or "")
        elif name == "numPr":
            paragraph.is_item = True

    def data(self, text: str) -> None:
        if self._in_text and not self._skipped and isinstance(self._open[-1], _Paragraph):
            self._outline.count(len(text))
            self._open[-1].pieces.append(text)

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name == "t":
            self._in_text = False
        elif name == "r":
            self._hidden.pop()
        elif name == "AlternateContent":
            self._had_choice.pop()
        elif name in ("p", "tr", "tc"):
            self._close(self._open.pop())

    def _close(self, closed: "_Paragraph | _Cell | _Row") -> None:
        match closed:
            case _Paragraph():
                text = collapse("".join(closed.pieces))
                own = Line(text, level=closed.level, is_apart=not closed.is_item)
                self._deliver([own, *closed.after] if text else closed.after)
            case _Cell():
                row = self._open[-1] if self._open else None
                if isinstance(row, _Row):
                    row.cells.append(closed.lines)
            case _Row():
                self._deliver(_row_lines(closed.cells))

    def _deliver(self, lines: list[Line]) -> None:
        enclosing = next((each for each in reversed(self._open) if not isinstance(each, _Row)), None)
        match enclosing:
            case _Paragraph():
                enclosing.after += lines
            case _Cell():
                enclosing.lines += lines
            case None:
                for line in lines:
                    self._add(line)

    def _add(self, line: Line) -> None:
        if self._seen is not None:
            if line.text in self._seen:
                return
            self._seen.add(line.text)
        self._outline.add(line)


def _row_lines(cells: list[list[Line]]) -> list[Line]:
    """A table's row as one line; where cells lay out a page, what they hold one after the other."""
    texts = [in_cell(lines) for lines in cells]
    if len(cells) == 1 or any(len(text) > _LAYOUT_CHARS for text in texts):
        return [line for lines in cells for line in lines]
    return [Line(CELL.join(texts))] if any(texts) else []
