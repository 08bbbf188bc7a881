"""Workbooks: every tab, row by row, with values as they are shown and cells separated.

Hidden tabs, rows and columns are read too: whoever may open the file may unhide them. Formulas are their last result.
"""

import re
from collections.abc import Mapping
from typing import Final

from activities.parsers.office.cell_values import Formats, Styles, shown
from activities.parsers.office.outline import CELL, Line, Outline, TooLong, collapse, listed
from activities.parsers.office.package import Damaged, Package, relation_id

_REFERENCE: Final = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{0,7})\Z")
# Between two cells of a row, more empty ones than this say nothing that these do not.
_EMPTY_MAX: Final = 8


def read_sheets(package: Package, part: str, outline: Outline) -> str | None:
    """Add the tabs' text to ``outline``; what could not be read, if anything, as a sentence."""
    book = _Book()
    package.visit(part, book)
    relations = package.relations(part)
    strings = _Strings(outline)
    for each in package.related(part, "sharedStrings")[:1]:
        package.visit(each, strings)
    formats = _formats(package, part, is_1904=book.is_1904)
    missing: list[int] = []
    for number, (name, sheet_id) in enumerate(book.sheets, start=1):
        relation = relations.get(sheet_id)
        if relation is not None and relation.kind not in ("worksheet", "chartsheet", "dialogsheet"):
            continue
        outline.announce(Line(name, level=1))
        try:
            if relation is None:
                raise Damaged
            package.visit(relation.part, _Sheet(outline, strings.strings, formats))
            _add_drawings(package, relation.part, outline)
        except Damaged:
            missing.append(number)
    return listed("Tab", missing)


def _formats(package: Package, part: str, *, is_1904: bool) -> Formats:
    styles = Styles()
    for each in package.related(part, "styles")[:1]:
        try:
            package.visit(each, styles)
        except Damaged:
            break  # dates stay numbers
    return styles.formats(is_1904=is_1904)


def _add_drawings(package: Package, sheet: str, outline: Outline) -> None:
    """Text boxes that lie on a tab."""
    for each in package.related(sheet, "drawing"):
        outline.part()
        package.visit(each, _Drawing(outline))


class _Book:
    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []
        self.is_1904 = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sheet":
            self.sheets.append((attributes.get("name", ""), relation_id(attributes) or ""))
        elif name == "workbookPr":
            self.is_1904 = attributes.get("date1904") in ("1", "true", "on")

    def data(self, text: str) -> None: ...

    def end(self, name: str) -> None: ...


class _Strings:
    """The table of texts that cells refer to by number. Guides to pronunciation are not part of a text."""

    def __init__(self, outline: Outline) -> None:
        self.strings: list[str] = []
        self._outline = outline
        self._pieces: list[str] = []
        self._phonetic = 0
        self._in_text = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "rPh":
            self._phonetic += 1
        elif name == "t":
            self._in_text = not self._phonetic

    def data(self, text: str) -> None:
        if self._in_text:
            self._outline.count(len(text))
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if name == "rPh":
            self._phonetic -= 1
        elif name == "t":
            self._in_text = False
        elif name == "si":
            self.strings.append("".join(self._pieces))
            self._pieces.clear()


class _Sheet:
    """The rows of a tab, each a line when it ends. A row without anything in it parts what is around it."""

    def __init__(self, outline: Outline, strings: list[str], formats: Formats) -> None:
        self._outline = outline
        self._strings = strings
        self._formats = formats
        self._row: dict[int, str] = {}
        self._row_chars = 0
        self._row_number = 0
        self._last_row = 0
        self._column = -1
        self._kind = "n"
        self._style = 0
        self._pieces: list[str] = []
        self._phonetic = 0
        self._in_value = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "row":
            written = attributes.get("r", "")
            self._row_number = int(written) if written.isdecimal() else self._row_number + 1
            self._column = -1
        elif name == "c":
            column = _column(attributes.get("r", ""))
            self._column = self._column + 1 if column is None else column
            self._kind = attributes.get("t", "n")
            style = attributes.get("s", "")
            self._style = int(style) if style.isdecimal() else 0
            self._pieces.clear()
        elif name == "rPh":
            self._phonetic += 1
        elif name == "v" or (name == "t" and not self._phonetic):
            self._in_value = True

    def data(self, text: str) -> None:
        if self._in_value:
            self._outline.count(len(text))
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._in_value = False
        elif name == "rPh":
            self._phonetic -= 1
        elif name == "c":
            self._end_cell()
        elif name == "row":
            self._end_row()

    def _end_cell(self) -> None:
        raw = "".join(self._pieces)
        if self._kind == "s":
            number = int(raw) if raw.strip().isdecimal() else -1
            raw = self._strings[number] if 0 <= number < len(self._strings) else ""
        elif self._kind in ("n", "b", "d"):
            raw = shown(raw.strip(), kind=self._kind, style=self._style, formats=self._formats)
        if text := " ".join(raw.split()):
            self._row[self._column] = text
            self._row_chars += len(text)
            if self._row_chars > self._outline.max_chars:  # one text, shown by a million cells
                raise TooLong

    def _end_row(self) -> None:
        if not self._row:
            return
        if self._row_number > self._last_row + 1:
            self._outline.part()
        self._last_row = self._row_number
        cells: list[str] = []
        following = min(self._row)  # what stands left of a table is no part of it
        for column in sorted(self._row):
            cells += [""] * min(column - following, _EMPTY_MAX)
            cells.append(self._row[column])
            following = column + 1
        self._row.clear()
        self._row_chars = 0
        self._outline.add(Line(CELL.join(cells)))


class _Drawing:
    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._pieces: list[str] = []
        self._in_text = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._outline.has_images = self._outline.has_images or name == "blip"
        self._in_text = name == "t"

    def data(self, text: str) -> None:
        if self._in_text:
            self._outline.count(len(text))
            self._pieces.append(text)

    def end(self, name: str) -> None:
        self._in_text = False
        if name == "p":
            self._outline.add(Line(collapse("".join(self._pieces))))
            self._pieces.clear()


def _column(reference: str) -> int | None:
    """The number of a cell's column from 0: ``AB7`` is in column 27."""
    found = _REFERENCE.match(reference)
    if not found:
        return None
    number = 0
    for letter in found[1].upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
