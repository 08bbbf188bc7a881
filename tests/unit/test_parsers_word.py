"""What is read of a Word document, and where its headings are."""

from io import BytesIO

import pytest
from docx import Document
from docx.document import Document as WordDocument

from activities.parsers import Extraction, ParseFailure, parse
from tests.unit.small_office import STRICT_W, docx, p, wrapped

CHARS = 1 << 20


def saved(document: WordDocument) -> bytes:
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def read(data: bytes) -> Extraction:
    result = parse("a.docx", data, None, CHARS)
    assert isinstance(result, Extraction), result
    return result


def titled(result: Extraction) -> list[tuple[str, int]]:
    return [(result.text[start:end], level) for start, end, level in result.headings or []]


def test_a_document_as_word_writes_it_is_read_in_order() -> None:
    document = Document()
    document.add_heading("Annual report", 0)
    document.add_heading("Sales", 1)
    document.add_paragraph("They rose.")
    document.add_heading("In Europe", 2)
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Bullet")
    table = document.add_table(2, 3)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {number}"
    document.add_paragraph("The end.")
    result = read(saved(document))
    assert result.text == (
        "Annual report\n\nSales\n\nThey rose.\n\nIn Europe\n\none\n\ntwo\n\n"
        "cell 0 | cell 1 | cell 2\ncell 3 | cell 4 | cell 5\n\nThe end."
    )
    assert titled(result) == [("Annual report", 1), ("Sales", 1), ("In Europe", 2)]
    assert result.title == "Annual report" and result.is_markdown and result.missing is None


def test_headers_footers_and_a_title_of_its_own_are_read() -> None:
    document = Document()
    document.core_properties.title = "  The\nPlan "
    document.add_paragraph("Body")
    section = document.sections[0]
    section.header.paragraphs[0].text = "HEAD NEEDLE"
    section.footer.paragraphs[0].text = "FOOT NEEDLE"
    section.different_first_page_header_footer = True
    section.first_page_header.paragraphs[0].text = "HEAD NEEDLE"
    result = read(saved(document))
    assert result.text == "HEAD NEEDLE\n\nBody\n\nFOOT NEEDLE"
    assert result.title == "The Plan"


def test_what_programs_put_for_a_title_is_none() -> None:
    document = Document()
    document.core_properties.title = "Word Document"
    document.add_heading("Lease", 1)
    assert read(saved(document)).title == "Lease"


def test_footnotes_and_endnotes_stand_at_the_end() -> None:
    related = {
        "endnotes": wrapped("endnotes", f"<w:endnote>{p('second')}</w:endnote>"),
        "footnotes": wrapped("footnotes", f"<w:footnote>{p('first')}</w:footnote>"),
    }
    assert read(docx(p("Body"), related=related)).text == "Body\n\nfirst\n\nsecond"


def test_a_part_that_cannot_be_read_makes_the_document_partial_and_a_broken_body_fails_it() -> None:
    result = read(docx(p("Body"), related={"header": "<w:hdr", "styles": "no XML", "footnotes": ""}))
    assert result.text == "Body" and result.missing == "Some of its header and footnotes cannot be read."
    broken = parse("a.docx", docx("<w:p>"), None, CHARS)
    assert broken == ParseFailure("failed", "It is damaged: a part of it is no XML.")


