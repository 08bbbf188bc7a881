"""`make bench-query`: questions to a corpus of 200,000 passages: how fast, how much of the nearest, and beside what.

Recall first: the readers' figures say how much of the nearest ten the usual search finds. Times are without the embedding of
the question, which is the same for all ways. Goals that are missed are printed as MISSED, and the command then ends with 1.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import cycle, islice
from statistics import median
from time import perf_counter
from typing import Any, Final

from headwater import AsyncRetriever, Retriever, StoreError, resolve_reranker
from headwater.embedders.onnx import OnnxEmbedder
from headwater.recall import percentile
from headwater.store.db import connect
from headwater.store.search import Ways
from tests.benchmarks.bare_search import BareSearches
from tests.benchmarks.large_corpus import PASSAGES, SCOPE, LargeCorpus, Recipe, large_corpus
from tests.benchmarks.measuring import Figure, Reading
from tests.benchmarks.nearest import found_by
from tests.benchmarks.readers import ALL, READERS, Reader
from tests.benchmarks.ready import ReadyEmbedder
from tests.benchmarks.vectors import QUESTIONS

RECALL: Final = 0.99
RECALL_OF_EACH: Final = 0.9
TIMES_STATEMENT: Final = 1.5
TIMES_FASTER: Final = 20
WORD_PAIRS: Final = 20  # of common words
CALLERS: Final = 16
ASKED_BY_CALLERS: Final = 20  # each
KINDS: Final[dict[str, dict[str, Any]]] = {
    "vector": {},
    "hybrid, bm25": {"lexical": "bm25"},
    "hybrid, fts": {"lexical": "fts"},
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.query", description=__doc__)
    parser.add_argument("--passages", type=int, default=PASSAGES, help="of the corpus (%(default)s)")
    parser.add_argument("--every", type=int, default=1, help="made of each N-th real document (%(default)s)")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="asked, evenly of all (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each question is asked (%(default)s)")
    asked = parser.parse_args()
    is_met = True
    with _opened(Recipe(asked.passages, asked.every), asked.questions) as (corpus, retriever, bare):
        figures: Sequence[Callable[[], Figure]] = (
            lambda: _recall(corpus, retriever),
            lambda: _speed(corpus, retriever, bare, rounds=asked.rounds),
            lambda: _readers(corpus, retriever),
            lambda: _words(bare),
            lambda: _reranked(corpus, retriever),
            lambda: asyncio.run(_throughput(corpus)),
        )
        for measure in figures:
            figure = measure()
            print(figure, flush=True)
            is_met &= all(reading.is_met for reading in figure.readings)
    return 0 if is_met else 1


@contextmanager
def _opened(recipe: Recipe, questions: int) -> Iterator[tuple[LargeCorpus, Retriever, BareSearches]]:
    with large_corpus(recipe) as whole, connect(whole.database_url) as connection:
        corpus = _asked_less(whole, questions)
        embedder = ReadyEmbedder(corpus.made_of.real)
        with Retriever.connect(whole.database_url, embedder=embedder) as retriever:
            yield corpus, retriever, BareSearches(connection, corpus, embedder)


def _asked_less(corpus: LargeCorpus, questions: int) -> LargeCorpus:
    real = corpus.made_of.real
    chosen = [number * len(real.questions) // questions for number in range(min(questions, len(real.questions)))]
    some = replace(
        real, questions=[real.questions[each] for each in chosen], question_vectors=real.question_vectors[chosen]
    )
    return replace(corpus, made_of=replace(corpus.made_of, real=some))


def _recall(corpus: LargeCorpus, retriever: Retriever) -> Figure:
    all_found = list(found_by(corpus, retriever, READERS))
    readings = [
        Reading(
            f"{found.reader.name}, who may read {found.readable:,}",
            found.average,
            f"worst {min(found.shares):.2f}",
            at_least=RECALL_OF_EACH,
            digits=3,
        )
        for found in all_found
    ]
    average = sum(found.average for found in all_found) / len(all_found)
    readings.append(Reading("all of them, on average", average, at_least=RECALL, digits=3))
    readings.append(Reading("answers with fewer passages than there are", sum(f.short for f in all_found), at_most=0))
    readings.append(Reading("passages that were not to be read", sum(f.foreign for f in all_found), at_most=0))
    passages, questions = len(corpus.made_of.vectors), len(corpus.made_of.real.questions)
    return Figure(f"Recall of the nearest 10 of {passages:,} passages, {questions} questions", readings)


def _speed(corpus: LargeCorpus, retriever: Retriever, bare: BareSearches, *, rounds: int) -> Figure:
    questions = list(corpus.made_of.real.questions)
    readings = []
    for kind, arguments in KINDS.items():

        def asked(question: str, arguments: dict[str, Any] = arguments) -> float:
            return _timed(retriever, question, ALL, arguments)

        def stated(question: str, arguments: dict[str, Any] = arguments) -> float:
            return bare.library_statement(question, **arguments)

        whole, statement = _in_turn(questions, rounds, asked, stated)
        readings += [
            *_times(f"{kind}: retrieve", whole),
            *_times(f"{kind}: its statement alone", statement),
            Reading(
                f"{kind}: retrieve to its statement, p50",
                median(whole) / median(statement),
                "times",
                at_most=TIMES_STATEMENT,
            ),
        ]
    retrieved, plain = _in_turn(questions, rounds, lambda q: _timed(retriever, q, ALL, {}), bare.without_grants)
    readings += [
        *_times("the graph in plain SQL, without grants", plain),
        Reading("vector: retrieve to plain SQL without grants, p50", median(retrieved) / median(plain), "times"),
    ]
    return Figure(f"Speed, for a reader of all: {len(questions)} questions, {rounds} rounds", readings)


def _readers(corpus: LargeCorpus, retriever: Retriever) -> Figure:
    questions = corpus.made_of.real.questions
    readings = []
    for reader in READERS:
        for kind in ("vector", "hybrid, bm25"):
            readings += _times(f"{reader.name}: {kind}", [_timed(retriever, q, reader, KINDS[kind]) for q in questions])
    return Figure("Speed of retrieve, by who asks", readings)


def _words(bare: BareSearches) -> Figure:
    words = bare.common_words(2 * WORD_PAIRS)
    pairs = list(zip(words[::2], words[1::2], strict=True))
    hybrid: list[float] = []
    plain: list[float] = []
    shares: list[float] = []
    exact = 0
    for pair in pairs:
        question = " ".join(pair)
        of_all, _ = bare.best_by_words(question, ways=Ways(postings=len(bare.corpus.made_of.vectors) * 2))
        best, is_exact = bare.best_by_words(question)
        shares.append(sum(score > of_all[-1] - 1e-6 for score in best) / len(of_all))
        exact += is_exact
        rounds = range(5 if pair == pairs[0] else 3)
        hybrid.append(median(bare.library_statement(question, lexical="bm25") for _ in rounds))
        plain.append(median(bare.ranked_by_cover_density(pair) for _ in rounds))
    faster = [one / other for one, other in zip(plain, hybrid, strict=True)]
    return Figure(
        "Two common words: both legs of the library, and ts_rank_cd in plain SQL without grants",
        [
            Reading("the two most common: hybrid, bm25: its statement", hybrid[0] * 1e3, "ms"),
            Reading("the two most common: ts_rank_cd", plain[0] * 1e3, "ms"),
            Reading("the two most common: faster by", faster[0], "times", at_least=TIMES_FASTER),
            Reading(
                f"{WORD_PAIRS} pairs: faster by, median",
                median(faster),
                f"times, worst {min(faster):.1f}",
                at_least=TIMES_FASTER,
            ),
            Reading(
                f"{WORD_PAIRS} pairs: recall of the best ten by bm25",
                sum(shares) / WORD_PAIRS,
                f"worst {min(shares):.1f}",
                at_least=RECALL,
                digits=3,
            ),
            Reading(f"{WORD_PAIRS} pairs: answers that say they are exact", exact / WORD_PAIRS, digits=2),
        ],
    )


def _reranked(corpus: LargeCorpus, retriever: Retriever) -> Figure:
    reranker = resolve_reranker("local", embedder=OnnxEmbedder.from_spec("minilm"), timeout_s=10)
    arguments: dict[str, Any] = {
        "lexical": "bm25",
        "fusion": "weighted",
        "reranker": reranker,
        "on_rerank_error": "keep",
        "candidates": 50,
    }
    questions = corpus.made_of.real.questions[::6]
    given_up = 0
    seconds: list[list[float]] = []
    for _ in ("first", "again"):
        seconds.append([])
        for question in questions:
            began = perf_counter()
            result = retriever.retrieve(question, scope=SCOPE, authorization=ALL.authorization, **arguments)
            seconds[-1].append(perf_counter() - began)
            given_up += result.rerank_error is not None
    return Figure(
        f"Hybrid and reranked by the local model, 50 candidates, {len(questions)} questions",
        [
            *_times("passages it has not seen", seconds[0]),
            *_times("the same again", seconds[1]),
            Reading("given up after 10 s", given_up, at_most=0, digits=0),
        ],
    )


async def _throughput(corpus: LargeCorpus) -> Figure:
    questions = corpus.made_of.real.questions
    readings = []
    async with AsyncRetriever.connect(corpus.database_url, embedder=ReadyEmbedder(corpus.made_of.real)) as retriever:
        for kind, arguments in KINDS.items():

            async def caller(number: int, arguments: dict[str, Any] = arguments) -> int:
                """How many were answered: of slow ones, some find no connection free in time."""
                answered = 0
                for question in islice(cycle(questions), number, number + ASKED_BY_CALLERS):
                    with suppress(StoreError):
                        await retriever.retrieve(question, scope=SCOPE, authorization=ALL.authorization, **arguments)
                        answered += 1
                return answered

            await caller(0)
            began = perf_counter()
            answered = sum(await asyncio.gather(*map(caller, range(CALLERS))))
            took = perf_counter() - began
            readings.append(Reading(kind, answered / took, "questions/s", digits=1))
            readings.append(Reading(f"{kind}: turned away", CALLERS * ASKED_BY_CALLERS - answered, digits=0))
    return Figure(f"{CALLERS} callers of one AsyncRetriever at once", readings)


def _in_turn(
    questions: list[str], rounds: int, one: Callable[[str], float], other: Callable[[str], float]
) -> tuple[list[float], list[float]]:
    """Seconds of both for each question, now one first and now the other. A first round is not counted."""
    ones: list[float] = []
    others: list[float] = []
    for round_ in range(rounds + 1):
        for number, question in enumerate(questions):
            if (round_ + number) % 2:
                other_s, one_s = other(question), one(question)
            else:
                one_s, other_s = one(question), other(question)
            if round_:
                ones.append(one_s)
                others.append(other_s)
    return ones, others


def _timed(retriever: Retriever, question: str, reader: Reader, arguments: dict[str, Any]) -> float:
    began = perf_counter()
    retriever.retrieve(question, scope=SCOPE, authorization=reader.authorization, **arguments)
    return perf_counter() - began


def _times(what: str, seconds: list[float]) -> list[Reading]:
    return [
        Reading(f"{what}, p50", median(seconds) * 1e3, "ms"),
        Reading(f"{what}, p95", percentile(seconds, 0.95) * 1e3, "ms"),
    ]


if __name__ == "__main__":
    sys.exit(main())
