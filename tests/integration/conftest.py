"""A store on a database of the test's own."""

from collections.abc import Iterator

import pytest

from activities.store import Store
from tests.integration.staging_factory import Corpus, make_corpus


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An open store, empty but for its schema."""
    with Store.open(database) as opened:
        yield opened


@pytest.fixture
def corpus(store: Store) -> Corpus:
    """A corpus without documents, and a connector of it that holds its lease."""
    return make_corpus(store)
