"""How bytes become text, and what normalisation does to it."""

import codecs
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.parsers import Extraction, ParseFailure
from activities.parsers.markdown import parse as parse_markdown
from activities.parsers.normalise import normalise, one_line
from activities.parsers.text import decode
from activities.parsers.text import parse as parse_text
from headwater.chunking import atx_headings

BOMS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("encoding", BOMS)
def test_a_byte_order_mark_decides_and_is_removed(encoding: str) -> None:
    assert decode(BOMS[encoding] + "Grüße 日本".encode(encoding), declared="koi8-r") == "Grüße 日本"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        # Short Western texts fit cp1250 and others equally well.
        ("Café à Zürich", "cp1252"),
        ("naïve façade — déjà vu", "cp1252"),
        ("Größe der Übung: 5 Stück", "cp1252"),
        ("It’s “quoted” text", "cp1252"),
        ("El niño comió piñas; ¿cuándo? mañana", "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250"),
        ("Zażółć gęślą jaźń", "cp1250"),
        ("Москва слезам не верит, говорят", "cp1251"),
        ("Москва слезам не верит, говорят", "koi8_r"),
        ("日本語のテキストです。これは長い文章です。", "cp932"),
        ("日本語のテキスト", "euc_jp"),
        ("这是一个中文文本，用来测试编码检测。", "gb18030"),
    ],
)
def test_text_in_an_older_encoding_is_recognised(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), declared=None) == text


def test_only_the_declared_encoding_tells_what_few_bytes_mean() -> None:
    data = "żółw".encode("iso8859-2")
    assert decode(data, declared="ISO-8859-2") == "żółw"
    assert decode(data, declared=None) != "żółw"


@pytest.mark.parametrize("declared", ["zip", "unicode_escape", "idna", "utf-7", "no-such", "utf-8", "", None])
def test_a_declaration_that_is_no_charset_or_wrong_is_not_believed(declared: str | None) -> None:
    assert decode("Café à Zürich".encode("cp1252"), declared=declared) == "Café à Zürich"


def test_utf8_beats_what_a_document_declares() -> None:
    assert decode("Grüße".encode(), declared="cp1251") == "Grüße"


def test_a_little_damage_leaves_utf8_readable() -> None:
    assert decode("日本語のテキスト".encode()[:-1], declared=None) == "日本語のテキス\ufffd"


def test_surrogates_written_as_utf8_are_joined_or_replaced() -> None:
    data = "\ud83d\ude00 \ud800".encode("utf-8", "surrogatepass")
    assert decode(data, declared=None) == "😀 \ufffd"


def test_bytes_in_no_encoding_are_unsupported() -> None:
    result = parse_text(bytes(range(1, 256)) * 3, charset=None)
    assert isinstance(result, ParseFailure) and result.state == "unsupported"


def test_a_large_text_is_recognised_by_a_sample() -> None:
    text = "plain line\n" * 50_000 + "Größe der Übung: 5 Stück\n" * 10_000
    assert decode(text.encode("cp1252"), declared=None) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\x0bb\x0cc\x85d\u2028e\u2029f", "a\nb\nc\nd\ne\nf"),
        ("a\x00b\ud800c", "a\ufffdb\ufffdc"),
        ("\x1b[31mred\x7f\x9b", "\ufffd[31mred\ufffd\ufffd"),
        ("tab\tstays", "tab\tstays"),
        ("e\u0301", "é"),
        ("\u1100\u1161", "가"),
        ("inner \ufeff mark stays", "inner \ufeff mark stays"),
    ],
)
def test_text_has_one_spelling(raw: str, text: str) -> None:
    assert normalise(raw) == text


@settings(max_examples=50)
@given(st.text(st.characters(codec=None)))
def test_normal_text_stays_as_it_is(raw: str) -> None:
    text = normalise(raw)
    assert normalise(text) == text
    assert unicodedata.is_normalized("NFC", text)
    assert "\r" not in text and "\0" not in text
    text.encode("utf-8")


@settings(max_examples=50)
@given(st.text(st.characters(codec=None, exclude_characters="\r\n")), st.text(st.characters(codec=None)))
def test_lines_can_be_normalised_one_by_one(one: str, two: str) -> None:
    assert normalise(one + "\n" + two) == normalise(one) + "\n" + normalise(two)


@pytest.mark.parametrize(
    ("raw", "title"), [("  a \n b\tc ", "a b c"), (" \n ", None), ("x" * 600, "x" * 512), ("a\x00", "a\ufffd")]
)
def test_a_title_is_one_line(raw: str, title: str | None) -> None:
    assert one_line(raw) == title


def markdown(text: str) -> Extraction:
    result = parse_markdown(text.encode(), charset=None)
    assert isinstance(result, Extraction)
    return result


def test_markdown_is_its_own_text() -> None:
    text = "---\ntitle: T\n---\n\n#  *x*  \n\n<div>\\&amp;</div>  \n\n    code\n"
    result = markdown(text)
    assert result.text == text
    assert result.is_markdown and result.headings is None


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n# Two", "One"),
        ("text\n\n   # Three spaces ##  \n", "Three spaces"),
        ("## Two\n\n# One", "One"),
        ("    # code\n", None),
        ("#tag\n#\n# \n", None),
        ("```\n# in a fence\n```\n# After", "After"),
        ("~~~~ sh\n~~~\n# in it still\n~~~~~\n# After", "After"),
        ("```\n# never closed", None),
        ("``` not `a fence\n# Title", "Title"),
        ("# C#", "C#"),
        ("---\ntitle: Front\n---\n# Body", "Front"),
        ("---\nx: 1\ntitle:   'It''s'  \n---\n", "It's"),
        ('---\ntitle: "A \\"b\\""\n---\n', 'A "b"'),
        ("---\ntitle: Plain # comment\n---\n", "Plain"),
        ("---\ntitle: >-\n  folded\n---\n# Body", "Body"),
        ("---\nsubtitle: no\n---\n# Body", "Body"),
        ("---\ntitle: x\n# Never closed", "Never closed"),
        ("text\n---\ntitle: x\n---\n", None),
        ("", None),
    ],
)
def test_a_markdown_title_is_the_front_matters_or_the_first_h1(text: str, title: str | None) -> None:
    assert markdown(text).title == title


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(["# A", "## B", "```", "~~~", "    # c", "text", "# D #", "", "``` x", "#e"]), max_size=8)
)
def test_the_title_is_the_first_h1_that_chunking_sees(lines: list[str]) -> None:
    text = "\n".join(lines)
    first = next((heading.title for heading in atx_headings(text) if heading.level == 1), None)
    assert markdown(text).title == first


@pytest.mark.parametrize(
    "text",
    [
        "# x" + " " * 1_000_000 + "y",
        "# " + "# " * 500_000 + "y",
        "---\ntitle: x" + " " * 60_000 + "y\n---\n",
        "---\n" + "title:\n" * 500_000,
        "`" * 1_000_000,
        "#\n" * 300_000,
    ],
    ids=["spaces", "hashes", "front matter", "no front matter", "ticks", "empty headings"],
)
def test_no_title_takes_long_to_find(text: str) -> None:
    started = time.process_time()
    markdown(text)
    assert time.process_time() - started < 2
