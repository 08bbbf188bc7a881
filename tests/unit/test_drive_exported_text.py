"""What is left of an exported text."""

import time
from base64 import b64encode
from random import Random

import pytest

from activities.connectors.drive.exported_text import clean_export

IMAGE = b64encode(Random(1).randbytes(3_000)).decode()
MARKDOWN = f"""# Plan

![a roof][image1] and ![][image2]

[image1]: <data:image/png;base64,{IMAGE}>
[image2]: <data:image/jpeg;base64,{IMAGE}>"""


@pytest.mark.parametrize(
    ("exported", "left"),
    [
        # a mark of byte order, and chips
        ("\ufeffMinutes", "Minutes"),
        ("Owner: \ue907 Ada", "Owner:  Ada"),
        # images: at the end, within the text, and as HTML
        (
            MARKDOWN,
            "# Plan\n\n![a roof][image1] and ![][image2]\n\n",
        ),
        (f"![alt](data:image/svg+xml;charset=utf-8;base64,{IMAGE}) after", "![alt](image) after"),
        (f'<img src="data:image/gif;base64,{IMAGE}" alt="x">', '<img src="image" alt="x">'),
        (f"[file](DATA:application/pdf;base64,{IMAGE})", "[file](data)"),
        # noise that says not what it is
        (f"before {IMAGE} after", "before data after"),
        # what only looks so
        ("data: image/png, and data:image/png", "data: image/png, and data:image/png"),
        ("[1]: https://a.test/data:x", "[1]: https://a.test/data:x"),
        ("acgt" * 300, "acgt" * 300),
        ("-" * 600, "-" * 600),
        (IMAGE[:400], IMAGE[:400]),
        ("日本" * 600, "日本" * 600),
        ("a\r\nb\tc", "a\r\nb\tc"),
    ],
)
def test_what_is_no_text_gives_way_to_a_placeholder(exported: str, left: str) -> None:
    assert clean_export(exported.encode()).decode() == left


def test_what_is_no_utf_8_is_left_to_the_parsers() -> None:
    assert clean_export(b"\xff\xfea\0") == b"\xff\xfea\0"
    assert clean_export(b"") == b""


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "data:image/" * 20_000, "[image1]: <data:" * 20_000, "aB1" * 100_000, " " * 300_000]
)
def test_no_text_takes_long_to_clean(text: str) -> None:
    started = time.process_time()
    clean_export(text.encode())
    assert time.process_time() - started < 1
