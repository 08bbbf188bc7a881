"""Presentations: slide by slide, the title first, then the rest of the slide, its diagrams and charts, and its notes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from activities.parsers.office.outline import CELL, Line, Outline, collapse, in_cell, listed
from activities.parsers.office.package import Damaged, Package, relation_id

_TITLES: Final = frozenset({"title", "ctrTitle"})
# Placeholders that hold a number, a date, or the picture of the slide on the notes page.
_NO_CONTENT: Final = frozenset({"sldNum", "dt", "sldImg", "hdr"})
_DRAWN: Final = ("diagramData", "chart", "chartEx")


def read_slides(package: Package, part: str, outline: Outline) -> tuple[list[int], str | None]:
    """Add the slides' text to ``outline``: where each begins, and what could not be read, if anything."""
    order = _Order()
    package.visit(part, order)
    relations = package.relations(part)
    starts: list[int] = []
    missing: list[int] = []
    for number, each in enumerate(order.slides, start=1):
        starts.append(outline.part())
        relation = relations.get(each)
        try:
            if relation is None:
                raise Damaged
            _add_slide(package, relation.part, outline)
        except Damaged:
            missing.append(number)
    end = outline.length  # slides behind the last text have nowhere to begin but at its end
    return [min(start, end) for start in starts], listed("Slide", missing)


def _add_slide(package: Package, part: str, outline: Outline) -> None:
    shapes = _Shapes(outline)
    try:
        package.visit(part, shapes)
        for kind in _DRAWN:
            for each in package.related(part, kind):
                drawn = _Shapes(outline)
                package.visit(each, drawn)
                shapes.lines += drawn.lines
        for each in package.related(part, "notesSlide"):
            notes = _Shapes(outline)
            package.visit(each, notes)
            shapes.lines += [[Line(line.text) for line in lines] for lines in (*notes.titles, *notes.lines)]
    finally:  # what was read before the damage is kept
        for lines in (*shapes.titles, *shapes.lines):
            outline.part()
            for line in lines:
                outline.add(line)


class _Order:
    """The relation ids of the slides, in their order. Hidden ones are among them: they are no secret in the file."""

    def __init__(self) -> None:
        self.slides: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sldId" and (slide := relation_id(attributes)):
            self.slides.append(slide)

    def data(self, text: str) -> None: ...

    def end(self, name: str) -> None: ...


@dataclass(slots=True)
class _Shape:
    lines: list[Line] = field(default_factory=list)
    placeholder: str = ""


class _Shapes:
    """The paragraphs of a slide, a notes page, a diagram or a chart, shape by shape."""

    def __init__(self, outline: Outline) -> None:
        self.titles: list[list[Line]] = []
        self.lines: list[list[Line]] = []
        self._outline = outline
        self._shape: _Shape | None = None
        self._pieces: list[str] | None = None
        self._cells: list[str] = []
        self._cell: list[Line] | None = None
        self._skipped = 0
        self._in_text = False
        self._in_cache = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._skipped:
            self._skipped += 1
        elif name == "Fallback":
            self._skipped = 1
        elif name in ("sp", "graphicFrame", "pt"):
            self._shape = _Shape()
        elif name == "ph" and self._shape is not None:
            self._shape.placeholder = attributes.get("type", "")
        elif name == "p":
            self._pieces = []
        elif name == "tr":
            self._cells = []
        elif name == "tc":
            self._cell = []
        elif name == "blip":
            self._outline.has_images = True
        elif name == "strCache":
            self._in_cache = True
        elif name == "v" and self._in_cache:
            self._pieces, self._in_text = [], True
        elif self._pieces is not None:
            self._in_text = name == "t"
            if name == "br":
                self._pieces.append("\n")

    def data(self, text: str) -> None:
        if self._in_text and self._pieces is not None and not self._skipped:
            self._outline.count(len(text))
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name in ("t", "v"):
            self._in_text = False
        if name in ("p", "v") and self._pieces is not None and not self._skipped:
            self._add(Line(collapse("".join(self._pieces))))
            self._pieces = None
        elif name == "tc" and self._cell is not None:
            self._cells.append(in_cell(self._cell))
            self._cell = None
        elif name == "tr":
            if any(self._cells):
                self._add(Line(CELL.join(self._cells)))
            self._cells = []
        elif name == "strCache":
            self._in_cache = False
        elif name in ("sp", "graphicFrame", "pt"):
            self._close()

    def _add(self, line: Line) -> None:
        if self._cell is not None:
            self._cell.append(line)
        elif self._shape is not None:
            self._shape.lines.append(line)
        else:
            self.lines.append([line])

    def _close(self) -> None:
        shape, self._shape = self._shape, None
        if shape is None or shape.placeholder in _NO_CONTENT:
            return
        if shape.placeholder in _TITLES:
            self.titles.append([Line(line.text, level=1) for line in shape.lines])
        else:
            self.lines.append(shape.lines)
