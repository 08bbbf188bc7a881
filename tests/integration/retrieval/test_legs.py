"""Both legs against a plain model: whoever asks, whatever is granted, labelled, filtered, deleted or of the past."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pytest

from headwater import Authorization, Scope, ValidationError
from headwater.embedders.hashing import HashEmbedder
from headwater.store.db import connect
from headwater.store.question import Question
from headwater.store.rows import Candidate, Found, read_rows
from headwater.store.search import Space, Terms, Ways, as_halfvec, search_parameters, search_statement
from tests.integration.retrieval.corpus_rows import FOREVER, LABELS, CorpusRows, Source
from tests.integration.retrieval.legs_model import Document, Model, Place

WORDS = [
    "red",
    "green",
    "blue",
    "amber",
    "violet",
    "cyan",
    "approvals",
    "approval",
    "take",
    "two",
    "days",
    "Get-ChildItem",
    "v1.2.3",
    "don't",
    "C++",
    "東京",
    "a\\b",
]
READERS = ["user:alice", "user:bob", "group:eng", "everyone"]
FILTERS: list[dict[str, Any] | None] = [
    None,
    None,
    {"team": "hr"},
    {"year": {"gte": 2}},
    {"team": {"ne": "hr"}},
    {"page": {"in": [1, 2]}, "year": {"lt": 3}},
]
DIMENSIONS = 8
# Ways so narrow that a corpus of forty sources takes each of them.
WAYS = {
    "shared": None,
    "compared": Ways(few_chunks=9_999),
    "walked": Ways(few_chunks=-1, postings=9_999),
    "picked": Ways(few_chunks=-1, postings=6),
    "by size": Ways(few_chunks=20, postings=20),
}


class Corpus:
    """A corpus in the database and in the model."""

    def __init__(self, rows: CorpusRows, seed: int = 0) -> None:
        self.rows, self.model, self.random = rows, Model(), random.Random(seed)

    def fill(self) -> None:
        """Forty random sources, over five generations."""
        for generation in range(1, 6):
            self.rows.log(generation)
        for number in range(40):
            self._add(f"s{number:02}")
        self.rows.count_terms()

    def _add(self, source_id: str) -> None:
        chance = self.random
        labels = chance.choices([*LABELS], [1, 6, 2, 1], k=1)
        readers = chance.sample(READERS, chance.randrange(4))
        until = chance.choice([FOREVER, FOREVER, 3])
        spans = [(1, until), (3, FOREVER)] if until == 3 else [(chance.choice([1, 1, 4]), until)]
        row = [self._publish(source_id, labels[0], readers, span) for span in spans][-1]
        self.model.labels[source_id] = LABELS[labels[0]]
        if chance.random() < 0.1:
            self.model.labels[source_id] = 3
            self.rows.label(row, "restricted")
        if chance.random() < 0.1:
            fence = chance.choice([1, 3])
            self.model.fences[source_id] = fence
            self.rows.delete(row, gen=fence)
        if chance.random() < 0.08:
            self.model.tombstones.add(source_id)
            self.rows.tombstone(source_id, "forgotten")

    def _publish(self, source_id: str, label: str, readers: list[str], span: tuple[int, int]) -> Source:
        chance = self.random
        count = chance.randrange(1, 4)
        document = Document(
            source_id,
            [" ".join(chance.choices(WORDS, k=chance.randrange(1, 9))) for _ in range(count)],
            [[chance.randrange(-2, 3) for _ in range(DIMENSIONS)] for _ in range(count)],
            frozenset(readers),
            LABELS[label],
            chance.choice([{}, {"team": "hr"}, {"team": "it", "year": 2}, {"year": 3.0}, {"year": "2"}]),
            [chance.choice([{}, {"page": 1}, {"page": 2, "year": 1}]) for _ in range(count)],
            *span,
        )
        self.model.documents.append(document)
        return self.rows.add(
            source_id,
            *document.texts,
            readers=readers,
            sensitivity=label,
            metadata=document.metadata,
            chunk_metadata=document.chunk_metadata,
            vectors=document.vectors,
            gen_from=document.gen_from,
            gen_to=document.gen_to,
        )


@pytest.fixture(scope="module")
def asking(reading: str) -> Iterator[psycopg.Connection]:
    with connect(reading) as connection:
        yield connection


def make_corpus(dsn: str, name: str, seed: int, *, is_large: bool) -> Corpus:
    scope = Scope(tenant_id="t1", resource_id="docs", corpus_id=name)
    with psycopg.connect(dsn, autocommit=True) as writing:
        rows = CorpusRows(writing, scope, HashEmbedder(DIMENSIONS), live_gen=5)
        if is_large:
            rows.begin_build(is_large=True)
        corpus = Corpus(rows, seed)
        corpus.fill()
        if is_large:
            rows.make_graph()
        rows.show_build()
    return corpus


def make_question(corpus: Corpus, chance: random.Random, **changes: Any) -> Question:
    who = chance.choice(["alice", "bob", "carol"])
    asked: dict[str, Any] = {
        "authorization": Authorization(principal_id=who, tenant_id="t1", group_ids=chance.choice([(), ("eng",)])),
        "scope": corpus.rows.scope,
        "top_k": 1,
        "candidates": chance.choice([1, 3, 10, 128]),
        "lexical": "bm25",
        "filter": chance.choice(FILTERS),
        "sensitivities": chance.choice([None, None, ["public", "internal"], [*LABELS]]),
        "generation": chance.choice([None, None, 2, 4]),
    }
    query = " ".join(chance.choices([*WORDS, "absent"], k=chance.randrange(1, 5)))
    return Question.checked(query, **{**asked, **changes})


def ask(
    connection: psycopg.Connection, corpus: Corpus, question: Question, vector: list[float], ways: Ways | None
) -> Found:
    scope, space = corpus.rows.scope, Space(corpus.rows.embedder.identity, DIMENSIONS)
    slab = corpus.rows.slab
    sql = search_statement("headwater", space, question, scope, slab, ways or Ways())
    asked_terms = None if question.lexical == "off" else Terms.of(question.query, "words-2:english")
    bound = search_parameters(question, scope, space, as_halfvec(np.asarray(vector, np.float32)), asked_terms)
    return read_rows(connection.execute(sql, bound).fetchall(), question, scope, space)


def in_leg(found: Found, rank: str) -> list[Candidate]:
    ranked = sorted((getattr(each, rank), each) for each in found.candidates if getattr(each, rank) is not None)
    assert [number for number, _ in ranked] == [*range(1, len(ranked) + 1)]
    return [each for _, each in ranked]


def place(candidate: Candidate) -> Place:
    return candidate.source_id, candidate.chunk_no


def passages(corpus: Corpus, question: Question) -> list[Any]:
    who = question.authorization
    names = [f"user:{who.principal_id}", *(f"group:{name}" for name in who.group_ids), "everyone"]
    return corpus.model.allowed(names, question.generation or 5, question.labels, question.filter)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 12), marks=pytest.mark.long)], ids=["once", "often"])
def test_both_legs_find_what_a_plain_model_finds(
    reading: str, asking: psycopg.Connection, way: str, seeds: range
) -> None:
    for seed in seeds:
        corpus = make_corpus(reading, f"legs-{way.replace(' ', '-')}-{seed}", seed, is_large=way != "shared")
        for number in range(40):
            check(asking, corpus, random.Random(seed * 1_000 + number), WAYS[way])


def check(connection: psycopg.Connection, corpus: Corpus, chance: random.Random, ways: Ways | None) -> None:
    question = make_question(corpus, chance)
    vector = [chance.choice([-1.0, 0.5, 1.0, 2.0]) for _ in range(DIMENSIONS)]
    found = ask(connection, corpus, question, vector, ways)
    allowed = passages(corpus, question)
    near = [place(each) for each in in_leg(found, "vector_rank")]
    matching = in_leg(found, "lexical_rank")
    wanted = corpus.model.matching(allowed, question.query)

    assert {place(each) for each in found.candidates} <= {where for where, _, _ in allowed}
    assert near == corpus.model.nearest(allowed, vector)[: question.candidates]
    assert len(matching) == min(question.candidates, len(wanted)), "never short"
    assert {place(each) for each in matching} <= corpus.model.sharing(allowed, question.query)
    assert all(each.similarity is not None for each in found.candidates)
    scores = {where: score for score, where in wanted}
    for each in found.candidates:  # also where only the other leg ranked it
        assert each.lexical_score == pytest.approx(scores.get(place(each), 0), rel=1e-4)
    if found.lexical_is_exact:
        expected = wanted[: question.candidates]
        assert [place(each) for each in matching] == [where for _, where in expected]
        assert [each.lexical_score for each in matching] == pytest.approx([score for score, _ in expected], rel=1e-4)
    else:
        assert way_may_miss(ways)


@pytest.mark.parametrize("way", ["shared", "walked"])
def test_the_other_lexical_leg_finds_the_same_passages_in_its_own_order(
    reading: str, asking: psycopg.Connection, way: str
) -> None:
    corpus = make_corpus(reading, f"fts-{way}", 3, is_large=way != "shared")
    for number in range(25):
        chance = random.Random(number)
        question = make_question(corpus, chance, lexical="fts", candidates=128)
        found = ask(asking, corpus, question, [1.0] * DIMENSIONS, WAYS[way])
        matching = in_leg(found, "lexical_rank")

        assert found.lexical_is_exact
        assert {place(each) for each in matching} == corpus.model.sharing(passages(corpus, question), question.query)
        ordered = [(-each.lexical_score, place(each)) for each in matching if each.lexical_score is not None]
        assert ordered == sorted(ordered) and all(score < 0 for score, _ in ordered)


def way_may_miss(ways: Ways | None) -> bool:
    return ways is not None and ways.postings < 9_999


def test_a_corpus_without_words_says_how_it_gets_them(reading: str, asking: psycopg.Connection, scope: Scope) -> None:
    with psycopg.connect(reading, autocommit=True) as writing:
        rows = CorpusRows(writing, scope, HashEmbedder(DIMENSIONS), lexicon=None)
        rows.add("one", "text", readers=["everyone"])
    corpus = Corpus(rows)
    question = make_question(corpus, random.Random(1), filter=None, generation=None)

    with pytest.raises(ValidationError, match=f"headwater reindex --corpus {scope}"):
        ask(asking, corpus, question, [1.0] * DIMENSIONS, None)
    assert ask(asking, corpus, replace(question, lexical="off"), [1.0] * DIMENSIONS, None).candidates
