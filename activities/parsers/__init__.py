"""Bytes in, normalised text out: what a parser gives, and which parser reads which document.

`pool.ParserPool` is how the pipeline parses: in processes of its own, which may be killed. They import this package, so
neither it nor the parser modules import `headwater` when they run: such a process is up in 0.1 s and needs little memory.
A parser module therefore gives an `Extraction`, and the pool makes a `ParsedDocument` of it.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from activities.parsers.sniff import ParserName, charset_of, detect, refusal

if TYPE_CHECKING:
    from headwater.chunking import Heading

# A number goes up when its parser gives another text for the same bytes: what it read is then read again.
# "unsupported" is the choice itself: it goes up with every new format, so that what nobody could read is tried again.
_VERSIONS: Final = {"text": 1, "markdown": 1, "html": 1, "pdf": 1, "office": 1, "unsupported": 2}
CURRENT: Final = frozenset(f"{name}/{version}" for name, version in _VERSIONS.items())


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The normalised text of a document, and where things are in it, in code points.

    ``is_markdown`` asks for Markdown's separators. ``headings`` of ``None`` means that the text shows its headings itself
    (Markdown) or has none that are known (text, PDF). ``page_starts`` is the offset of each page; of pages with the same
    offset the last one holds the text. ``reason`` says what a ``partial`` text lacks.
    """

    text: str
    title: str | None = None
    is_markdown: bool = False
    headings: "list[Heading] | None" = None
    page_starts: list[int] = field(default_factory=list)
    state: Literal["indexed", "partial"] = "indexed"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """Why there is no text. ``reason`` is one sentence fit for a person, without a word of the document."""

    state: Literal["no_text", "encrypted", "too_large", "unsupported", "failed"]
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a parser module makes of a document: `ParsedDocument` in plain values that cross a process boundary.

    ``headings`` are ``(start, end, level)`` in ``text``.
    """

    text: str
    title: str | None = None
    is_markdown: bool = False
    headings: list[tuple[int, int, int]] | None = None
    page_starts: list[int] = field(default_factory=list)
    missing: str | None = None


def parser_version(name: str | None) -> str:
    """``"markdown/1"``: what is recorded with a document, to see whether it must be read again. ``None``: unsupported."""
    key = name or "unsupported"
    return f"{key}/{_VERSIONS[key]}"


def parse(name: str, data: bytes, media_type: str | None, max_chars: int) -> Extraction | ParseFailure:
    """The document read by the parser that `detect` names. It runs here and now: without limits of time or memory."""
    kind = detect(name, data, media_type)
    if kind is None:
        return ParseFailure("unsupported", refusal(name, data, media_type))
    result = _parse_as(kind, data, charset_of(media_type), max_chars)
    if isinstance(result, Extraction) and len(result.text) > max_chars:
        return ParseFailure("too_large", f"It has more than {max_chars:,} characters of text.")
    return result


def _parse_as(kind: ParserName, data: bytes, charset: str | None, max_chars: int) -> Extraction | ParseFailure:
    # Each is imported when first needed: a process that reads Markdown never loads pypdf.
    match kind:
        case "text":
            from activities.parsers.text import parse as parse_text

            return parse_text(data, charset=charset)
        case "markdown":
            from activities.parsers.markdown import parse as parse_markdown

            return parse_markdown(data, charset=charset)
        case "html":
            from activities.parsers.html import parse as parse_html

            return parse_html(data, charset=charset)
        case "pdf":
            from activities.parsers.pdf import parse as parse_pdf

            return parse_pdf(data, max_chars=max_chars)
        case "office":
            from activities.parsers.office import parse as parse_office

            return parse_office(data, max_chars=max_chars)


__all__ = [
    "CURRENT",
    "Extraction",
    "ParseFailure",
    "ParsedDocument",
    "detect",
    "parse",
    "parser_version",
]
