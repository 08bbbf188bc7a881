"""The vectors of all real texts, embedded once and kept: `python -m tests.benchmarks.vectors` makes them.

They are kept as `kept_vectors` says. Some ten minutes on two quiet cores; whoever interrupts it goes on where it stood.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater.chunking.profile import ChunkingProfile
from headwater.vectors import check_vectors
from tests.benchmarks.kept_vectors import CACHE, KeptEmbedder
from tests.benchmarks.real_texts import DATA, RealSource, real_questions, real_sources

PART: Final = 8  # texts embedded between two savings
SAID_EVERY: Final = 64
QUESTIONS: Final = 120  # evenly from all collections


@dataclass(frozen=True, slots=True)
class RealVectors:
    """What is known of the real texts: passages in the order of their sources, and some questions."""

    sources: Sequence[RealSource]
    vectors: NDArray[np.float32]  # of all passages, of length one
    questions: Sequence[str]
    question_vectors: NDArray[np.float32]
    identity: str

    @property
    def source_of(self) -> NDArray[np.int64]:
        """The number of the source of each passage."""
        return np.repeat(np.arange(len(self.sources)), [len(source.passages) for source in self.sources])


def is_there() -> bool:
    """There are texts to make vectors of."""
    return (DATA / "retrieval").is_dir()


def real_vectors(*, every: int = 1) -> RealVectors:
    """Of each document, or of each ``every``-th: from the cache where they are there, and else embedded now."""
    embedder = KeptEmbedder()
    sources = list(real_sources(ChunkingProfile.for_embedder(embedder), embedder.token_ends))[::every]
    questions = _some_questions()
    passages = [passage for source in sources for passage in source.passages]
    return RealVectors(
        sources,
        _embedded(embedder, passages),
        questions,
        _embedded(embedder, questions),
        identity=embedder.identity,
    )


def _some_questions() -> list[str]:
    of_collection: dict[str, list[str]] = {}
    for collection, question in real_questions():
        of_collection.setdefault(collection, []).append(question)
    each = QUESTIONS // len(of_collection)
    return [all_of_it[n * len(all_of_it) // each] for all_of_it in of_collection.values() for n in range(each)]


def _embedded(embedder: KeptEmbedder, texts: Sequence[str]) -> NDArray[np.float32]:
    parts = [texts[first : first + PART] for first in range(0, len(texts), PART)]
    vectors: list[NDArray[np.float32]] = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for part in threads.map(embedder.embed, parts):
            vectors.append(part)
            if len(vectors) % SAID_EVERY == 0:
                print(f"{len(vectors) * PART:,} of {len(texts):,} texts embedded", file=sys.stderr, flush=True)
    return check_vectors(np.concatenate(vectors), count=len(texts), dimensions=embedder.dimensions)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.vectors", description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th document")
    made = real_vectors(every=parser.parse_args().every)
    print(
        f"{len(made.vectors):,} passages of {len(made.sources):,} documents, {len(made.questions)} questions: {CACHE}"
    )


if __name__ == "__main__":
    main()
