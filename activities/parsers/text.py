"""Plain text, and how the bytes of every kind of text become characters."""

import codecs
import re
from collections.abc import Sequence
from typing import Final

from activities.parsers import Extraction, ParseFailure
from activities.parsers.normalise import normalise

_BOMS: Final = (  # UTF-32 first: its little-endian BOM begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What documents are really written in. Of guesses that fit equally well the first wins: short Western texts fit cp1250,
# cp1252 and cp1257 alike, and cp1252 is by far the most common.
_GUESSES: Final = (
    "cp1252",
    "cp1251",
    "koi8_r",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
    "cp1250",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp1258",
    "cp874",
    "cp866",
    "cp437",
    "cp850",
    "cp852",
    "iso8859_2",
    "iso8859_5",
    "iso8859_7",
    "mac_roman",
    "cp500",
    "cp037",
)
_SAMPLE: Final = 65_536
# Labels as HTML uses them. Python knows codecs that are no charsets (zip, idna, unicode_escape): only these are trusted.
_LABEL: Final = re.compile(
    r"(?:utf-?(?:8|16|16le|16be)|windows-(?:125\d|874)|(?:iso-?8859|iso_8859)-\d{1,2}|latin-?\d|koi8-[ru]|(?:x-)?sjis|shift[-_]jis"
    r"|euc-(?:jp|kr)|gb(?:k|2312|18030)|big5(?:-hkscs)?|tis-620|(?:ibm|cp)\d{3,4}|macintosh)\Z",
    re.IGNORECASE,
)
_SAME_AS: Final = {  # as browsers read them: the label names less than what is written under it
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "iso-8859-9": "cp1254",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc-kr": "cp949",
    "windows-874": "cp874",
    "macintosh": "mac_roman",
}


def parse(data: bytes, *, charset: str | None) -> Extraction | ParseFailure:
    """The text of a plain text file."""
    text = decode(data, declared=charset)
    if text is None:
        return no_encoding()
    return Extraction(normalise(text))


def no_encoding() -> ParseFailure:
    return ParseFailure("unsupported", "Its bytes are no text in any known encoding. Save it as UTF-8.")


def decode(data: bytes, *, declared: str | None) -> str | None:
    """``data`` as characters, without a byte order mark, or ``None`` if it is no text in any encoding we know.

    A byte order mark decides; then UTF-8, which other encodings hardly ever look like; then what the document declares;
    then statistics.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _almost_utf8(data) or _as_declared(data, declared) or _guessed(data)


def _almost_utf8(data: bytes) -> str | None:
    """UTF-8 with surrogates written as characters of their own, or with a little damage; else ``None``."""
    try:
        pairs = data.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        return pairs.decode("utf-16-le", "replace")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    # A text in another encoding forms a valid sequence only by chance; a damaged one forms many.
    damaged = text.count("\ufffd")
    valid = len(text.encode("utf-8", "replace")) - len(text) - 2 * damaged
    return text if valid > 3 * damaged else None


def _as_declared(data: bytes, declared: str | None) -> str | None:
    label = (declared or "").strip().lower()
    if not _LABEL.match(label):
        return None
    try:
        return data.decode(_SAME_AS.get(label, label))
    except (UnicodeDecodeError, LookupError):
        return None


def _guessed(data: bytes) -> str | None:
    # 30 ms to import, and hardly any document needs it.
    from charset_normalizer import from_bytes

    matches = list(from_bytes(_sample(data), cp_isolation=list(_GUESSES), preemptive_behaviour=False))
    if not matches:
        return None
    best = min((match.chaos, -match.coherence) for match in matches)
    fitting = {
        name
        for match in matches
        if (match.chaos, -match.coherence) == best
        for name in (match.encoding, *match.could_be_from_charset)
    }
    encoding = _first_of(fitting)
    return data.decode(encoding, "replace") if encoding else None


def _first_of(names: set[str], order: Sequence[str] = _GUESSES) -> str | None:
    return next((name for name in order if name in names), None)


def _sample(data: bytes) -> bytes:
    """At most 64 KiB from the first byte that is not ASCII on, from line to line where there are lines."""
    if len(data) <= _SAMPLE:
        return data
    first = re.search(rb"[\x80-\xff]", data)
    start = data.rfind(b"\n", 0, first.start() if first else 0) + 1
    end = data.rfind(b"\n", start, start + _SAMPLE)
    return data[start : end if end > start else start + _SAMPLE]
