"""How much of the nearest a search finds: the same questions asked as usual, and with ``exact=True``, which misses nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater.embedders import Embedder
from headwater.errors import StoreError, ValidationError
from headwater.limits import CONTEXT_TOKENS, RESULT_BYTES
from headwater.models import Authorization, Hit, RetrievalResult, Scope
from headwater.retriever import Retriever

NEAREST: Final = 10
SHOWN: Final = 16  # characters of each passage that are shown
SAME: Final = 1e-6  # scores of passages that are equally near

Vectors = NDArray[np.float32] | Sequence[Sequence[float]]


class Remembering:
    """An embedder that has the vector of the last text at hand, so that asking twice embeds once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._texts: tuple[str, ...] = ()
        self._vectors: Vectors = ()

    @property
    def identity(self) -> str:
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._texts != tuple(texts):
            self._texts, self._vectors = tuple(texts), self._embedder.embed(texts)
        return self._vectors


class Briefly:
    """A post-processor that shows the beginning of each passage: ten long ones would not fit, and what is cut is not compared."""

    def process(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return [hit.model_copy(update={"prompt_text": hit.text.strip()[:SHOWN]}) for hit in hits]


@dataclass(frozen=True, slots=True)
class Recall:
    """What came of some questions of one reader. Times are seconds of `retrieve`, without the embedding."""

    shares: tuple[float, ...]  # of the nearest ten, found: one for each question that has an answer
    short: int  # questions that got fewer passages than there are
    usual_s: tuple[float, ...]
    exact_s: tuple[float, ...]

    @property
    def questions(self) -> int:
        return len(self.shares)

    @property
    def average(self) -> float:
        return mean(self._answered())

    @property
    def worst(self) -> float:
        return min(self._answered())

    def _answered(self) -> tuple[float, ...]:
        if not self.shares:
            raise ValidationError(
                "No question had an answer, so there is no recall: ask as somebody who may read more."
            )
        return self.shares


def measure_recall(
    retriever: Retriever, questions: Iterable[str], *, scope: Scope, authorization: Authorization
) -> Recall:
    """Asks each question both ways. ``retriever`` is a `Retriever`, of which one question is asked at a time, and is to have a `Remembering` embedder, or the times hold the model's too.

    A passage as near as the tenth counts as found instead of it: of equals, either may be shown.
    """

    if getattr(retriever, "is_async", False):
        raise ValidationError("retriever must not be an AsyncRetriever: questions are timed one after the other.")

    def ask(question: str, *, exact: bool) -> tuple[float, RetrievalResult]:
        began = perf_counter()
        result = retriever.retrieve(
            question,
            scope=scope,
            authorization=authorization,
            top_k=NEAREST,
            exact=exact,
            post_processors=(Briefly(),),
            max_result_bytes=RESULT_BYTES.cap,
            max_context_tokens=CONTEXT_TOKENS.cap,
        )
        took_s = perf_counter() - began
        if result.check_error is not None:  # or it would count as one that missed all there is
            raise StoreError(result.check_error)
        return took_s, result

    shares: list[float] = []
    usual: list[float] = []
    exactly: list[float] = []
    short = 0
    for number, question in enumerate(questions):
        if number == 0:
            ask(question, exact=False)  # connects, embeds and plans
            ask(question, exact=True)
        first, second = (ask(question, exact=is_exact) for is_exact in ((False, True) if number % 2 else (True, False)))
        (usual_s, found), (exact_s, nearest) = (first, second) if number % 2 else (second, first)
        if not nearest.hits:
            continue
        usual.append(usual_s)
        exactly.append(exact_s)
        short += len(found.hits) < len(nearest.hits)
        shares.append(share_found(found, nearest))
    return Recall(tuple(shares), short, tuple(usual), tuple(exactly))


def share_found(found: RetrievalResult, nearest: RetrievalResult) -> float:
    """Of the nearest, the share that was found, or something as near."""
    last = min(hit.score for hit in nearest.hits) - SAME
    return min(len(nearest.hits), sum(hit.score >= last for hit in found.hits)) / len(nearest.hits)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of ``values`` does not exceed."""
    return float(np.percentile(np.asarray(values), 100 * share))
