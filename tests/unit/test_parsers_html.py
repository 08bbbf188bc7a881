"""What a reader of a page sees becomes text, and nothing else does."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.parsers import Extraction
from activities.parsers.html import parse
from activities.parsers.normalise import normalise


def page(markup: str | bytes) -> Extraction:
    result = parse(markup if isinstance(markup, bytes) else markup.encode(), charset=None)
    assert isinstance(result, Extraction)
    return result


def outline(result: Extraction) -> list[tuple[int, str]]:
    assert result.headings is not None
    return [(level, result.text[start:end]) for start, end, level in result.headings]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        # blocks
        ("<p>one<p>two", "one\n\ntwo"),
        ("<div>one</div><div>two</div>", "one\ntwo"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<ul><li>a<li>b</ul>c", "a\nb\n\nc"),
        ("<table><tr><th>A<th>B<tr><td>1<td>2</table>", "A B\n1 2"),
        ("<p>a<h2>b</h2>c", "a\n\nb\n\nc"),
        # spaces
        ("<p>  a \n\t b <b> c</b> </p>", "a b c"),
        ("<b>a</b><i>b</i>", "ab"),
        ("a&nbsp;&#160; b", "a b"),
        ("全角　空白", "全角　空白"),
        ("<pre>\n  def f():\n\n\n\treturn 1\n</pre>x", "  def f():\n\n\n\treturn 1\n\nx"),
        ("<pre>a <b>b</b>\n c</pre>", "a b\n c"),
        # characters
        ("&lt;p&gt; &amp;amp; &eacute; &#x1F600; &#128;", "<p> &amp; é 😀 €"),
        ("e&#769;", "é"),
        ("e<b>&#769;</b>", "é"),
        ("a&#0;b\x00c\x1bd", "a\ufffdb\ufffdc\ufffdd"),
        # what is not shown
        ("a<script>no()</script><style>no</style><!-- no -->b", "ab"),
        ("<script>if (a < b) { '</p>' }", ""),
        ("<script>x</script language><p>y", "y"),
        ("<template><p>no</template>a<noscript><p>no</noscript>", "a"),
        ("<div hidden><p>no</p></div>a", "a"),
        ("<p hidden>no<p>a", "a"),
        ("<br hidden>a<img hidden>b<input type=hidden value=no>", "ab"),
        ("<div hidden=until-found>a</div>", "a"),
        ("<i aria-hidden=true>a</i>", "a"),
        ("<div style='color:red; DISPLAY : none !important'>no</div>a", "a"),
        ("<div style='visibility:hidden'>no</div>a", "a"),
        ("<div style='--display:none-such; x-display:none'>a</div>", "a"),
        ("<dialog>no</dialog><dialog open>a</dialog><details><summary>b</summary>c</details>", "a\n\nb\nc"),
        ("<svg><title>no</title><desc>no</desc><text>a</text></svg>", "a"),
        ("<iframe>no</iframe><object>no</object><video>no</video>a", "a"),
        # tags that only seem to be some
        ("<scr<script>no</script>ipt>alert(1)</script>", "noipt>alert(1)"),
        ("<<b>p>x", "<p>x"),
        ("<a title='<p>no</p>'>x</a>", "x"),
        ("&lt;script&gt;x&lt;/script&gt;", "<script>x</script>"),
        ("no markup", "no markup"),
        ("", ""),
    ],
)
def test_visible_text(markup: str, text: str) -> None:
    assert page(markup).text == text


def test_headings_are_told_apart_from_text_that_looks_like_one() -> None:
    result = page("<p># no heading</p><h2> Real <i>one</i> </h2><pre># no comment either</pre>")
    assert outline(result) == [(2, "Real one")]
    assert result.is_markdown


@pytest.mark.parametrize(
    ("markup", "headings"),
    [
        ("<h1><div>A</div></h1>", [(1, "A")]),
        ("<h1>A<br>B</h1>", [(1, "A B")]),
        ("<h1></h1><h2> </h2><h3>C</h3>", [(3, "C")]),
        ("<h1>never closed<p>one<p>two", [(1, "never closed")]),
        ("<h1>A<h2>B</h2></h1>", [(1, "A"), (2, "B")]),
        ("<h1 hidden>no</h1><h2>B</h2>", [(2, "B")]),
        ("<p>😀 e&#769;</p><h4>Ü&#776;</h4>", [(4, "Ü\u0308")]),
    ],
)
def test_the_outline_of_untidy_pages(markup: str, headings: list[tuple[int, str]]) -> None:
    assert outline(page(markup)) == headings


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title> A &amp;\n B </title><h1>C</h1>", "A & B"),
        ("<h2>B</h2><h1>C</h1><h1>D</h1>", "C"),
        ("<title></title><h1>C</h1>", "C"),
        ("<body><svg><title>icon</title></svg>x", None),
    ],
)
def test_the_title_is_the_pages_or_its_first_h1(markup: str, title: str | None) -> None:
    result = page(markup)
    assert result.title == title
    assert "icon" not in result.text


@pytest.mark.parametrize(
    ("markup", "encoding"),
    [
        ("<meta charset='windows-1251'><p>Да</p>", "cp1251"),
        ("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'><p>日本</p>", "cp932"),
        ("<meta charset=iso-8859-1><p>“x”</p>", "cp1252"),
        ("<meta charset=iso-8859-1><p>日本 is UTF-8 all the same</p>", "utf-8"),
        ("\ufeff<meta charset=koi8-r><p>日本</p>", "utf-16-le"),
        ("<?xml version='1.0' encoding='ascii'?><html><p>日本</p></html>", "utf-8"),
    ],
)
def test_a_pages_encoding(markup: str, encoding: str) -> None:
    expected = markup.rpartition("<p>")[2].partition("</p>")[0]
    assert page(markup.encode(encoding)).text == expected


@pytest.mark.parametrize("tag", ["div", "b", "span hidden", "table", "h1", "ul", "pre", "script", "a href=x"])
def test_a_hundred_thousand_nested_elements_lose_no_text_and_take_no_time(tag: str) -> None:
    name = tag.split()[0]
    markup = "<p>before</p>" + f"<{tag}>" * 100_000 + "deep" + f"</{name}>" * 100_000 + "<p>after</p>"
    started = time.process_time()
    result = page(markup)
    assert result.text.startswith("before")
    assert ("deep" in result.text) is (name not in ("span", "script"))
    assert result.text.endswith("after")
    assert time.process_time() - started < 5


MARKUP = st.lists(
    st.sampled_from(
        [
            "<p>",
            "</p>",
            "<h1>",
            "</h1>",
            "<h3>",
            "</h3>",
            "<div>",
            "</div>",
            "<pre>",
            "</pre>",
            "<br>",
            "<td>",
            "</table>",
            "<b>",
            "</b>",
            "<script>",
            "</script>",
            "<p hidden>",
            "<title>",
            "</title>",
            "<!--",
            "-->",
            "\n",
            " ",
            "&nbsp;",
            "&#13;",
            "&#769;",
            "e",
            "x y",
            "日本",
            "😀",
            "<",
            "&",
            "\x00",
            "<textarea>",
            "</textarea>",
            "&#x85;",
            "\u2028",
        ]
    ),
    max_size=30,
).map("".join)


@given(MARKUP)
@settings(max_examples=60)
def test_offsets_and_spelling_hold_for_any_markup(markup: str) -> None:
    result = page(markup)
    assert result.text == normalise(result.text)
    assert result.headings is not None
    for start, end, _ in result.headings:
        assert 0 <= start < end <= len(result.text)
        assert "\n" not in result.text[start:end] and result.text[start:end].strip()
        assert start == 0 or result.text[start - 1] == "\n"
        assert end == len(result.text) or result.text[end] == "\n"
