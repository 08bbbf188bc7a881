"""What a re-index understands as a chunker."""

import pytest

from activities.begin_reindex import parse_chunker
from activities.store.requests import InvalidInput

OWN = (1000, 100)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("chars", OWN),
        ("chars:400", (400, 40)),
        ("chars:5", (5, 0)),
        ("chars:400/0", (400, 0)),
        ("chars:400/399", (400, 399)),
        ("chars/1 size=600 overlap=60 tokens=any", (600, 60)),
        ("chars/1 size=600 overlap=60 tokens=254", (600, 60)),  # the limit in tokens is the new embedder's
    ],
)
def test_a_chunker_is_two_sizes(text: str, sizes: tuple[int, int]) -> None:
    assert parse_chunker(text, OWN) == sizes


@pytest.mark.parametrize(
    "text", ["", "words", "chars:", "chars:x", "chars:0", "chars:400/", "chars:400/400", "chars:99999"]
)
def test_what_is_no_chunker_is_answered_with_the_grammar(text: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"^chunker: .* is not a chunker.*write chars, chars:SIZE or chars:SIZE/OVERLAP"
    ):
        parse_chunker(text, OWN)
