"""What an office file may not do: unpack without end, refer to what is outside, or take a parser down."""

import time
import tracemalloc
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from activities.parsers import Extraction, ParseFailure, parse
from activities.parsers.office.package import Damaged, Package, Relation, TooMuch
from tests.unit.small_office import archive, content_types, docx, p, relations, wrapped, xlsx

CHARS = 1 << 20
ENCRYPTED = ParseFailure("encrypted", "It is encrypted and needs a password. Save it without one.")


def read(data: bytes, max_chars: int = CHARS) -> Extraction | ParseFailure:
    return parse("a.docx", data, None, max_chars)


SHARED = '<c t="s"><v>0</v></c>'
INLINE = f'<c t="inlineStr"><is><t>{"x" * 5000}</t></is></c>'


class Silent:
    """A visitor that keeps nothing."""

    def start(self, name: str, attributes: object) -> None: ...

    def data(self, text: str) -> None: ...

    def end(self, name: str) -> None: ...


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha ha ha ha ha ha ha ha ha ha">'
    + "".join(f'<!ENTITY {chr(n)} "{f"&{chr(n - 1)};" * 10}">' for n in range(ord("b"), ord("k")))
    + "]>"
)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (LAUGHS, p("&j;")),
        (LAUGHS, '<w:p w:x="&j;"/>'),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', p("&a;")),
        ('<!DOCTYPE x SYSTEM "http://192.0.2.1/x.dtd">', p("x")),
        ('<!DOCTYPE x [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>', p("x")),
        ("<!DOCTYPE x>", p("x")),
    ],
)
def test_a_document_type_declaration_ends_the_reading_at_once(head: str, body: str) -> None:
    started = time.process_time()
    result = read(docx(body, head=head))
    assert isinstance(result, ParseFailure) and result.state == "failed" and "damaged" in result.reason
    assert time.process_time() - started < 1


def test_a_declaration_hides_in_no_encoding() -> None:
    data = docx("", related={})
    with ZipFile(BytesIO(data)) as file:
        parts: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    hidden = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE x [<!ENTITY a "b">]><document>&a;</document>'
    result = read(archive({**parts, "word/document.xml": hidden.encode("utf-16")}))
    assert isinstance(result, ParseFailure) and "document type" in result.reason


def test_parts_of_an_archive_are_read_within_a_budget_and_never_held_whole() -> None:
    bomb = archive({"big.xml": b"<x>" + b" " * (64 << 20) + b"</x>"})
    assert len(bomb) < 100_000
    tracemalloc.start()
    with pytest.raises(TooMuch):
        Package(bomb, unpacked_max=32 << 20).visit("big.xml", Silent())
    Package(bomb, unpacked_max=65 << 20).visit("big.xml", Silent())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_the_budget_is_one_for_all_parts() -> None:
    package = Package(archive({"a.xml": b"<x>" + b" " * 1000 + b"</x>"}), unpacked_max=2_500)
    package.visit("a.xml", Silent())
    package.visit("a.xml", Silent())
    with pytest.raises(TooMuch):
        package.visit("a.xml", Silent())


