"""What is read of a workbook: every tab, with values as people see them."""

from datetime import date, datetime, time, timedelta
from io import BytesIO
from zipfile import ZipFile

import pytest
from openpyxl import Workbook
from openpyxl.comments import Comment

from activities.parsers import Extraction, ParseFailure, parse
from activities.parsers.office.cell_values import Form, Formats, form_of, shown
from tests.unit.small_office import archive, relations, xlsx

CHARS = 1 << 20


def saved(book: Workbook) -> bytes:
    buffer = BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def read(data: bytes) -> Extraction:
    result = parse("a.xlsx", data, None, CHARS)
    assert isinstance(result, Extraction), result
    return result


def test_every_tab_is_read_under_its_name_and_cells_are_apart() -> None:
    book = Workbook()
    first = book.active
    assert first is not None
    first.title = "People"
    first.append(["Name", "Town", "Age"])
    first.append(["Ada", "London", 36])
    second = book.create_sheet("Hidden away")
    second.sheet_state = "hidden"
    second.append(["NEEDLE"])
    book.create_sheet("Empty")
    last = book.create_sheet("日本")
    last["C5"] = "left\nof it"
    last["E5"] = "right"
    last["C6"] = "below"
    last["C9"] = "apart"
    result = read(saved(book))
    assert result.text == (
        "People\n\nName | Town | Age\nAda | London | 36\n\nHidden away\n\nNEEDLE\n\n"
        "日本\n\nleft of it |  | right\nbelow\n\napart"
    )
    headings = [(result.text[start:end], level) for start, end, level in result.headings or []]
    assert headings == [("People", 1), ("Hidden away", 1), ("日本", 1)]
    assert result.is_markdown and result.title is None and result.missing is None


def test_values_are_read_as_they_are_shown() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for value in (
        True, 0.1 + 0.2, 1e21, -5, date(2026, 3, 1), datetime(2026, 3, 1, 14, 30), datetime(2026, 3, 1, 14, 30, 5),
        time(9, 5), timedelta(hours=30, minutes=5), "'quoted", "  spaced  out ",
    ):  # fmt: skip
        sheet.append([value])
    for value, number_format in ((0.125, "0.0%"), (0.07, "0%"), (46082, "dd/mm/yyyy"), (1234.5, '#,##0.00 "kr dy"')):
        sheet.append([value])
        sheet.cell(sheet.max_row, 1).number_format = number_format
    assert read(saved(book)).text.split("\n")[2:] == [
        "TRUE", "0.3", "1e+21", "-5", "2026-03-01", "2026-03-01 14:30", "2026-03-01 14:30:05",
        "09:05", "30:05", "'quoted", "spaced out", "12.5%", "7%", "2026-03-01", "1234.5",
    ]  # fmt: skip


def test_a_formula_is_its_last_result() -> None:
    rows = '<row r="1"><c r="A1"><f>B1*2</f><v>84</v></c><c r="B1" t="str"><f>T()</f><v>text</v></c></row>'
    assert read(xlsx(rows)).text == "One\n\n84 | text"


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ('<c t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c><c><v>2</v></c>', "inline | 2"),
        ('<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>99</v></c><c t="s"><v>x</v></c>', "日本 | rich text"),
        ('<c t="e"><v>#N/A</v></c><c t="b"><v>0</v></c>', "#N/A | FALSE"),
        ('<c t="d"><v>2026-03-01T10:30:00.000Z</v></c>', "2026-03-01 10:30:00"),
        ('<c r="A1"><v>1</v></c><c r="C1"/><c r="XFD1"><v>2</v></c>', "1 |  |  |  |  |  |  |  |  | 2"),
        ('<c r="B1"><v>2</v></c><c r="A1"><v>1</v></c>', "1 | 2"),
        ('<c s="7"><v>1</v></c><c s="x"><v>007</v></c><c><v>abc</v></c><c><v>nan</v></c>', "1 | 007 | abc | nan"),
    ],
)
def test_cells_of_every_writer_are_read(cells: str, text: str) -> None:
    strings = "<si><t>日本</t><rPh><t>にほん</t></rPh></si><si><r><t>rich </t></r><r><t>text</t></r></si>"
    assert read(xlsx(f"<row>{cells}</row>", strings=strings)).text == f"One\n\n{text}"


