"""Markdown: its text is its content, so that offsets and passages are those of the file."""

import re
from typing import Final

from activities.parsers import Extraction, ParseFailure
from activities.parsers.normalise import normalise, one_line
from activities.parsers.text import decode, no_encoding

_FRONT_MATTER: Final = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FRONT_MATTER_MAX: Final = 65_536
_TITLE: Final = re.compile(r"^title[ \t]*:[ \t]+([^ \t\n].*)$", re.MULTILINE)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_H1: Final = re.compile(r" {0,3}#(?:[ \t]+(.*))?$")


def parse(data: bytes, *, charset: str | None) -> Extraction | ParseFailure:
    """The file's text unchanged but for its normalisation. Its title is the front matter's, or the first H1."""
    raw = decode(data, declared=charset)
    if raw is None:
        return no_encoding()
    text = normalise(raw)
    front = _FRONT_MATTER.match(text, 0, _FRONT_MATTER_MAX)
    title = _front_matter_title(front[1]) if front else None
    return Extraction(text, title=title or _first_h1(text[front.end() :] if front else text), is_markdown=True)


def _front_matter_title(front: str) -> str | None:
    """The value of ``title:``, read as one line: a YAML parser would let the document's author set it to work."""
    found = _TITLE.search(front)
    if not found:
        return None
    value = found[1].rstrip()
    if value[0] in "\"'" and value[-1] == value[0] and len(value) > 1:
        quote = value[0]
        value = value[1:-1].replace("''" if quote == "'" else '\\"', quote)
    elif value[0] in ">|":  # a block scalar: the title stands on other lines
        return None
    else:
        value = re.split(r"\s#", value, maxsplit=1)[0]
    return one_line(value)


def _first_h1(text: str) -> str | None:
    fence = ""
    for line in text.split("\n"):
        marker = _FENCE.match(line)
        if fence:
            if marker and marker[1].startswith(fence) and not marker[2].strip():
                fence = ""
        elif marker and not (marker[1][0] == "`" and "`" in marker[2]):
            fence = marker[1]
        elif (heading := _H1.match(line)) and (title := one_line(_without_closing_hashes(heading[1] or ""))):
            return title
    return None


def _without_closing_hashes(title: str) -> str:
    rest = title.rstrip().rstrip("#")
    return rest if rest == "" or rest[-1] in " \t" else title
