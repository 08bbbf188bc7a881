"""Of 200,000 passages with the vectors of real texts, the nearest are found for whoever may read all, some, or next to none."""

from collections.abc import Iterator
from statistics import mean

import pytest

from headwater import Retriever
from tests.benchmarks import vectors
from tests.benchmarks.large_corpus import PASSAGES, Recipe, large_corpus
from tests.benchmarks.nearest import Found, found_by
from tests.benchmarks.readers import READERS
from tests.benchmarks.ready import ReadyEmbedder

# A quarter of the documents: copied more often, they are as many passages, and are embedded within the time that a test has.
RECIPE = Recipe(passages=PASSAGES, every=4, has_words=False)

pytestmark = [
    pytest.mark.soak,  # texts to embed, a graph to build, and every answer beside the exact one
    pytest.mark.skipif(not vectors.is_there(), reason="HEADWATER_TEST_DATA has no retrieval folder"),
]


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Found]]:
    """What each reader's questions found. Minutes, when the corpus has to be made: it is kept for the next time."""
    with (
        large_corpus(RECIPE) as corpus,
        Retriever.connect(corpus.database_url, embedder=ReadyEmbedder(corpus.made_of.real)) as retriever,
    ):
        yield {found.reader.name: found for found in found_by(corpus, retriever, READERS)}


def test_ninety_nine_of_a_hundred_of_the_nearest_ten_are_found_on_average(found: dict[str, Found]) -> None:
    shares = {name: each.average for name, each in found.items()}
    assert len(shares) == len(READERS)
    assert mean(shares.values()) >= 0.99, shares


@pytest.mark.parametrize("reader", [reader.name for reader in READERS])
def test_nine_of_ten_are_found_for_each_kind_of_reader(found: dict[str, Found], reader: str) -> None:
    assert found[reader].average >= 0.9


@pytest.mark.parametrize("reader", [reader.name for reader in READERS])
def test_no_answer_is_short_and_none_holds_what_may_not_be_read(found: dict[str, Found], reader: str) -> None:
    assert (found[reader].short, found[reader].foreign) == (0, 0)
