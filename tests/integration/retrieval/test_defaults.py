"""What a question gets that names no limit of its own: all of it up to the default, and nothing beyond."""

from collections.abc import Callable

import pytest

from headwater import AccessDenied
from tests.integration.retrieval.conftest import Ask
from tests.integration.retrieval.corpus_rows import CorpusRows
from tests.integration.retrieval.many_rows import fill

PREFIX = "[s#0001] "
NEAR = [1.0] * 64  # no embedder reads a text of so many words


def of_bytes(size: int) -> str:
    """Three bytes a character, so that few tokens are many bytes."""
    count, rest = divmod(size, 3)
    return "x" * rest + "漢" * count


def of_characters(size: int) -> str:
    return "x" * size


@pytest.mark.parametrize(
    ("text_of", "most", "arguments"),
    [
        (of_characters, 4 * 2_000, {}),  # tokens are four characters each
        (of_bytes, 64 * 1024, {"max_context_tokens": 8_000}),
    ],
    ids=["tokens", "bytes"],
)
def test_what_just_fits_is_whole_and_the_next_character_is_cut(
    corpus: CorpusRows, ask: Ask, text_of: Callable[[int], str], most: int, arguments: dict[str, int]
) -> None:
    room = most - len(PREFIX)
    source = corpus.add("s", text_of(room), vectors=[NEAR])
    fits = ask("x", **arguments)
    corpus.execute("DELETE FROM {}.span WHERE rev_id = %s", source.rev_id)
    corpus.add("s", text_of(room) + "漢", vectors=[NEAR])
    cut = ask("x", **arguments)

    assert (fits.text, fits.truncated) == (PREFIX + text_of(room), False)
    assert (cut.text, cut.truncated) == (fits.text, True)


def test_five_passages_are_shown(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("s", *["text"] * 6)

    assert len(ask("text").hits) == 5


def test_a_thousand_sources_that_the_store_kept_back_are_told_and_no_more(corpus: CorpusRows, ask: Ask) -> None:
    fill(corpus, [["user:bob"]] * 1_001)
    heard: list[AccessDenied] = []

    assert ask("text", on_access_denied=heard.append).hits == ()

    assert [denial.source_id for denial in heard] == [f"s{number:05}" for number in range(1_000)]