@pytest.mark.parametrize(
    "data",
    [
        docx(p("word " * 1000) * 400),
        docx(f"<w:tbl><w:tr><w:tc>{p('word ' * 1000) * 400}</w:tc></w:tr></w:tbl>"),
        xlsx(f"<row>{SHARED}</row>" * 500, strings=f"<si><t>{'x' * 5000}</t></si>"),
        xlsx(f"<row>{SHARED * 500}</row>", strings=f"<si><t>{'x' * 5000}</t></si>"),
        xlsx(f"<row>{INLINE * 400}</row>"),
        xlsx("<row/>", strings=f"<si><t>{'x' * 5000}</t></si>" * 400),
    ],
    ids=["body", "cell", "rows", "one row", "inline", "strings"],
)
def test_text_beyond_the_limit_is_not_collected(data: bytes) -> None:
    read(data, max_chars=10)  # imports what it needs
    tracemalloc.start()
    result = read(data, max_chars=20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result == ParseFailure("too_large", "It has more than 20,000 characters of text.")
    assert peak < 1_000_000


def test_an_archive_that_says_less_than_it_holds_is_damaged() -> None:
    data = docx(p("x" * 1000))
    with ZipFile(BytesIO(data)) as file:
        size = file.getinfo("word/document.xml").file_size
    result = read(data.replace(size.to_bytes(4, "little"), (size // 2).to_bytes(4, "little")))
    assert isinstance(result, ParseFailure) and result.state == "failed"


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_is_damaged(cut: float) -> None:
    data = docx(p("text"))
    result = read(data[: int(len(data) * cut)])
    assert isinstance(result, ParseFailure) and result.state in ("failed", "unsupported")


def test_every_flipped_byte_is_survived() -> None:
    data = bytearray(docx(p("some text"), related={"styles": wrapped("styles", "")}))
    for position in range(0, len(data), 3):
        data[position] ^= 0xFF
        parse("a.docx", bytes(data), None, CHARS)
        data[position] ^= 0xFF


def test_elements_nested_without_end_are_damage() -> None:
    result = read(docx("<w:sdt>" * 100_000))
    assert isinstance(result, ParseFailure) and result.state == "failed"


def test_an_encrypted_part_and_an_encrypted_file_are_encrypted() -> None:
    data = bytearray(docx(p("x")))
    position = -1
    while (position := data.find(b"PK\x01\x02", position + 1)) >= 0:
        data[position + 8] |= 1
    assert read(bytes(data)) == ENCRYPTED
    assert read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")) == ENCRYPTED


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"[Content_Types].xml": "<Types/>"}, "no office document"),
        ({"[Content_Types].xml": "<Types/>", "_rels/.rels": relations(("a", "officeDocument", "gone.xml"))}, "no office"),
        (
            {
                "[Content_Types].xml": content_types("xl/workbook.bin", "application/vnd.ms-excel.sheet.binary.macroEnabled.main"),
                "_rels/.rels": relations(("a", "officeDocument", "xl/workbook.bin")),
                "xl/workbook.bin": b"\0",
            },
            "of a kind that no parser reads",
        ),
        (
            {
                "[Content_Types].xml": content_types("visio/document.xml", "application/vnd.ms-visio.drawing.main+xml"),
                "_rels/.rels": relations(("a", "officeDocument", "visio/document.xml")),
                "visio/document.xml": "<x/>",
            },
            "of a kind that no parser reads",
        ),
    ],
)  # fmt: skip
def test_other_archives_are_unsupported(parts: dict[str, str | bytes], reason: str) -> None:
    result = read(archive(parts))
    assert isinstance(result, ParseFailure) and result.state == "unsupported" and reason in result.reason


def test_documents_in_an_archive_do_not_make_it_one() -> None:
    result = read(archive({"inner.docx": docx(p("x"))}))
    assert isinstance(result, ParseFailure) and result.state == "unsupported"


def test_parts_are_found_by_relation_whatever_their_names_and_never_outside(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<x/>")
    package = Package(
        archive(
            {
                "a/_rels/b.xml.rels": relations(
                    ("1", "image", "../Media\\One.XML"), ("2", "up", f"../../../../..{secret}"), ("3", "root", "/c.xml")
                ),
                "media/one.xml": "<x/>",
                "c.xml": "<x/>",
            }
        )
    )
    assert package.relations("a/b.xml")["3"] == Relation("root", "c.xml")
    assert package.related("a/b.xml", "image") and package.related("a/b.xml", "root") == ["c.xml"]
    assert package.related("a/b.xml", "up") == []
    with pytest.raises(Damaged):
        package.visit(str(secret), Silent())


def test_macro_files_and_templates_are_read() -> None:
    data = docx(p("x"))
    with ZipFile(BytesIO(data)) as file:
        parts: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    for kind in (
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    ):
        result = read(archive({**parts, "[Content_Types].xml": content_types("word/document.xml", kind)}))
        assert isinstance(result, Extraction) and result.text == "x"


def test_thirty_thousand_cells_are_read_in_a_moment() -> None:
    row = "".join(f'<c r="{letter}1" t="s"><v>{n % 2}</v></c><c><v>{n}.5</v></c>' for n, letter in enumerate("ACEGI"))
    data = xlsx(f"<row>{row}</row>" * 3_000, strings="<si><t>first text</t></si><si><t>second</t></si>")
    started = time.process_time()
    result = parse("a.xlsx", data, None, 8 << 20)
    assert isinstance(result, Extraction) and result.text.count("\n") >= 3_000
    assert time.process_time() - started < 2


def test_an_archive_made_by_streaming_is_read() -> None:
    buffer = BytesIO()
    with ZipFile(BytesIO(docx(p("x")))) as file, ZipFile(buffer, "w", ZIP_DEFLATED) as streamed:
        for name in file.namelist():
            with streamed.open(name, "w", force_zip64=True) as part:
                part.write(file.read(name))
    result = read(buffer.getvalue())
    assert isinstance(result, Extraction) and result.text == "x"
