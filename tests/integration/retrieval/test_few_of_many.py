"""Somebody who may read next to nothing of a large corpus gets as many passages as they ask for, and the right ones."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from headwater import Authorization, Retriever, Scope
from tests.integration.retrieval.large_rows import DIMENSIONS, large_corpus
from tests.integration.retrieval.many_rows import EACH, TOPICS, fill

SOURCES = 50_000 // EACH
MINE = range(1_234, SOURCES, SOURCES // 5)


class Pointing:
    """An embedder that embeds every text as the vector it was given."""

    def __init__(self, identity: str) -> None:
        self.identity, self.dimensions, self.max_tokens = identity, DIMENSIONS, 99
        self.vector: NDArray[np.float64] = np.ones(DIMENSIONS)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.vector[np.newaxis, :].astype(np.float32)


@pytest.mark.soak
def test_ten_passages_are_found_of_the_twenty_among_fifty_thousand_that_somebody_may_read(
    reading: str, scope: Scope
) -> None:
    with large_corpus(reading, scope.corpus_id) as large:
        readers = [["user:all", "user:few"] if number in MINE else ["user:all"] for number in range(SOURCES)]
        many = fill(large.rows, readers)
        large.rows.make_graph()
        large.rows.show_build()
        assert len(MINE) * EACH == 20
        embedder = Pointing(large.rows.embedder.identity)
        with Retriever.connect(reading, embedder=embedder) as retriever:
            for topic in range(0, TOPICS, 5):
                embedder.vector = many.question(topic, seed=topic)
                who = Authorization(principal_id="few", tenant_id="t1")
                hits = retriever.retrieve("?", scope=scope, authorization=who, top_k=10).hits

                found = [(hit.source_id, int(hit.chunk_id.rpartition("#")[2])) for hit in hits]
                assert found == many.nearest(embedder.vector, [*MINE], 10)