RUBY = (
    "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase>"
    "</w:ruby></w:r><w:r><w:t>京</w:t></w:r></w:p>"
)
INNER_TABLE = f"<w:tbl><w:tr><w:tc>{p('b')}</w:tc><w:tc>{p('c')}</w:tc></w:tr></w:tbl>"
BOX = "<w:txbxContent>" + p("in the box") + "</w:txbxContent>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        # a text box is written twice, for new and for old programs
        (
            p(
                "anchor",
                more=f"<w:r><mc:AlternateContent><mc:Choice Requires='wps'><wps:txbx>{BOX}</wps:txbx></mc:Choice>"
                f"<mc:Fallback><w:pict><v:textbox>{BOX}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>",
            ),
            "anchor\n\nin the box",
        ),
        (p("anchor", more=f"<w:r><w:pict><v:textbox>{BOX}</v:textbox></w:pict></w:r>"), "anchor\n\nin the box"),
        (
            f"<w:p><w:r><mc:AlternateContent><mc:Fallback>{BOX}</mc:Fallback></mc:AlternateContent></w:r></w:p>",
            "in the box",
        ),
        # content controls, links, insertions and formulas are text; deletions, field codes and hidden text are not
        (f"<w:sdt><w:sdtContent>{p('controlled')}</w:sdtContent></w:sdt>", "controlled"),
        ("<w:p><w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink></w:p>", "link"),
        (
            "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>",
            "new",
        ),
        (
            "<w:p><w:moveFrom><w:r><w:t>there</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t>here</w:t></w:r></w:moveTo></w:p>",
            "here",
        ),
        ("<w:p><w:r><w:instrText> PAGE </w:instrText></w:r><w:r><w:t>7</w:t></w:r></w:p>", "7"),
        ("<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>shown</w:t></w:r></w:p>", "shown"),
        ("<w:p><w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t>shown</w:t></w:r></w:p>", "shown"),
        ("<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr><w:r><w:t>shown</w:t></w:r></w:p>", "shown"),
        (RUBY, "東京"),
        # within a paragraph
        ("<w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t></w:r></w:p>", "a\nb"),
        ("<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r></w:p>", "a b"),
        ("<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>a</w:t></w:r><w:r><w:t>b</w:t></w:r></w:p>", "ab"),
        ("<w:p><w:r><w:t>e</w:t><w:noBreakHyphen/><w:t>mail</w:t><w:softHyphen/></w:r></w:p>", "e-mail"),
        (p("e&#x301;") + p("  ") + p("x"), "é\n\nx"),
        # lists are lines
        ("<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>1</w:t></w:r></w:p>" * 2, "1\n1"),
        # tables: rows are lines, cells are apart, also in tables within tables
        (f"<w:tbl><w:tr><w:tc>{p('a')}{p('b')}</w:tc><w:tc>{p('c')}</w:tc><w:tc/></w:tr></w:tbl>", "a b | c |"),
        (f"<w:tbl><w:tr><w:tc>{p('a')}</w:tc><w:tc>{INNER_TABLE}</w:tc></w:tr></w:tbl>", "a | b | c"),
        (f"<w:tbl><w:tr><w:tc/><w:tc/></w:tr></w:tbl>{p('x')}", "x"),
        # tables that lay out a page are no tables
        (f"<w:tbl><w:tr><w:tc>{p('a')}{p('b')}</w:tc></w:tr></w:tbl>", "a\n\nb"),
        (f"<w:tbl><w:tr><w:tc>{p('a' * 1001)}</w:tc><w:tc>{p('b')}</w:tc></w:tr></w:tbl>", f"{'a' * 1001}\n\nb"),
    ],
)
def test_the_text_that_a_reader_sees_is_read(body: str, text: str) -> None:
    assert read(docx(body)).text == text


def test_the_strict_form_of_the_standard_is_read_too() -> None:
    assert read(docx(p("strict"), namespace=STRICT_W)).text == "strict"


def test_styles_make_headings_by_their_built_in_names_levels_and_parents() -> None:
    styles = wrapped(
        "styles",
        '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="mine"><w:name w:val="Mine"/><w:basedOn w:val="berschrift2"/></w:style>'
        '<w:style w:styleId="flat"><w:name w:val="heading 3"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>'
        '<w:style w:styleId="own"><w:name w:val="X"/><w:pPr><w:outlineLvl w:val="3"/></w:pPr></w:style>'
        '<w:style w:styleId="ring"><w:name w:val="Y"/><w:basedOn w:val="ring"/></w:style>',
    )
    body = "".join(p(style, style=style) for style in ("berschrift2", "mine", "flat", "own", "ring", "gone"))
    changed = p("was a heading").replace(
        "<w:p>", '<w:p><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val="mine"/></w:pPr></w:pPrChange></w:pPr>'
    )
    by_itself = '<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>by itself</w:t></w:r></w:p>'
    data = docx(body + changed + by_itself, related={"styles": styles})
    assert titled(read(data)) == [("berschrift2", 2), ("mine", 2), ("own", 4), ("by itself", 1)]


def test_a_document_without_anything_is_empty_and_one_of_images_has_no_text() -> None:
    assert read(docx("")).text == ""
    result = parse(
        "a.docx", docx("<w:p><w:r><w:drawing><a:blip xmlns:a='urn:a'/></w:drawing></w:r></w:p>"), None, CHARS
    )
    assert result == ParseFailure("no_text", "It holds images without text.")
