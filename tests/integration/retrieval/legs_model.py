"""Both legs as a plain model in Python: every passage is looked at, and each rule is one line."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwater.filters import Filter
from headwater.lexical import K1, analyse, saturated, term_id
from tests.integration.retrieval.corpus_rows import AVERAGE, FOREVER

Place = tuple[str, int]


@dataclass(frozen=True)
class Document:
    """A revision of a source, with its passages."""

    source_id: str
    texts: Sequence[str]
    vectors: Sequence[Sequence[float]]
    readers: frozenset[str]
    label: int
    metadata: Mapping[str, Any]
    chunk_metadata: Sequence[Mapping[str, Any]]
    gen_from: int = 1
    gen_to: int = FOREVER


@dataclass
class Model:
    """What a corpus holds, and what a reader would find in it."""

    documents: list[Document] = field(default_factory=list)
    fences: dict[str, int] = field(default_factory=dict)
    tombstones: set[str] = field(default_factory=set)
    labels: dict[str, int] = field(default_factory=dict)  # of sources

    def allowed(
        self, names: Iterable[str], generation: int, labels: Sequence[int], wanted: Filter | None
    ) -> list[tuple[Place, str, Sequence[float]]]:
        """Every passage that may be found, with its text and vector."""
        reader = set(names)
        return [
            ((document.source_id, number + 1), text, document.vectors[number])
            for document in self.documents
            if document.gen_from <= generation < document.gen_to
            and document.gen_from > self.fences.get(document.source_id, 0)
            and document.source_id not in self.tombstones
            and reader & document.readers
            and max(document.label, self.labels[document.source_id]) in labels
            for number, text in enumerate(document.texts)
            if wanted is None or wanted.matches({**document.chunk_metadata[number], **document.metadata})
        ]

    def counts(self) -> tuple[Counter[int], int]:
        """In how many passages each term stands, among all that were ever added."""
        texts = [text for document in self.documents for text in document.texts]
        return Counter(number for text in texts for number in {*map(term_id, terms(text))}), len(texts)

    def nearest(self, passages: Sequence[tuple[Place, str, Sequence[float]]], question: Sequence[float]) -> list[Place]:
        """By distance, then by source and number."""
        return [
            place
            for _, place in sorted((round(_distance(vector, question), 4), place) for place, _, vector in passages)
        ]

    def matching(self, passages: Sequence[tuple[Place, str, Sequence[float]]], query: str) -> list[tuple[float, Place]]:
        """By BM25, then by source and number. Who has no term of the query is not among them."""
        df, count = self.counts()
        asked = Counter(terms(query))
        scored = []
        for place, text, _ in passages:
            has = Counter(terms(text))
            score = sum(
                said
                * inverse_frequency(df[term_id(term)], count)
                * saturated(has[term], length=has.total(), average=AVERAGE)
                for term, said in asked.items()
                if has[term]
            )
            if score > 0:
                scored.append((score, place))
        return sorted(scored, key=lambda each: (-round(each[0], 4), each[1]))

    def sharing(self, passages: Sequence[tuple[Place, str, Sequence[float]]], query: str) -> set[Place]:
        """The passages with any term of the query."""
        return {place for place, text, _ in passages if {*terms(text)} & {*terms(query)}}


def inverse_frequency(passages_with: int, passages: int) -> float:
    """The corpus's half of a weight: positive for any term, also for one that stands in every passage, or in none that was counted yet."""
    among = max(passages, passages_with)
    return math.log(1 + (among - passages_with + 0.5) / (passages_with + 0.5))


def terms(text: str) -> list[str]:
    return [token.term for token in analyse(text, "english")]


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    a, b = (np.asarray(each, np.float64) for each in (one, other))
    lengths = math.sqrt(float(a @ a) * float(b @ b))
    return 1 - float(a @ b) / lengths if lengths else 1.0


MOST = K1 + 1
