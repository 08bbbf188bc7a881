"""What a search of the large corpus should find, worked out with numpy, and how much of it was found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from headwater import Retriever
from headwater.limits import CONTEXT_TOKENS, RESULT_BYTES
from tests.benchmarks.large_corpus import SCOPE, LargeCorpus
from tests.benchmarks.multiplied import Multiplied
from tests.benchmarks.readers import Reader

NEAREST = 10
SAME = 1e-4  # half precision: what differs by less may come in either order


@dataclass(frozen=True, slots=True)
class Found:
    """How much of the nearest ten one reader's questions found."""

    reader: Reader
    readable: int  # passages
    shares: Sequence[float]
    short: int  # questions that got fewer passages than there are
    foreign: int  # passages that the reader may not read

    @property
    def average(self) -> float:
        return mean(self.shares)


def found_by(corpus: LargeCorpus, retriever: Retriever, readers: Sequence[Reader]) -> Iterator[Found]:
    """Each question of the corpus asked as each reader. ``retriever`` is to embed them as `RealVectors` has them."""
    made_of = corpus.made_of
    numbers = {
        (made_of.source_id(source), number): passage for passage, (source, number) in enumerate(_places(made_of))
    }
    masks = {reader: reader.may_read(made_of)[made_of.source_of] for reader in readers}
    similarities = [made_of.vectors @ _as_asked(vector) for vector in made_of.real.question_vectors]
    for reader, may_read in masks.items():
        wanted = min(NEAREST, int(may_read.sum()))
        if not wanted:
            continue  # of a small corpus, a thousandth may be nothing
        shares: list[float] = []
        short = foreign = 0
        for question, near in zip(made_of.real.questions, similarities, strict=True):
            worst = np.partition(near[may_read], -wanted)[-wanted] - SAME
            hits = retriever.retrieve(
                question,
                scope=SCOPE,
                authorization=reader.authorization,
                top_k=NEAREST,
                max_result_bytes=RESULT_BYTES.cap,
                max_context_tokens=CONTEXT_TOKENS.cap,
            ).hits
            found = [numbers[hit.source_id, int(hit.chunk_id.rpartition("#")[2])] for hit in hits]
            short += len(set(found)) < wanted
            foreign += sum(not may_read[passage] for passage in found)
            shares.append(min(wanted, sum(near[passage] >= worst for passage in set(found))) / wanted)
        yield Found(reader, int(may_read.sum()), shares, short, foreign)


def _places(corpus: Multiplied) -> Iterator[tuple[int, int]]:
    return zip(corpus.source_of.tolist(), corpus.number.tolist(), strict=True)


def _as_asked(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = vector / np.linalg.norm(vector)
    rounded: NDArray[np.float32] = unit.astype(np.float16).astype(np.float32)
    return rounded
