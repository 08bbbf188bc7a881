"""HTML: the text that a reader of the page sees, line by line, with its headings.

lxml tells what begins and ends, event by event, and builds no tree: elements nested a million deep cost neither stack nor
lost text (a tree stops at 256 or 2,048 levels and drops what is below).
"""

import re
from typing import Any, Final, cast

from lxml import etree

from activities.parsers import Extraction, ParseFailure
from activities.parsers.normalise import normalise, one_line
from activities.parsers.text import decode, no_encoding

# Never part of the page's text, whatever they hold. ``noscript``, ``audio`` and the like hold what a browser that works
# does not show; the titles and definitions of drawings are not shown either.
_DROPPED: Final = frozenset(
    (
        "script",
        "style",
        "template",
        "noscript",
        "iframe",
        "frameset",
        "noframes",
        "noembed",
        "object",
        "applet",
        "audio",
        "video",
        "canvas",
        "datalist",
        "desc",
        "metadata",
        "defs",
    )
)
# These stand apart from what is around them by a blank line, the others by a line end.
_PARAGRAPHS: Final = frozenset(
    (
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "dl",
        "table",
        "pre",
        "blockquote",
        "section",
        "article",
        "header",
        "footer",
        "main",
        "nav",
        "aside",
        "figure",
        "form",
        "fieldset",
        "details",
        "hr",
        "body",
        "listing",
        "xmp",
        "plaintext",
    )
)
_LINES: Final = frozenset(
    (
        "div",
        "li",
        "dt",
        "dd",
        "tr",
        "br",
        "caption",
        "figcaption",
        "thead",
        "tbody",
        "tfoot",
        "address",
        "center",
        "dialog",
        "summary",
        "hgroup",
        "legend",
        "option",
        "optgroup",
        "menu",
        "dir",
        "search",
        "textarea",
        "head",
        "html",
    )
)
_CELLS: Final = frozenset(("td", "th"))
_PREFORMATTED: Final = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))
_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
_HIDING_STYLE: Final = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE
)
_SPACES: Final = re.compile("[ \t\n\r\f\xa0]+")
_META_CHARSET: Final = re.compile(rb"<meta[^>]+?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_FEED: Final = 65_536


def parse(data: bytes, *, charset: str | None) -> Extraction | ParseFailure:
    """The page's visible text. Its title is the ``<title>``, or the first ``<h1>``."""
    declared = _META_CHARSET.search(data[:4096])
    raw = decode(data, declared=charset or (declared[1].decode("ascii") if declared else None))
    if raw is None:
        return no_encoding()
    page = _Page()
    # Characters that are none must not reach the parser, which would end the text there; the rest of the normalisation
    # comes line by line. The encoding named here beats the one the page declares.
    markup = raw.replace("\0", "\ufffd").encode("utf-8", "replace")
    # A target may leave out what it does not want (comments), and gets text only; the stubs know neither.
    parser = etree.HTMLParser(target=cast(Any, page), encoding="utf-8", huge_tree=True)
    for start in range(0, len(markup), _FEED):
        parser.feed(markup[start : start + _FEED])
    if markup:
        parser.close()
    return Extraction(
        text="".join(page.parts),
        title=one_line("".join(page.title)) or page.first_h1,
        is_markdown=True,
        headings=page.headings,
    )


def _is_hidden(tag: str, attributes: dict[str, str]) -> bool:
    """Whether a browser shows nothing of the element. ``aria-hidden`` is shown; ``until-found`` is found by searching."""
    if "hidden" in attributes and attributes["hidden"].strip().lower() != "until-found":
        return True
    if tag == "dialog" and "open" not in attributes:
        return True
    return bool(_HIDING_STYLE.search(attributes.get("style", "")))


class _Page:
    """What lxml's parser drives. Lines are finished one after the other, so offsets are those of the final text."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.title: list[str] = []
        self.headings: list[tuple[int, int, int]] = []
        self.first_h1: str | None = None
        self._length = 0
        self._line: list[str] = []
        self._gap = 0  # line ends owed before the next line
        self._dropped = 0  # open elements from the outermost dropped one on
        self._preformatted = 0
        self._pre_begins = False
        self._heading = 0  # level of the open heading whose line has not ended yet
        self._in_title = False
        self._in_body = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._dropped:
            self._dropped += 1
        elif tag in _DROPPED or _is_hidden(tag, attributes):
            self._dropped = 1
        elif tag == "title":
            self._in_title = not self._in_body and not self.title
            self._dropped = int(not self._in_title)
        else:
            self._boundary(tag)
            self._in_body = self._in_body or tag == "body"
            if tag in _LEVELS:
                self._heading = _LEVELS[tag]
            elif tag in _PREFORMATTED:
                self._preformatted += 1
                self._pre_begins = True

    def end(self, tag: str) -> None:
        if self._dropped:
            self._dropped -= 1
        elif tag == "title":
            self._in_title = False
        else:
            self._boundary(tag)
            if tag in _LEVELS:
                self._heading = 0
            elif tag in _PREFORMATTED:
                self._preformatted = max(0, self._preformatted - 1)

    def data(self, text: str) -> None:
        if self._dropped:
            return
        if self._in_title:
            self.title.append(text)
        elif self._preformatted:
            self._add_preformatted(text)
        else:
            self._add(_SPACES.sub(" ", text))

    def close(self) -> None:
        self._end_line()

    def _boundary(self, tag: str) -> None:
        if tag in _CELLS or (tag == "br" and self._heading):
            self._add(" ")
        elif tag in _PARAGRAPHS:
            self._end_line()
            self._gap = max(self._gap, 2)
        elif tag in _LINES:
            self._end_line()

    def _add(self, text: str) -> None:
        if text.startswith(" ") and (not self._line or self._line[-1].endswith(" ")):
            text = text[1:]
        if text:
            self._line.append(text)

    def _add_preformatted(self, text: str) -> None:
        if self._pre_begins:  # the line end right behind <pre> is not part of it
            text = text.removeprefix("\n")
        self._pre_begins = False
        first, *others = text.split("\n")
        self._line.append(first)
        for line in others:
            if not self._end_line():
                self._gap += 1  # an empty line within code is kept
            self._line.append(line)

    def _end_line(self) -> bool:
        """Finish the line; false if there was nothing on it."""
        if not self._line:
            return False
        line = normalise("".join(self._line))
        self._line.clear()
        if not self._preformatted:
            line = line.strip()
        if not line.strip():
            return False
        # A character reference may have brought in a line end of another kind.
        line = line.replace("\n", " ")
        if self.parts:
            self.parts.append("\n" * max(self._gap, 1))
            self._length += max(self._gap, 1)
        self._gap = 1
        if self._heading:
            # The first line of the element is the heading: an <h1> that is never closed does not swallow the page.
            self.headings.append((self._length, self._length + len(line), self._heading))
            if self._heading == 1 and self.first_h1 is None:
                self.first_h1 = one_line(line)
            self._heading = 0
        self.parts.append(line)
        self._length += len(line)
        return True
