"""Word documents, workbooks and presentations, read from their XML.

Read directly, not through python-docx, openpyxl and python-pptx: the first knows no text boxes, content controls, headers
or notes unless one walks the XML anyway, the second rejects workbooks that other programs wrote a little differently, and
all of them unpack first and ask later.
"""

from typing import Final

from activities.parsers import Extraction, ParseFailure
from activities.parsers.normalise import one_line
from activities.parsers.office.outline import Outline, TooLong
from activities.parsers.office.package import UNPACKED_MAX, Damaged, Encrypted, Package, TooMuch
from activities.parsers.office.sheets import read_sheets
from activities.parsers.office.slides import read_slides
from activities.parsers.office.word import read_word

_COMPOUND: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def parse(data: bytes, *, max_chars: int) -> Extraction | ParseFailure:
    """The text of an office file of the kinds .docx, .xlsx and .pptx, whatever it is called."""
    if data.startswith(_COMPOUND):
        return ParseFailure("encrypted", "It is encrypted and needs a password. Save it without one.")
    outline = Outline(max_chars)
    try:
        return _read(Package(data), outline)
    except Encrypted:
        return ParseFailure("encrypted", "It is encrypted and needs a password. Save it without one.")
    except TooLong:
        return ParseFailure("too_large", f"It has more than {max_chars:,} characters of text.")
    except TooMuch:
        return ParseFailure("too_large", f"It unpacks to more than {UNPACKED_MAX >> 20} MiB.")
    except Damaged as error:
        return ParseFailure("failed", f"It is damaged: {error}.")


def _read(package: Package, outline: Outline) -> Extraction | ParseFailure:
    main = package.related("", "officeDocument")
    if not main:
        return ParseFailure("unsupported", "It is a ZIP archive that is no office document, which no parser reads.")
    starts: list[int] = []
    kind = _kind(package.content_type(main[0]))
    match kind:
        case "word":
            missing = read_word(package, main[0], outline)
        case "sheets":
            missing = read_sheets(package, main[0], outline)
        case "slides":
            starts, missing = read_slides(package, main[0], outline)
        case _:
            return ParseFailure("unsupported", "It is an office document of a kind that no parser reads.")
    if not outline.length:
        if missing:
            return ParseFailure("failed", f"None of its text can be read. {missing}")
        if outline.has_images:
            return ParseFailure("no_text", "It holds images without text.")
    return Extraction(
        outline.text,
        title=_title(package) or (None if kind == "sheets" else _first_heading(outline)),
        is_markdown=True,
        headings=outline.headings,
        page_starts=starts,
        missing=missing,
    )


def _kind(content_type: str) -> str:
    """By what the file says of its main part. Binary workbooks (.xlsb) hold no XML."""
    declared = content_type.lower()
    if not declared.endswith("+xml"):
        return ""
    for kind, names in _KINDS.items():
        if any(name in declared for name in names):
            return kind
    return ""


_KINDS: Final = {
    "word": ("wordprocessingml", "ms-word."),
    "sheets": ("spreadsheetml", "ms-excel."),
    "slides": ("presentationml", "ms-powerpoint."),
}


class _Properties:
    def __init__(self) -> None:
        self.title: list[str] = []
        self._in_title = False

    def start(self, name: str, attributes: object) -> None:
        self._in_title = name == "title"

    def data(self, text: str) -> None:
        if self._in_title:
            self.title.append(text)

    def end(self, name: str) -> None:
        self._in_title = False


def _title(package: Package) -> str | None:
    properties = _Properties()
    try:
        for part in package.related("", "core-properties")[:1]:
            package.visit(part, properties)
    except (Damaged, TooMuch):
        return None
    title = one_line("".join(properties.title))
    return None if title is None or title.lower() in _NO_TITLES else title


# What programs put where a title should be.
_NO_TITLES: Final = frozenset(("untitled", "presentation", "powerpoint presentation", "word document", "document1"))


def _first_heading(outline: Outline) -> str | None:
    """A tab's name would say nothing, but the first heading of a document and the title of the first slide do."""
    first = next((heading for heading in outline.headings if heading[2] == 1), None)
    return one_line(outline.text[first[0] : first[1]]) if first else None
