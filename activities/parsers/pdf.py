"""PDF through pypdf: the text of every page that can be read, and plain words for what cannot.

pypdf raises anything on a damaged file, from `KeyError` to `RecursionError`. That costs the page, or the document if
nothing can be opened; only a lack of memory goes on to the process around it.
"""

import logging
from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import groupby
from types import TracebackType
from typing import Any, Final, Self

from pypdf import PageObject, PasswordType, PdfReader

from activities.parsers import Extraction, ParseFailure
from activities.parsers.normalise import normalise, one_line

# Typesetters' ligatures, which nobody types when searching.
_LIGATURES: Final = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
# Encodings of composite fonts whose codes pypdf turns into characters by itself, without the font's /ToUnicode.
_KNOWN_ENCODINGS: Final = ("/Uni", "/GB-EUC", "/GBpc-EUC", "/GBK-EUC", "/GBK2K", "/ETen-B5", "/ETenms-B5", "/90ms-RKSJ")
_UNREADABLE: Final = "unreadable"
_UNPACKING_LOG: Final = logging.getLogger("pypdf.filters")
# What programs put where a title should be.
_NO_TITLES: Final = frozenset(("untitled", "anonymous", "(anonymous)", "untitled document"))


def parse(data: bytes, *, max_chars: int) -> Extraction | ParseFailure:
    """The text of the pages, a blank line between them. Without any it is a failure that says why."""
    if not data:
        return ParseFailure("failed", "It is an empty file, not a PDF.")
    try:
        reader = PdfReader(BytesIO(data))
        # An empty password opens what only forbids printing or copying.
        if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
            return ParseFailure("encrypted", "It is encrypted and needs a password. Save it without one.")
        count = len(reader.pages)
    except MemoryError:
        raise
    except NotImplementedError:  # what pypdf raises for handlers of encryption that it does not know
        return ParseFailure("encrypted", "It is encrypted for certificates or in an unknown way. Save it without.")
    except Exception as error:  # noqa: BLE001 - pypdf raises anything on a damaged file
        return ParseFailure("failed", f"It is damaged: no page can be found in it ({type(error).__name__}).")
    texts: list[str] = []
    size = 0
    faults: dict[str, list[int]] = {}
    with _Leniency() as leniency:
        for number in range(count):
            text, fault = _read_page(reader, number, leniency)
            texts.append(text)
            size += len(text)
            if fault:
                faults.setdefault(fault, []).append(number + 1)
            if size > max_chars:
                return ParseFailure("too_large", f"It has more than {max_chars:,} characters of text.")
    missing = " ".join(f"{_pages(numbers)}: {fault}." for fault, numbers in faults.items()) or None
    if not any(texts):
        if any(fault.startswith(_UNREADABLE) for fault in faults):
            return ParseFailure("failed", f"None of its text can be read. {missing}")
        return ParseFailure("no_text", missing or "Its pages are blank.")
    joined, starts = _join(texts)
    return Extraction(joined, title=_title(reader), page_starts=starts, missing=missing)


class _Leniency(logging.Handler):
    """Notices that pypdf went on after a stream that cannot be unpacked: of that it only writes to its log."""

    def __init__(self) -> None:
        super().__init__()
        self.was_needed = False

    def emit(self, record: logging.LogRecord) -> None:
        self.was_needed = True

    def __enter__(self) -> Self:
        _UNPACKING_LOG.addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _UNPACKING_LOG.removeHandler(self)


def _read_page(reader: PdfReader, number: int, leniency: _Leniency) -> tuple[str, str | None]:
    """The page's text, and what is wrong with the page."""
    leniency.was_needed = False
    try:
        page = reader.pages[number]
        unmapped = _unmapped_fonts(page)
        text = _tidy(_text_without(page, unmapped) if unmapped else page.extract_text())
        if leniency.was_needed:
            return text, f"{_UNREADABLE} in part" if text else _UNREADABLE
        if unmapped:
            return text, "a font that does not say which characters it shows"
        if not text and _shows_images(page):
            return "", "images without text"
        return text, None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - pypdf raises anything on a damaged file
        return "", f"{_UNREADABLE} ({type(error).__name__})"


def _unmapped_fonts(page: PageObject) -> list[Any]:
    """Fonts whose codes cannot be turned into characters: what pypdf gives for them is noise that looks like text."""
    fonts = _resource(page, "/Font")
    return [font for font in fonts if font.get("/Subtype") == "/Type0" and _is_unmapped(font)]


def _is_unmapped(font: Any) -> bool:
    encoding = font.get("/Encoding")
    return "/ToUnicode" not in font and isinstance(encoding, str) and not encoding.startswith(_KNOWN_ENCODINGS)


def _text_without(page: PageObject, fonts: Sequence[Any]) -> str:
    pieces: list[str] = []

    def keep(text: str, _cm: Any, _tm: Any, font: Any, _size: float) -> None:
        if font not in fonts:
            pieces.append(text)

    page.extract_text(visitor_text=keep)
    return "".join(pieces)


def _shows_images(page: PageObject) -> bool:
    return any(item.get("/Subtype") == "/Image" for item in _resource(page, "/XObject"))


def _resource(page: PageObject, kind: str) -> list[Any]:
    """The resources of one kind that the page names, without what is damaged among them."""
    resources: Any = page.get("/Resources")
    group = resources.get_object().get(kind) if resources is not None else None
    items = [item.get_object() for item in group.get_object().values()] if group is not None else []
    return [item for item in items if isinstance(item, dict)]


def _tidy(text: str) -> str:
    """The page's text normalised, ligatures as letters, no spaces at line ends, no more than one blank line at a time."""
    lines = [line.rstrip() for line in normalise(text.translate(_LIGATURES)).split("\n")]
    return "\n".join(
        line for blank, group in groupby(lines, key=lambda line: not line) for line in ([""] if blank else group)
    ).strip("\n")


def _join(texts: Iterable[str]) -> tuple[str, list[int]]:
    """The pages as one text, and the offset of each; an empty page starts where the next one with text does."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    waiting = 0
    for text in texts:
        if not text:
            waiting += 1
            continue
        if parts:
            parts.append("\n\n")
            length += 2
        starts += [length] * (waiting + 1)
        waiting = 0
        parts.append(text)
        length += len(text)
    return "".join(parts), starts + [length] * waiting


def _title(reader: PdfReader) -> str | None:
    try:
        title = reader.metadata.title if reader.metadata else None
        found = one_line(title) if isinstance(title, str) else None
    except Exception:  # noqa: BLE001 - a damaged information dictionary is no reason to lose the text
        return None
    return None if found is None or found.lower() in _NO_TITLES else found


def _pages(numbers: Sequence[int]) -> str:
    """``"Page 3"`` or ``"Pages 1, 4-6"``, naming no more than twenty ranges."""
    ranges = [
        [number for _, number in group] for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    ]
    named = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in ranges[:20])
    more = " and others" if len(ranges) > 20 else ""
    return f"Page{'s' if len(numbers) > 1 else ''} {named}{more}"
