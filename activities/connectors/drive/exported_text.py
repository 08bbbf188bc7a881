"""Exported text without what is no text: a byte order mark, images as data, and what stands for chips and widgets.

A document with ten pictures exports as Markdown of some megabytes, nearly all of it base64. Cut into passages, it would
be found by nobody and embedded for nothing.
"""

import codecs
import re
from typing import Final

# Google's Markdown has its images at the end, as ``[image1]: <data:image/png;base64,…>``, and ``![][image1]`` in the text.
_DEFINITION: Final = re.compile(
    r"^ {0,3}\[[^\]\n]{1,80}\]:[ \t]*<?data:[^\s<>]*>?[ \t]*(?:\n|\Z)", re.MULTILINE | re.IGNORECASE
)
_DATA_URI: Final = re.compile(r"\bdata:(image|[a-z]+)/[\w.+-]+(?:;[\w.+=-]+)*,[^\s\"'<>)\]]*", re.IGNORECASE)
# So long a run of letters and digits of all kinds, without a space, is written in no language.
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{512,}={0,2}")
_CHIP: Final = "\ue907"  # a smart chip without its text


def clean_export(data: bytes) -> bytes:
    """``data`` with placeholders for what is no text. What is not UTF-8 stays as it is: a parser may know better."""
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        return data
    text = text.replace(_CHIP, "")
    text = _DEFINITION.sub("", text)
    text = _DATA_URI.sub(_placeholder, text)
    return _RUN.sub(_shortened, text).encode("utf-8")


def _placeholder(found: re.Match[str]) -> str:
    return "image" if found[1].lower() == "image" else "data"


def _shortened(found: re.Match[str]) -> str:
    run = found[0]
    is_noise = run != run.lower() and run != run.upper() and any(char.isdigit() for char in run)
    return "data" if is_noise else run
