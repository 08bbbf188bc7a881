"""Which parser reads a document, and what is said when none does."""

import itertools
import time

import pytest

from activities.parsers import CURRENT, Extraction, ParseFailure, detect, parse, parser_version
from activities.parsers.sniff import charset_of, reading_hint, refusal

ZIP = b"PK\x03\x04\x14\x00"
OFFICE = ZIP + b"...[Content_Types].xml..."
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENCRYPTED = OLE + b"..." + "EncryptedPackage".encode("utf-16-le")
BINARY = bytes(range(256)) * 40


@pytest.mark.parametrize(
    ("name", "data", "media_type", "parser"),
    [
        # the name
        ("a.txt", b"x", None, "text"),
        ("A.TXT", b"x", None, "text"),
        ("a.md", b"x", None, "markdown"),
        ("a.markdown", b"x", None, "markdown"),
        ("a.htm", b"x", None, "html"),
        ("folder.md/README", b"x", None, "text"),
        (".profile", b"x", None, "text"),
        ("a.md", b"", None, "markdown"),
        ("a.pdf", b"no header", None, "pdf"),
        # the first bytes beat it
        ("a.txt", b"%PDF-1.4", None, "pdf"),
        ("a.md", b"\xef\xbb\xbf\n%PDF-1.4", None, "pdf"),
        ("a.pdf", b"\x00\x01 junk before the header %PDF-1.4", None, "pdf"),
        ("download", b"\x00\x01 junk before the header %PDF-1.4", None, "pdf"),
        ("about-pdf.md", b"A file begins with `%PDF-1.4`.", None, "markdown"),
        ("a.txt", OFFICE, "text/plain", "office"),
        ("minutes", OFFICE, "application/octet-stream", "office"),
        ("a.docx", ENCRYPTED, None, "office"),
        ("a.txt", ZIP, None, None),
        ("a.md", OLE, None, None),
        ("a.txt", b"{\\rtf1 x}", None, None),
        ("a.txt", BINARY, None, None),
        ("a.html", b"\x00" * 100, None, None),
        ("a.txt", b"a stray \x00 in a text", None, "text"),
        ("a.txt", "\ufeffx".encode("utf-16-le"), None, "text"),
        ("a.txt", "\ufeffx".encode("utf-32-be"), None, "text"),
        ("a.txt", "x".encode("utf-16-le") * 100, None, None),
        # the media type beats it
        ("Report v1.2", b"# x", "text/markdown", "markdown"),
        ("brief.docx", b"x", "text/plain", "text"),
        ("a.md", b"x", "text/plain", "markdown"),
        ("a.txt", b"x", "text/html; charset=utf-8", "html"),
        ("a.md", b"x", "application/octet-stream", "markdown"),
        # names that say nothing
        ("README", b"x", None, "text"),
        ("page", b"<!-- c --> <!DOCTYPE html><p>x", None, "html"),
        ("minutes.2024", "Grüße".encode(), None, "text"),
        ("tool.py", b"print()", None, "text"),
        ("minutes.2024", "Grüße".encode("cp1252"), None, None),
        ("a.png", b"\x89PNG\r\n\x1a\n", None, None),
        ("a.bin", b"abc\x00", None, None),
        ("cut.conf", b"a" * 8191 + "é".encode(), None, "text"),
        # formats of their own, however textual
        ("a.docx", b"x", None, None),
        ("a.eml", b"Subject: x", None, None),
        ("a.svg", b"<svg/>", None, None),
        ("a.ipynb", b"{}", None, None),
    ],
)
def test_the_parser_is_chosen_by_content_then_media_type_then_name(
    name: str, data: bytes, media_type: str | None, parser: str | None
) -> None:
    assert detect(name, data, media_type) == parser


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.docx", ZIP, "It is a ZIP archive or an office document, which no parser reads."),
        ("a.doc", OLE, "It is an office document of the old kind, which no parser reads."),
        ("a.eml", b"Subject: x", "It is a document of the kind .eml, which no parser reads."),
        ("a.txt", BINARY, "It is binary data, which no parser reads."),
        ("a.png", b"\x89PNG", "It is neither Unicode text nor of a known kind, which no parser reads."),
    ],
)
def test_a_refusal_says_what_the_document_is(name: str, data: bytes, said: str) -> None:
    assert parse(name, data, None, 1000) == ParseFailure("unsupported", said)


def test_every_parsers_version_is_current() -> None:
    assert {parser_version(name) for name in ("text", "markdown", "html", "pdf", "office", None)} == CURRENT


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.pdf", "a.docx", "a.eml", "a.png"])
def test_an_empty_file_is_an_empty_document(name: str) -> None:
    result = parse(name, b"", None, 1000)
    assert isinstance(result, Extraction) and result.text == ""


def test_a_media_types_charset_is_used() -> None:
    result = parse("a.txt", "да".encode("koi8-r"), 'text/plain; charset="koi8-r"', 1000)
    assert isinstance(result, Extraction) and result.text == "да"


@pytest.mark.parametrize("head", [b"<!---->" * 1200, b"<!-- " * 1600, b"<?xml " + b"\n" * 8000, b"\n" * 8192])
def test_no_first_bytes_take_long_to_judge(head: bytes) -> None:
    started = time.process_time()
    assert detect("page", head, None) == "text"
    assert time.process_time() - started < 1


def test_equal_hints_read_the_same_bytes_in_the_same_way() -> None:
    names = [
        "a",
        "b",
        "a.txt",
        "b.txt",
        "a.md",
        "a.html",
        "a.pdf",
        "a.docx",
        "a.v1",
        "a.v2",
        ".md",
        "x/a.md",
        "plan v1.3",
    ]
    media_types = [None, "text/plain", "Text/Plain ", "text/plain; charset=koi8-r", "application/pdf", "image/png"]
    samples = [b"", b"text", b"<!DOCTYPE html>", b"words before %PDF-1.7", OLE, BINARY, b"\x89PNG", b"\xff\xfea\0"]
    by_hint: dict[str, set[tuple[object, ...]]] = {}
    for name, media_type in itertools.product(names, media_types):
        read = tuple((detect(name, data, media_type), refusal(name, data, media_type)) for data in samples)
        by_hint.setdefault(reading_hint(name, media_type), set()).add((*read, charset_of(media_type)))
    assert {len(ways) for ways in by_hint.values()} == {1}
    assert reading_hint("Plan v1.3", None) == reading_hint("Plan v1.4", None) != reading_hint("Plan.txt", None)
