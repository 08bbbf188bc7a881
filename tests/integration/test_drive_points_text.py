"""Documents of Drive from their bytes to what a reader finds: what is no text is left out, and no file costs another one."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pypdf import PdfReader, PdfWriter

from activities.store import Store
from tests.drive.native import DOCX, PPTX, XLSX
from tests.integration.drive_corpus import ADA
from tests.integration.drive_desk import Desk, open_desk
from tests.unit.small_office import docx, p, wrapped
from tests.unit.small_pdf import make_pdf, words

IMAGE = b"/XObject<</I <</Type/XObject/Subtype/Image/Width 1/Height 1>>>>"
GOOD = "A good text that everything else must not cost."
_BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK" * 4_000


@pytest.fixture
def desk(store: Store, database: str, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(store, database, tmp_path) as desk:
        yield desk


def test_nul_bytes_are_gone_from_text_name_and_title_and_cost_no_other_document(desk: Desk) -> None:
    good = desk.put("good.txt", GOOD)
    plain = desk.put("nul\x00name.txt", b"before\x00after PLAIN")
    paper = desk.put(
        "canon.pdf", make_pdf([words("a scan by PAPER")], info=b"/Title(Canon\x00 scan)/Producer(Canon\x00)")
    )
    exported = desk.put_document("doc\x00ument", {"text/markdown": "# Exp\x00orted\n\nEXPORTED"})

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (4, 0)
    found = desk.corpus.found(ADA)
    assert found[good] == GOOD
    assert "PLAIN" in found[plain] and "PAPER" in found[paper] and "EXPORTED" in found[exported]
    assert all("\x00" not in str(hit) and "\\x00" not in repr(hit) for hit in desk.corpus.hits(ADA))
    assert desk.corpus.sync().did_nothing


def test_lone_surrogates_are_replaced_in_text_and_name_and_cost_no_other_document(desk: Desk) -> None:
    good = desk.put("good.txt", GOOD)
    plain = desk.put("half \ud835.txt", b"half a letter \xed\xa0\xb5 and PLAIN")
    page = desk.put("page.html", "<p>&#xD835; and PAGE</p>")

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (3, 0)
    found = desk.corpus.found(ADA)
    assert found[good] == GOOD
    assert "PLAIN" in found[plain] and "PAGE" in found[page]
    assert all(str(hit).encode() for hit in desk.corpus.hits(ADA))
    assert desk.corpus.sync().did_nothing


@pytest.mark.long
def test_tables_headers_and_text_boxes_of_word_files_are_found_with_their_cells_apart(desk: Desk) -> None:
    written = Document()
    written.add_paragraph("Body")
    written.sections[0].header.paragraphs[0].text = "HEADER"
    table = written.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "LEFT", "RIGHT"
    buffer = BytesIO()
    written.save(buffer)
    file = desk.put("report.docx", buffer.getvalue())
    box = f"<w:r><w:pict><v:textbox><w:txbxContent>{p('BOXED')}</w:txbxContent></v:textbox></w:pict></w:r>"
    notes = {"footnotes": wrapped("footnotes", f"<w:footnote>{p('FOOTNOTE')}</w:footnote>")}
    boxed = desk.put("boxed.docx", docx(p("Body", more=box), related=notes))

    desk.corpus.sync()

    found = desk.corpus.found(ADA)
    assert "HEADER" in found[file] and "LEFT | RIGHT" in found[file]
    assert "BOXED" in found[boxed] and "FOOTNOTE" in found[boxed]


def slides(title: str, notes: str) -> bytes:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    assert slide.shapes.title is not None and slide.notes_slide.notes_text_frame is not None
    slide.shapes.title.text = title
    slide.notes_slide.notes_text_frame.text = notes
    buffer = BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def workbook(**tabs: str) -> bytes:
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, cell in tabs.items():
        book.create_sheet(name)["B2"] = cell
    buffer = BytesIO()
    book.save(buffer)
    return buffer.getvalue()


@pytest.mark.long
def test_notes_of_slides_and_every_tab_of_a_spreadsheet_are_found_uploaded_or_exported(desk: Desk) -> None:
    deck, book = slides("Title", "SPOKEN"), workbook(First="ONE", Second="TWO")
    files = [
        desk.put("deck.pptx", deck),
        desk.put_document("deck", {PPTX: deck, "text/plain": "Title"}, kind="presentation"),
    ]
    books = [
        desk.put("book.xlsx", book),
        desk.put_document("book", {XLSX: book, "text/csv": ",\n,ONE"}, kind="spreadsheet"),
    ]

    desk.corpus.sync()

    found = desk.corpus.found(ADA)
    assert all("Title" in found[file] and "SPOKEN" in found[file] for file in files)
    assert all("ONE" in found[file] and "TWO" in found[file] for file in books)


def test_a_scan_says_that_it_has_no_text_and_takes_the_place_of_the_text_before_it(desk: Desk) -> None:
    scan = make_pdf([b"/I Do"], resources=IMAGE)
    fresh = desk.put("scan.pdf", scan)
    replaced = desk.put("paper.pdf", make_pdf([words("an old text with NEEDLE")]))
    assert desk.corpus.sync().upserted == 1
    assert "NEEDLE" in desk.corpus.found(ADA)[replaced]
    desk.world.write(replaced, scan)

    done = desk.corpus.sync()

    assert (done.failed, done.embedded) == (2, [])
    assert desk.corpus.found(ADA) == {}
    for file in (fresh, replaced):
        assert desk.corpus.state(file) == ("no_text", "Page 1: images without text.")
        assert {failure.source_id: failure.state for failure in done.failures}[f"drive:{file}"] == "no_text"
    again = desk.corpus.sync()
    assert again.read_nothing and again.failed == 2
    desk.world.write(replaced, make_pdf([words("a text again: LATER")]))
    assert desk.corpus.sync().upserted == 1
    assert "LATER" in desk.corpus.found(ADA)[replaced]


def locked(text: str, *, user_password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(make_pdf([words(text)]))))
    writer.encrypt(user_password=user_password, owner_password="owner", algorithm="AES-256")
    buffer = BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


@pytest.mark.long
def test_an_encrypted_file_says_so_and_one_that_only_its_owner_may_change_is_read(desk: Desk) -> None:
    good = desk.put("good.txt", GOOD)
    closed = desk.put("closed.pdf", locked("SECRET", user_password="user"))
    readable = desk.put("readable.pdf", locked("READABLE", user_password=""))

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (2, 1)
    assert desk.corpus.state(closed)[0] == "encrypted"
    found = desk.corpus.found(ADA)
    assert set(found) == {good, readable} and "READABLE" in found[readable]
    again = desk.corpus.sync()
    assert again.read_nothing and again.failed == 1


def test_images_within_an_exported_document_are_a_placeholder_and_no_passages(desk: Desk) -> None:
    text = f"# Plan\n\nBefore ![][image1] AFTER\n\n![inline](data:image/png;base64,{_BASE64})\n\nEND\n\n[image1]: <data:image/png;base64,{_BASE64}>\n"
    plan = desk.put_document("Plan", {"text/markdown": text})

    done = desk.corpus.sync()

    assert len(done.embedded) == 1
    found = desk.corpus.found(ADA)[plan]
    assert "AFTER" in found and "END" in found and "(image)" in found
    assert "iVBORw0K" not in found


@pytest.mark.long
def test_plain_exports_begin_without_a_byte_order_mark_and_have_no_signs_of_chips(desk: Desk) -> None:
    plain = desk.put_document("Plain", {"text/plain": "CHIP \ue907 and text"})

    done = desk.corpus.sync()

    assert desk.corpus.found(ADA) == {plain: "CHIP  and text"}
    assert done.exports == 2


@pytest.mark.long
def test_scripts_and_styles_of_a_page_are_not_found_and_entities_are_letters(desk: Desk) -> None:
    page = desk.put(
        "page.html",
        "<html><head><style>STYLED{}</style><script>SCRIPTED()</script></head>"
        "<body><p>caf&eacute;&nbsp;au lait</p><noscript>UNSEEN</noscript></body></html>",
    )
    desk.corpus.sync()

    assert desk.corpus.found(ADA) == {page: "café au lait"}


SCRIPTS = {
    "ja.txt": ("新しい倉庫は来年の春に横浜で開業する予定です。", "横浜で開業"),
    "zh.txt": ("发布说明:先 go 部署 到预发环境,再切换流量。", "go 部署"),
    "ar.txt": ("تقرير المبيعات السنوي للشركة في الشرق الأوسط", "المبيعات السنوي"),
    "he.txt": ("דוח המכירות השנתי של החברה", "המכירות השנתי"),
}


@pytest.mark.long
def test_a_part_of_a_text_without_spaces_or_from_right_to_left_finds_it_first(desk: Desk) -> None:
    files = {desk.put(name, text): name for name, (text, _) in SCRIPTS.items()}
    desk.corpus.sync()

    for name, (text, query) in SCRIPTS.items():
        (first, *_) = desk.corpus.hits(ADA, query)
        assert (files[first.source_id.removeprefix("drive:")], first.text) == (name, text)


def test_files_of_no_bytes_are_empty_and_are_not_asked_for_again(desk: Desk) -> None:
    files = [desk.put("nothing.txt", b""), desk.put("nothing.pdf", b""), desk.put("nothing.docx", b"", mime_type=DOCX)]
    good = desk.put("good.txt", GOOD)

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (4, 0)
    assert [desk.corpus.state(file) for file in files] == [("empty", None)] * 3
    assert desk.corpus.found(ADA) == {good: GOOD}
    assert desk.corpus.sync().did_nothing


@pytest.mark.long
def test_a_file_that_is_emptied_is_found_no_more(desk: Desk) -> None:
    file = desk.put("note.txt", "NEEDLE")
    desk.corpus.sync()
    desk.world.write(file, b"")

    done = desk.corpus.sync()

    assert (done.upserted, done.embedded) == (1, [])
    assert desk.corpus.found(ADA) == {}
    assert desk.corpus.state(file) == ("empty", None)


@pytest.mark.long
def test_the_bytes_decide_what_a_file_is_and_not_its_declared_type(desk: Desk) -> None:
    word = docx(p("WORD"))
    lies = {
        desk.put("plan.docx", word, mime_type="application/octet-stream"): "WORD",
        desk.put("plan", word, mime_type="text/plain"): "WORD",
        desk.put("paper.txt", make_pdf([words("PAPER")]), mime_type="application/x-unknown"): "PAPER",
        desk.put("list", "a,b\nROW,1\n", mime_type="application/x-csv"): "ROW",
        desk.put("empty", "EMPTY", mime_type="inode/x-empty"): "EMPTY",
        desk.put("loud", "LOUD", mime_type="Text/Plain; Charset=UTF-8"): "LOUD",
        desk.put("code.ts", "const TYPED = 1", mime_type="video/mp2t"): "TYPED",
    }
    noise = desk.put("noise.txt", bytes(range(256)) * 40, mime_type="text/plain")

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (len(lies), 1)
    assert desk.corpus.state(noise)[0] == "unsupported"
    found = desk.corpus.found(ADA)
    assert {file for file, needle in lies.items() if needle in found.get(file, "")} == set(lies)
