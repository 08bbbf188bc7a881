"""The text of a PDF's pages, where each begins, and what is said of what cannot be read."""

import zlib
from io import BytesIO

import pytest
from pypdf import PdfReader, PdfWriter

from activities.parsers import Extraction, ParseFailure
from activities.parsers.pdf import parse
from tests.unit.small_pdf import make_pdf, words

CHARS = 1 << 20
IMAGE = b"/XObject<</I <</Type/XObject/Subtype/Image/Width 1/Height 1>>>>"
NO_MAP = (
    b"<</Type/Font/Subtype/Type0/BaseFont/Song/Encoding/Identity-H/DescendantFonts"
    b"[<</Type/Font/Subtype/CIDFontType2/BaseFont/Song/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 0>>>>]>>"
)
BOMB = zlib.compress(b" " * (100 << 20), 9)


def read(data: bytes) -> Extraction:
    result = parse(data, max_chars=CHARS)
    assert isinstance(result, Extraction), result
    return result


def fail(data: bytes) -> ParseFailure:
    result = parse(data, max_chars=CHARS)
    assert isinstance(result, ParseFailure), result
    return result


def test_pages_are_joined_by_a_blank_line_and_found_by_offset() -> None:
    result = read(make_pdf([words("one"), words("two"), words("three")]))
    assert result.text == "one\n\ntwo\n\nthree"
    assert result.page_starts == [0, 5, 10]
    assert result.missing is None and not result.is_markdown and result.headings is None


def test_blank_pages_are_counted_and_missed_by_nobody() -> None:
    result = read(make_pdf([b"", words("two"), b"", words("four"), b""]))
    assert result.text == "two\n\nfour"
    assert result.page_starts == [0, 0, 5, 5, 9]
    assert result.missing is None


def test_ligatures_are_read_as_letters() -> None:
    font = b"<</Type/Font/Subtype/Type1/BaseFont/X/Encoding<</Type/Encoding/Differences[65/fi/fl/ff]>>>>"
    assert read(make_pdf([words("AxBxC")], font=font)).text == "fixflxff"


@pytest.mark.parametrize(
    ("info", "title"),
    [
        (b"/Title( The\n Report )", "The Report"),
        (b"/Title<FEFF65E5672C>", "日本"),
        (b"/Title(untitled)", None),
        (b"/Title 7", None),
        (b"", None),
    ],
)
def test_the_title_is_the_one_in_the_information_dictionary(info: bytes, title: str | None) -> None:
    assert read(make_pdf([words("x")], info=info)).title == title


def test_pages_that_cannot_be_read_are_named_and_the_others_kept() -> None:
    pages = [zlib.compress(words("one")), b"not deflated", zlib.compress(words("three")), BOMB, BOMB]
    result = read(make_pdf(pages, stream_keys=b"/Filter/FlateDecode"))
    assert result.text == "one\n\nthree"
    assert result.missing == "Page 2: unreadable. Pages 4-5: unreadable (LimitReachedError)."


def test_a_page_whose_end_is_damaged_is_read_in_part() -> None:
    packer = zlib.compressobj()
    whole = packer.compress(words("the beginning")) + packer.flush(zlib.Z_FULL_FLUSH)
    result = read(make_pdf([whole + b"\xff" * 40], stream_keys=b"/Filter/FlateDecode"))
    assert (result.text, result.missing) == ("the beginning", "Page 1: unreadable in part.")


def test_a_decompression_bomb_is_damage_not_text() -> None:
    failure = fail(make_pdf([BOMB], stream_keys=b"/Filter/FlateDecode"))
    assert failure == ParseFailure("failed", "None of its text can be read. Page 1: unreadable (LimitReachedError).")


def test_a_scan_has_no_text() -> None:
    failure = fail(make_pdf([b"", b""], resources=IMAGE))
    assert failure == ParseFailure("no_text", "Pages 1-2: images without text.")


def test_a_scanned_page_among_others_is_missing() -> None:
    result = read(make_pdf([words("one"), b""], resources=IMAGE))
    assert (result.text, result.missing) == ("one", "Page 2: images without text.")


def test_blank_paper_has_no_text() -> None:
    assert fail(make_pdf([b""])) == ParseFailure("no_text", "Its pages are blank.")


def test_noise_from_a_font_without_characters_is_no_text() -> None:
    failure = fail(make_pdf([words("codes")], font=NO_MAP))
    assert failure.state == "no_text" and "does not say which characters" in failure.reason


def encrypted(*, user: str, algorithm: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(make_pdf([words("sealed")]))))
    writer.encrypt(user, "owner", algorithm=algorithm)
    file = BytesIO()
    writer.write(file)
    return file.getvalue()


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_password_makes_it_encrypted_unless_it_is_empty(algorithm: str) -> None:
    assert fail(encrypted(user="secret", algorithm=algorithm)).state == "encrypted"
    assert read(encrypted(user="", algorithm=algorithm)).text == "sealed"


def test_encryption_for_certificates_is_encryption() -> None:
    data = make_pdf([words("x")]).replace(b"/Info 4 0 R", b"/Encrypt<</Filter/Adobe.PubSec/V 4>>")
    assert fail(data).state == "encrypted"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%PDF-1.7",
        b"%PDF-1.7" + bytes(range(256)) * 100,
        make_pdf([words("secret words")])[:200],
        b"%PDF-1.4\n1 0 obj\n" + b"[" * 200_000 + b"\nendobj\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF",
        make_pdf([words("secret words")]).replace(b"/Kids[5 0 R]", b"/Kids[2 0 R]"),
    ],
    ids=["empty", "header", "noise", "cut", "nested", "cyclic"],
)
def test_damage_is_said_in_plain_words_without_the_documents(data: bytes) -> None:
    failure = fail(data)
    assert failure.state == "failed"
    assert failure.reason.startswith("It is") and "secret" not in failure.reason


def test_reading_stops_where_there_is_too_much_text() -> None:
    result = parse(make_pdf([words("12345"), words("6")]), max_chars=5)
    assert result == ParseFailure("too_large", "It has more than 5 characters of text.")
