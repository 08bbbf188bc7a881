"""A corpus of any size from the real texts: copies that are as near to the real ones as these are to each other.

Each round copies every document once. A copy is moved by the difference of two random real vectors, and each of its passages
by another: noise of the shape that the data has, since noise in all directions alike makes neighbours that no text has. A
copy lies at a cosine of about 0.8 from what it was copied from. Its words are the real ones, three in ten of them replaced by
words drawn from all texts, so that common words stay common.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.vectors import RealVectors

SHIFT: Final = 0.4  # of a whole document, and as much again of each passage, in differences of real vectors
REPLACED: Final = 0.3
TOPICS: Final = 100

_WORD: Final = re.compile(r"[A-Za-z0-9_-]+|[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Multiplied:
    """Passages in the order of their sources."""

    real: RealVectors
    vectors: NDArray[np.float32]  # of length one, rounded as they are stored
    source_of: NDArray[np.int64]
    number: NDArray[np.int64]  # within its source, from 1
    copied_from: NDArray[np.int64]  # the real passage
    topics: NDArray[np.int64]  # of each source: the nearest of some random real passages

    @property
    def source_count(self) -> int:
        return len(self.topics)

    def source_id(self, source: int) -> str:
        """The real id, and the round of copying."""
        round_, real = divmod(source, len(self.real.sources))
        return f"{self.real.sources[real].source_id}~{round_}"

    def title(self, source: int) -> str:
        return self.real.sources[source % len(self.real.sources)].title

    def texts(self) -> Iterator[str]:
        """The text of each passage, in order. Real ones first, as they are."""
        real = [passage for source in self.real.sources for passage in source.passages]
        pools = _pools(real)
        for passage, parent in enumerate(self.copied_from.tolist()):
            yield real[parent] if passage < len(real) else _reworded(real[parent], pools, seed=passage)


def multiplied(real: RealVectors, count: int, *, seed: int = 1) -> Multiplied:
    """``count`` passages: of the last round, as many as there is room for."""
    rng = np.random.default_rng(seed)
    real_source_of, passages = real.source_of, len(real.vectors)
    rounds = -(-count // passages)
    vectors = np.empty((count, real.vectors.shape[1]), dtype=np.float32)
    for round_ in range(rounds):
        first, last = round_ * passages, min(count, (round_ + 1) * passages)
        made = real.vectors[: last - first]
        if round_:
            of_source = SHIFT * _differences(real.vectors, len(real.sources), rng)
            of_passage = SHIFT * _differences(real.vectors, len(made), rng)
            made = np.asarray(made + of_source[real_source_of[: last - first]] + of_passage, dtype=np.float32)
        vectors[first:last] = _as_stored(made)
    numbers = np.concatenate([np.arange(1, 1 + len(source.passages)) for source in real.sources])
    parents = np.arange(count) % passages
    source_of = real_source_of[parents] + len(real.sources) * (np.arange(count) // passages)
    return Multiplied(real, vectors, source_of, numbers[parents], parents, _topics(vectors, source_of, real, rng))


def _differences(vectors: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    one, other = rng.integers(len(vectors), size=(2, count))
    difference: NDArray[np.float32] = vectors[one] - vectors[other]
    return difference


def _as_stored(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    stored: NDArray[np.float32] = unit.astype(np.float16).astype(np.float32)
    return stored


def _topics(
    vectors: NDArray[np.float32], source_of: NDArray[np.int64], real: RealVectors, rng: np.random.Generator
) -> NDArray[np.int64]:
    centres = real.vectors[rng.choice(len(real.vectors), TOPICS, replace=False)]
    first_passages = np.flatnonzero(np.diff(source_of, prepend=-1))
    topics: NDArray[np.int64] = np.argmax(vectors[first_passages] @ centres.T, axis=1)
    return topics


def _pools(texts: list[str]) -> tuple[list[str], list[str]]:
    """Words and Chinese characters as often as they occur."""
    words = [word for text in texts[::5] for word in _WORD.findall(text)]
    return [word for word in words if word.isascii()], [word for word in words if not word.isascii()]


def _reworded(text: str, pools: tuple[list[str], list[str]], *, seed: int) -> str:
    rng = random.Random(seed)
    draw, choice = rng.random, rng.choice
    words, characters = pools

    def replaced(word: re.Match[str]) -> str:
        if draw() >= REPLACED:
            return word[0]
        pool = words if word[0].isascii() else characters
        return choice(pool) if pool else word[0]

    return _WORD.sub(replaced, text)