def test_days_are_counted_from_1904_where_the_workbook_says_so() -> None:
    styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    rows = '<row><c s="1"><v>1</v></c></row>'
    assert read(xlsx(rows, styles=styles)).text.endswith("1900-01-01")
    assert read(xlsx(rows, styles=styles, book='<workbookPr date1904="1"/>')).text.endswith("1904-01-02")


@pytest.mark.parametrize(
    ("code", "form"),
    [
        ("General", None),
        ("0.00", None),
        ("0.00E+00", None),
        ('#,##0 "days"', None),
        ("[Red]#,##0;[Blue]-#,##0", None),
        ("#,##0\\y", None),
        ("@", None),
        ("yyyy\\-mm\\-dd", "date"),
        ("[$-409]d\\-mmm\\-yy;@", "date"),
        ("mmm", "date"),
        ("ge.m.d", "date"),
        ("h:mm AM/PM", "time"),
        ("mm:ss.0", "time"),
        ("[h]:mm", "elapsed"),
        ("m/d/yy h:mm", "datetime"),
        ("0%", "percent"),
    ],
)
def test_a_format_says_what_a_number_is(code: str, form: Form | None) -> None:
    assert form_of(code) == form


@pytest.mark.parametrize(
    ("raw", "form", "text"),
    [
        ("59", "date", "1900-02-28"),
        ("61", "date", "1900-03-01"),
        ("0.75", "time", "18:00"),
        ("2958465.5", "datetime", "2958465.5"),
        ("-1", "date", "-1"),
        ("1e300", "date", "1e+300"),
        ("-0.5", "elapsed", "-12:00"),
        ("inf", "percent", "inf"),
        ("inf", "elapsed", "inf"),
        ("nan", "date", "nan"),
    ],
)
def test_numbers_at_the_ends_of_the_calendar(raw: str, form: Form, text: str) -> None:
    assert shown(raw, kind="n", style=0, formats=Formats((form,))) == text


def test_a_tab_that_cannot_be_read_is_named() -> None:
    result = read(xlsx("<row><c><v>1</v></c></row>", "<row>", "<row><c><v>3</v></c></row>"))
    assert result.text == "One\n\n1\n\nThree\n\n3"
    assert result.missing == "Tab 2: unreadable."
    assert parse("a.xlsx", xlsx("<row>"), None, CHARS) == ParseFailure(
        "failed", "None of its text can be read. Tab 1: unreadable."
    )


def test_many_unreadable_tabs_are_counted() -> None:
    names = tuple(map(str, range(30)))
    result = read(xlsx("<row><c><v>1</v></c></row>", *["<row>"] * 29, names=names))
    assert result.missing is not None and result.missing.endswith("20, 21 and 9 more: unreadable.")


def test_comments_are_no_part_of_a_tab() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"] = "value"
    sheet["A1"].comment = Comment("talk", "Ada")
    assert read(saved(book)).text == "Sheet\n\nvalue"


def test_text_boxes_on_a_tab_stand_behind_its_rows() -> None:
    with ZipFile(BytesIO(xlsx("<row><c><v>1</v></c></row>", "<row><c><v>2</v></c></row>"))) as file:
        parts: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    box = "<a:p><a:r><a:t>in </a:t></a:r><a:r><a:t>the box</a:t></a:r></a:p><a:p><a:r><a:t>below</a:t></a:r></a:p>"
    parts["xl/worksheets/_rels/sheet1.xml.rels"] = relations(("rId1", "drawing", "../drawings/drawing1.xml"))
    parts["xl/drawings/drawing1.xml"] = f'<xdr:wsDr xmlns:xdr="urn:x" xmlns:a="urn:a"><xdr:sp>{box}</xdr:sp></xdr:wsDr>'
    assert read(archive(parts)).text == "One\n\n1\n\nin the box\nbelow\n\nTwo\n\n2"


def test_an_empty_workbook_is_empty() -> None:
    assert read(saved(Workbook())).text == ""
