"""Which parser reads a document: what its first bytes say comes first, then the media type, then the name."""

import codecs
import re
from typing import Final, Literal

ParserName = Literal["text", "markdown", "html", "pdf", "office"]

_BY_EXTENSION: Final[dict[str, ParserName]] = {
    "": "text",
    "txt": "text",
    "text": "text",
    "log": "text",
    "rst": "text",
    "adoc": "text",
    "org": "text",
    "csv": "text",
    "tsv": "text",
    "md": "markdown",
    "markdown": "markdown",
    "mdown": "markdown",
    "mkd": "markdown",
    "mdx": "markdown",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "pdf": "pdf",
}
_BY_MEDIA_TYPE: Final[dict[str, ParserName]] = {
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
}
# Formats whose bytes may well be valid text, but whose bytes are not what their readers see.
_NOT_TEXT: Final = re.compile(
    r"docx|docm|doc|xlsx|xlsm|xls|pptx|pptm|ppt|od[tsp]|fod[tsp]|rtf|epub|mobi|fb2|pages|numbers|key"
    r"|eml|mbox|mht|mhtml|msg|ics|vcf|xml|xsl|xsd|svg|rss|atom|plist|ps|eps|ipynb"
)
# Office files are told by what is in them; their names only say that they are worth a look.
_OFFICE: Final = frozenset({"docx", "docm", "dotx", "xlsx", "xlsm", "xltx", "pptx", "pptm", "potx", "ppsx", "ppsm"})
_ZIP: Final = b"PK\x03\x04"
_COMPOUND: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Names within a file stand there in the clear.
_PARTS_OF_OFFICE: Final = b"[Content_Types].xml"
_ENCRYPTED_OFFICE: Final = "EncryptedPackage".encode("utf-16-le")
_MAGIC: Final = (
    (_ZIP, "a ZIP archive or an office document"),
    (b"PK\x05\x06", "a ZIP archive"),
    (_COMPOUND, "an office document of the old kind"),
    (b"{\\rtf", "a rich text document"),
)
_BOMS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PDF_AT_START: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*%PDF-")
_HTML_AT_START: Final = re.compile(  # atomic: a comment that may be split in many ways is not tried in each
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--.*?-->\s*)*)<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
# What text hardly holds: control characters other than tab, line ends, form feed and escape.
_CONTROLS: Final = bytes(set(range(32)) - {9, 10, 11, 12, 13, 27})


def detect(name: str, data: bytes, media_type: str | None) -> ParserName | None:
    """The name of the parser that reads this document, or ``None`` if none does."""
    chosen = _choose(name, data, media_type)
    return chosen if isinstance(chosen, str) else None


def refusal(name: str, data: bytes, media_type: str | None) -> str:
    """Why `detect` found no parser: one sentence, without a word of the document."""
    chosen = _choose(name, data, media_type)
    return f"It is {chosen.what}, which no parser reads." if isinstance(chosen, _Refused) else ""


def charset_of(media_type: str | None) -> str | None:
    """The ``charset`` that a media type such as ``text/html; charset=koi8-r`` names."""
    found = re.search(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", media_type or "", re.IGNORECASE)
    return found[1] if found else None


def has_known_extension(name: str) -> bool:
    """Whether the name is that of a document which some parser reads."""
    extension = _extension(name)
    return extension in _OFFICE or (extension in _BY_EXTENSION and extension != "")


def reading_hint(name: str, media_type: str | None) -> str:
    """What name and media type say of how a document is read: with equal hints, the same bytes are read in the same way."""
    extension = _extension(name)
    is_telling = extension in _BY_EXTENSION or _NOT_TEXT.fullmatch(extension) is not None
    return f"{extension if is_telling else '?'} {(media_type or '').strip().lower()}".rstrip()


class _Refused:
    def __init__(self, what: str) -> None:
        self.what = what


def _choose(name: str, data: bytes, media_type: str | None) -> ParserName | _Refused:
    head = data[:8192]
    if (head.startswith(_ZIP) and _PARTS_OF_OFFICE in data) or (
        head.startswith(_COMPOUND) and _ENCRYPTED_OFFICE in data
    ):
        return "office"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return _Refused(what)
    extension = _extension(name)
    declared = _BY_MEDIA_TYPE.get((media_type or "").partition(";")[0].strip().lower())
    named = declared or _BY_EXTENSION.get(extension)
    if declared == "text" and (by_extension := _BY_EXTENSION.get(extension)) not in (None, "pdf"):
        named = by_extension  # servers call Markdown text/plain
    if not data:
        return "text" if named in (None, "pdf") else named  # whatever it is to become, there is nothing in it yet
    # The header may stand anywhere in the first 1024 bytes. An article about PDF holds it there too, but is text.
    is_late_pdf = b"%PDF-" in head[:1024] and (named is None or not extension) and not _is_unicode(head)
    if named == "pdf" or _PDF_AT_START.match(head) or is_late_pdf:
        return "pdf"
    if declared is None and _NOT_TEXT.fullmatch(extension):
        return _Refused(f"a document of the kind .{extension}")
    if _is_binary(head):
        return _Refused("binary data")
    if named is None and not _is_unicode(head):
        return _Refused("neither Unicode text nor of a known kind")
    if named is None or (named == "text" and not extension):
        return "html" if _HTML_AT_START.match(head) else "text"
    return named


def _extension(name: str) -> str:
    last = name.rpartition("/")[2]
    return last.rpartition(".")[2].lower() if "." in last[1:] else ""


def _is_binary(head: bytes) -> bool:
    """Whether more than a stray few of the bytes are control characters. UTF-16 without a BOM counts as binary."""
    if head.startswith(_BOMS):
        return False
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls > 4 and controls * 20 > len(head)


def _is_unicode(head: bytes) -> bool:
    if head.startswith(_BOMS):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character cut by the end of the head is no error
    except UnicodeDecodeError:
        return False
    return b"\0" not in head
