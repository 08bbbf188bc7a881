"""Real documents, some damaged, encrypted or hostile: each has the outcome that is right for the formats we read.

They are other people's and not part of this project: found through HEADWATER_TEST_DATA, skipped where they are missing.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from activities.parsers import ParsedDocument, ParseFailure, detect, parser_version
from activities.parsers.pool import ParserPool

ROOT = Path(__file__).resolve().parents[2]
DATA = (ROOT / os.environ.get("HEADWATER_TEST_DATA", "../shared/data")).resolve()
DOCUMENTS = DATA / "documents"
CHARS = 8_388_608

# What must occur in the text, its whitespace collapsed.
INDEXED: Final = {
    "sf__minimal-document.pdf": "Lorem ipsum dolor sit amet, consetetur sadipscing elitr",
    "sf__002-trivial-libre-office-writer.pdf": "Lorem ipsum dolor sit amet, consetetur sadipscing elitr",
    "sf__pdflatex-image.pdf": "1 Your Chapter Lorem ipsum dolor sit amet",
    "sf__pdflatex-4-pages.pdf": "Hello, here is some text without a meaning.",
    "sf__pdflatex-forms.pdf": "Name Check Submit",
    "sf__google-doc-document.pdf": "Beautiful is better than ugly. Explicit is better than implicit.",
    "sf__multicolumn.pdf": "This is a sample document with two columns filled with Lorem Ipsum",
    "pp__crazyones.pdf": "The misfits. The rebels. The troublemakers.",  # set with the ligature ﬁ
    "pp__multilang.pdf": "Chinese (traditional): 你好世界",
    "pp__r6-empty-password.pdf": "pdf encryption test",  # opens with an empty password
    "pp__r6-owner-password.pdf": "pdf encryption test",
    "pp__toy.pdf": "Single quote operator",
    "pp__Seige_of_Vicksburg_Sample_OCR.pdf": "THE SIEGE OF VICKSBURG.",  # a scan with a text layer
    "js__90ms_rksj_h_sample.pdf": "Hello ASCII 日本語テスト",
    "js__french_diacritics.pdf": "à À â Â ä Ä ç Ç é É è È",
    "js__german-umlaut-r.pdf": "ö„üä“Äß",
    "js__helloworld-bad.pdf": "Hello, world!",
    "js__xref_command_missing.pdf": "Reduced test-case",
    # A font called 黑体 that claims to be Latin: nothing in the file tells that its codes are GBK. A known limit.
    "js__SimFang-variant.pdf": "È« ÊÀ ½ç",
    "tk__testPDF.pdf": "Apache Tika - Apache Tika",
    "tk__testExtraSpaces.pdf": "some formatted text",
    "tk__testPDF_no_extract_no_accessibility_owner_empty.pdf": "Hello World",
    "pm__zen_of_python_corrupted.pdf": "Simple is better than complex.",
    "md__SPARSE-2024-INV-1234_borderless_table.pdf": "INVENTORY RECONCILIATION REPORT",
    "tk__testHTML.html": "Test Indexation Html Indexation du fichier",
    "tk__testHTML_utf8.html": "Content with UTF-8 chars åäö",
    "tk__testHTML_charset_utf16le.html": "This is a sample text",
    "tk__testArabicMisleadingCharset.html": "في قرية من القرى",  # declares UTF-8 and is Windows-1256
    "tk__testHTMLBadScript.html": "This is a test.",
    "tk__testHTML_script_in_body.html": "This is a test.",
    "tk__boilerplate.html": "This is the real meat of the page,",
    "md__test_blog.html": "Does Model and Inference Parameter Matter in LLM Applications?",
    "tk__russian.cp866.txt": "Однажды, в студеную зимнюю пору,",
    "tk__english.cp500.txt": "IntelliStation POWER Hardware Graphics",
    "tk__testWORD.docx": "This is the header for our document Sample Word Document Title And now for a subtitle",
    "tk__footnotes.docx": "Eto ochen prostoy text so snoskoy snoska",
    "tk__testComment.docx": "Here is some text.",
    "tk__testWORD_text_box.docx": "This text is inside of a text box in the header of the document. This text is directly in",
    "tk__testWORD_phonetic.docx": "東京",
    "tk__testOCR.docx": "This is some text. Here is an embedded image:",
    "md__test.docx": "13 | 14 | 49e168b7-d2ae-407f-a055-2167576f39a1 | 15 | 16",
    "dx__test.docx": "python-docx was here! python-docx was here too!",
    "tk__testPPT.pptx": "Black Panther Mystery Banking Investment",
    "tk__testPPT_various.pptx": "Row 1 Col 1 | Row 1 Col 2 | Row 1 Col 3 Row 2 Col 1",
    "md__test.pptx": "7 | 8 | 9 | 1b92870d-e3b5-4e65-8153-919f4ff45592 | 11",
    "tk__testEXCEL.xlsx": "Feuil1 Sample Excel Worksheet - Numbers and their Squares Number | Square 1 | 1 2 | 4",
    "tk__testEXCEL-formats.xlsx": "Percentage (0.025) | 2.5% | 2.5%",
    "md__test.xlsx": "09060124-b5e7-4717-9d07-3c046eb ColA | ColB | ColC | ColD 1 | 2 | 3 | 4",
    "tk__testTXT_win-1252.txt": "to think this is a “windows” enco",
}
PARTIAL: Final = {
    # Its Japanese is set in a font that names no characters; its digits are not.
    "js__noembed-identity.pdf": ("ABC", "Page 1: a font that does not say which characters it shows."),
}
FAILED: Final = {
    "no_text": (
        "sf__imagemagick-CCITTFaxDecode.pdf",
        "tk__testOCR.pdf",  # scans
        "js__empty.pdf",
        "js__empty_protected.pdf",
        "js__GHOSTSCRIPT-698804-1-fuzzed.pdf",
        "js__noembed-eucjp.pdf",
        "pm__jo.pdf",  # Japanese in fonts that name no characters: noise is not indexed
    ),
    "encrypted": (
        "tk__testPPT_protected_passtika.pptx",
        "tk__testEXCEL_protected_passtika.xlsx",
        "pp__r2-user-password.pdf",
        "js__pr6531_1.pdf",
        "tk__testUnicodePassword.pdf",
        "pm__aes-256-r6.pdf",
    ),
    "failed": (
        "tk__testWORD_truncated.docx",
        "js__Pages-tree-refs.pdf",
        "js__REDHAT-1531897-0.pdf",
        "js__PDFBOX-4352-0.pdf",
        "js__poppler-395-0-fuzzed.pdf",
        "js__poppler-742-0-fuzzed.pdf",
        "js__poppler-937-0-fuzzed.pdf",
        "js__bomb_giant.pdf",  # its page description itself is a JBIG2 bomb: not unpacked
    ),
    "unsupported": (
        "tk__testRTFJapanese.rtf",
        "tk__testEPUB.epub",
        "tk__testRFC822_multipart_attachments.eml",
    ),
}
FAILURES: Final = {name: state for state, names in FAILED.items() for name in names}
# Offsets at which pages begin, told by the words that stand there.
PAGES: Final = {
    "sf__pdflatex-4-pages.pdf": 4,
    "sf__multicolumn.pdf": 3,
    "pp__Seige_of_Vicksburg_Sample_OCR.pdf": 6,
    "md__SPARSE-2024-INV-1234_borderless_table.pdf": 2,
    "pp__crazyones.pdf": 1,
    "tk__testPPT.pptx": 3,
}
TITLES: Final = {
    "tk__testHTML_utf8.html": "Title : Tilte with UTF-8 chars öäå",
    "tk__testArabicMisleadingCharset.html": "Test Arabic",
    "sf__google-doc-document.pdf": "PDF Example Document",
    "tk__testWORD.docx": "Sample Word Document",
    "tk__testPPT.pptx": "Attachment Test",
    "md__test.xlsx": None,
    "md__SPARSE-2024-INV-1234_borderless_table.pdf": None,  # "(anonymous)" is no title
}

pytestmark = pytest.mark.skipif(
    not DOCUMENTS.is_dir(), reason=f"no test documents in {DOCUMENTS} (HEADWATER_TEST_DATA)"
)


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(1) as pool:
        yield pool


def parse(pool: ParserPool, name: str) -> ParsedDocument | ParseFailure:
    return pool.parse(name, (DOCUMENTS / name).read_bytes(), None, CHARS)


def readable(pool: ParserPool, name: str) -> ParsedDocument:
    document = parse(pool, name)
    assert isinstance(document, ParsedDocument), document
    return document


def test_every_document_has_its_outcome() -> None:
    listed = {line.split("\t")[0] for line in (DOCUMENTS / "index.tsv").read_text("utf-8").splitlines()[1:]}
    assert listed == INDEXED.keys() | PARTIAL.keys() | FAILURES.keys()


@pytest.mark.parametrize(("name", "fragment"), INDEXED.items())
def test_a_readable_document_is_read(pool: ParserPool, name: str, fragment: str) -> None:
    document = readable(pool, name)
    assert (document.state, document.reason) == ("indexed", None)
    assert fragment in " ".join(document.text.split())


@pytest.mark.parametrize(("name", "expected"), PARTIAL.items())
def test_a_document_read_in_part_says_what_is_missing(pool: ParserPool, name: str, expected: tuple[str, str]) -> None:
    document = readable(pool, name)
    assert document.text.startswith(expected[0])
    assert (document.state, document.reason) == ("partial", expected[1])


@pytest.mark.parametrize(("name", "state"), FAILURES.items())
def test_an_unreadable_document_says_why(pool: ParserPool, name: str, state: str) -> None:
    failure = parse(pool, name)
    assert isinstance(failure, ParseFailure)
    assert failure.state == state
    assert failure.reason.endswith(".")


@pytest.mark.parametrize(("name", "pages"), PAGES.items())
def test_pages_begin_where_they_are_said_to(pool: ParserPool, name: str, pages: int) -> None:
    document = readable(pool, name)
    assert len(document.page_starts) == pages
    for start in document.page_starts[1:]:
        assert document.text[start - 2 : start] == "\n\n" and not document.text[start].isspace()


@pytest.mark.parametrize(("name", "title"), TITLES.items())
def test_titles(pool: ParserPool, name: str, title: str | None) -> None:
    assert readable(pool, name).title == title


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("tk__testHTMLBadScript.html", "cool script"),
        ("tk__testHTML_script_in_body.html", "cool script"),
        ("md__test_blog.html", "document.documentElement"),
    ],
)
def test_no_script_leaks_into_the_text(pool: ParserPool, name: str, script: str) -> None:
    assert script.encode() in (DOCUMENTS / name).read_bytes()
    assert script not in readable(pool, name).text


def test_headings_of_a_real_page(pool: ParserPool) -> None:
    document = readable(pool, "md__test_blog.html")
    assert document.headings is not None
    assert [heading.level for heading in document.headings][:2] == [1, 2]
    for heading in document.headings:
        assert document.text[heading.start :].startswith(heading.title + "\n")


def test_real_markdown_is_indexed_unchanged(pool: ParserPool) -> None:
    files = sorted((DATA / "corpus").rglob("*.md"))
    assert len(files) == 395
    for file in files:
        name, data = file.name, file.read_bytes()
        document = pool.parse(name, data, None, CHARS)
        assert isinstance(document, ParsedDocument) and document.title
        assert document.text == data.decode("utf-8-sig").replace("\r\n", "\n")
        assert parser_version(detect(name, data, None)) == "markdown/1"
