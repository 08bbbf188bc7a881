"""Thousands of passages at once, in clusters as real ones are, and what a search among them should find."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwater.store.search import as_halfvec
from tests.integration.retrieval.corpus_rows import CorpusRows

TOPICS = 50
EACH = 4  # passages a source


@dataclass(frozen=True)
class Many:
    """The sources of a corpus: their ids, and a row of vectors for each of their passages, as they are stored."""

    ids: Sequence[str]
    vectors: NDArray[np.float64]  # [source, passage, dimension], of length one
    topics: NDArray[np.float64]

    def question(self, topic: int, *, seed: int) -> NDArray[np.float64]:
        """The vector of something that is asked about a topic."""
        vector: NDArray[np.float64] = _near(self.topics[topic], np.random.default_rng(seed), 1)[0]
        return vector

    def nearest(self, question: NDArray[np.float64], allowed: Sequence[int], count: int) -> list[tuple[str, int]]:
        """Source and number of the ``count`` passages nearest to a question among those of the sources ``allowed``."""
        # As the statement gets it: written with six digits, the number beside a border of half precision falls on its other side.
        written = json.loads(as_halfvec(question.astype(np.float32)))
        stored = np.array(written, dtype=np.float32).astype(np.float16).astype(np.float64)
        stored /= np.linalg.norm(stored)
        passages = [
            (1 - float(self.vectors[source, number] @ stored), self.ids[source], number + 1)
            for source in allowed
            for number in range(EACH)
        ]
        return [(source_id, number) for _, source_id, number in sorted(passages)[:count]]


def fill(
    corpus: CorpusRows,
    readers: Sequence[Sequence[str]],
    *,
    seed: int = 1,
    text_of: Callable[[int, int], str] = lambda source, passage: "text",
) -> Many:
    """A source for each of ``readers``, who may read it; source ``n`` is about topic ``n % TOPICS``.

    ``text_of`` says what the words of its passages are, which count from 0.
    """
    rng, dimensions = np.random.default_rng(seed), corpus.embedder.dimensions
    topics = rng.normal(size=(TOPICS, dimensions))
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    ids = [f"s{number:05}" for number in range(len(readers))]
    vectors = np.stack([_near(topics[number % TOPICS], rng, EACH) for number in range(len(ids))])
    vectors = vectors.astype(np.float16).astype(np.float64)
    revisions = _revisions(corpus, ids, readers)
    table = corpus.written("{}.chunk")
    columns = "slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, body, tsv, bm, tiers"
    with corpus.connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN".encode()) as copy:
        for number, source_id in enumerate(ids):
            for passage in range(EACH):
                vector, text = str(vectors[number, passage].tolist()), text_of(number, passage)
                place = (corpus.slab, revisions[source_id], passage + 1, corpus.scope_id, 0, len(text))
                copy.write_row((*place, vector, b"", text, *corpus.words(text)))
    corpus.count_terms()
    return Many(ids, vectors / np.linalg.norm(vectors, axis=2, keepdims=True), topics)


def _near(topic: NDArray[np.float64], rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    spread = rng.normal(size=(count, topic.size)) / np.sqrt(topic.size)
    vectors: NDArray[np.float64] = topic + 0.8 * spread
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _revisions(corpus: CorpusRows, ids: Sequence[str], readers: Sequence[Sequence[str]]) -> dict[str, int]:
    """The rows of all sources, and the revision of each."""
    grantees = {name: corpus.grantee(name) for name in {name for names in readers for name in names}}
    grants = [str([grantees[name] for name in names]).replace("[", "{").replace("]", "}") for names in readers]
    known = {"scope_id": corpus.scope_id, "build_id": corpus.build_id, "ids": list(ids), "grants": grants, "each": EACH}
    for step in _STEPS:
        corpus.connection.execute(corpus.written(step).encode(), known)
    rows = corpus.connection.execute(corpus.written(_REVISIONS).encode(), known).fetchall()
    return dict(rows)


_STEPS = [
    """INSERT INTO {}.source (scope_id, source_id, grants, revision)
       SELECT %(scope_id)s, id, grants::int[], 1 FROM unnest(%(ids)s::text[], %(grants)s::text[]) AS new (id, grants)""",
    """INSERT INTO {}.document_version (scope_id, source_pk, revision, content_hash, source_seq, text)
       SELECT scope_id, source_pk, 1, '', 1, 'text' FROM {}.source WHERE scope_id = %(scope_id)s""",
    """INSERT INTO {}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, base_gen, n_chunks)
       SELECT scope_id, %(build_id)s, source_pk, version_id, 1, 1, 0, %(each)s
       FROM {}.document_version WHERE scope_id = %(scope_id)s""",
    """INSERT INTO {}.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
       SELECT rev_id, 1, build_id, source_pk, version_id, 1, 1, false FROM {}.revision WHERE build_id = %(build_id)s""",
]
_REVISIONS = """
    SELECT s.source_id, r.rev_id FROM {}.revision r JOIN {}.source s ON s.source_pk = r.source_pk
    WHERE r.build_id = %(build_id)s"""
