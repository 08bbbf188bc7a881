"""What is read of a presentation, and where each slide begins."""

import tracemalloc
from base64 import b64decode
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.presentation import Presentation as Slides
from pptx.util import Inches

from activities.parsers import Extraction, ParseFailure, parse
from tests.unit.small_office import archive

CHARS = 1 << 20
PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
BOX = (Inches(1), Inches(1), Inches(4), Inches(2))


def saved(slides: Slides) -> bytes:
    buffer = BytesIO()
    slides.save(buffer)
    return buffer.getvalue()


def read(slides: Slides | bytes) -> Extraction:
    result = parse("a.pptx", slides if isinstance(slides, bytes) else saved(slides), None, CHARS)
    assert isinstance(result, Extraction), result
    return result


def changed(slides: Slides, part: str, data: bytes | None) -> bytes:
    """The presentation with one part of its archive replaced, or without it."""
    with ZipFile(BytesIO(saved(slides))) as file:
        parts: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    del parts[part]
    return archive(parts if data is None else {**parts, part: data})


def two_slides() -> Slides:
    slides = Presentation()
    for number in (1, 2):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        assert slide.shapes.title is not None
        slide.shapes.title.text = f"Title {number}"
        body: Any = slide.placeholders[1]  # its kind is not known before
        body.text = f"first point\nsecond point of {number}"
    return slides


def test_slides_are_pages_whose_titles_are_headings() -> None:
    result = read(two_slides())
    assert result.text == ("Title 1\n\nfirst point\nsecond point of 1\n\nTitle 2\n\nfirst point\nsecond point of 2")
    assert result.page_starts == [0, result.text.index("Title 2")]
    assert [(result.text[start:end], level) for start, end, level in result.headings or []] == [
        ("Title 1", 1),
        ("Title 2", 1),
    ]
    assert result.title == "Title 1" and result.missing is None


def test_notes_tables_groups_and_charts_are_read_after_the_title() -> None:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    table = slide.shapes.add_table(2, 2, *BOX).table
    for row in (0, 1):
        for column in (0, 1):
            table.cell(row, column).text = f"cell {row}{column}"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(*BOX).text_frame.text = "GROUPED NEEDLE"
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["East", "West"]
    data.add_series("Sales in 2026", (1, 2))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, data)
    assert slide.shapes.title is not None
    slide.shapes.title.text = "Figures"
    frame = slide.notes_slide.notes_text_frame
    assert frame is not None
    frame.text = "NOTES NEEDLE\nsaid aloud"
    result = read(slides)
    assert result.text.startswith("Figures\n\ncell 00 | cell 01\ncell 10 | cell 11\n\nGROUPED NEEDLE\n\n")
    assert result.text.endswith("\n\nNOTES NEEDLE\nsaid aloud")
    for needle in ("East", "West", "Sales in 2026"):
        assert needle in result.text
    assert result.page_starts == [0]


def test_numbers_and_dates_of_slides_are_no_content() -> None:
    slides = two_slides()
    xml = (
        '<p:sld xmlns:p="urn:p" xmlns:a="urn:a"><p:sp><p:nvPr><p:ph type="sldNum"/></p:nvPr><p:txBody><a:p><a:r><a:t>17'
        "</a:t></a:r></a:p></p:txBody></p:sp><p:sp><p:txBody><a:p><a:r><a:t>one</a:t></a:r><a:br/><a:r><a:t>two</a:t>"
        "</a:r></a:p></p:txBody></p:sp></p:sld>"
    )
    assert read(changed(slides, "ppt/slides/slide1.xml", xml.encode())).text.startswith("one\ntwo\n\nTitle 2")


def slide(body: str) -> bytes:
    return f'<p:sld xmlns:p="urn:p" xmlns:a="urn:a" xmlns:mc="urn:mc">{body}</p:sld>'.encode()


def shape(text: str) -> str:
    return f"<p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def test_a_shape_that_is_written_twice_for_old_programs_is_read_once() -> None:
    both = f"<mc:AlternateContent><mc:Choice>{shape('new')}</mc:Choice><mc:Fallback>{shape('old')}</mc:Fallback></mc:AlternateContent>"
    assert read(changed(two_slides(), "ppt/slides/slide1.xml", slide(both))).text.startswith("new\n\nTitle 2")


def test_a_slide_is_not_collected_beyond_the_limit() -> None:
    data = changed(two_slides(), "ppt/slides/slide1.xml", slide(shape("word " * 1000) * 400))
    parse("a.pptx", data, None, 10)  # imports what it needs
    tracemalloc.start()
    result = parse("a.pptx", data, None, 20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result == ParseFailure("too_large", "It has more than 20,000 characters of text.")
    assert peak < 1_000_000


def test_blank_slides_are_counted() -> None:
    slides = Presentation()
    for _ in range(3):
        slides.slides.add_slide(slides.slide_layouts[6])
    slides.slides[1].shapes.add_textbox(*BOX).text_frame.text = "two"
    result = read(slides)
    assert result.text == "two" and result.page_starts == [0, 0, 3]


@pytest.mark.parametrize("data", [b"<p:sld", None])
def test_a_slide_that_cannot_be_read_is_named(data: bytes | None) -> None:
    result = read(changed(two_slides(), "ppt/slides/slide1.xml", data))
    assert result.text.startswith("Title 2") and result.page_starts == [0, 0]
    assert result.missing == "Slide 1: unreadable."


def test_slides_of_pictures_have_no_text_and_no_slides_are_an_empty_document() -> None:
    assert read(Presentation()).text == ""
    slides = Presentation()
    slides.slides.add_slide(slides.slide_layouts[6]).shapes.add_picture(BytesIO(PNG), Inches(1), Inches(1))
    result = parse("a.pptx", saved(slides), None, CHARS)
    assert result == ParseFailure("no_text", "It holds images without text.")
