"""Inputs that fail are found by halving; an outage is nobody's fault."""

from collections.abc import Sequence

import numpy as np
import pytest

from activities.embed_inputs import ATTEMPTS, embed_inputs
from headwater.errors import TransientError


class Picky:
    """Embeds everything but texts that hold ``bad``; notes what it was asked."""

    identity, dimensions, max_tokens = "picky", 2, 100

    def __init__(self, *, error: type[Exception] = ValueError) -> None:
        self.calls: list[list[str]] = []
        self._error = error

    def embed(self, texts: Sequence[str]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        self.calls.append(list(texts))
        if any("bad" in text for text in texts):
            raise self._error("no")
        return np.array([[1.0, len(text)] for text in texts], dtype=np.float32)


def test_the_culprit_is_alone_in_the_end() -> None:
    embedder = Picky()
    texts = ["a", "b", "c", "bad", "e", "f", "g"]
    result = embed_inputs(embedder, texts)
    assert [text for text, vector in zip(texts, result, strict=True) if isinstance(vector, Exception)] == ["bad"]
    assert embedder.calls.count(["bad"]) == ATTEMPTS


def test_every_good_vector_belongs_to_its_text() -> None:
    texts = ["a", "bad", "ccc", "dddd"]
    result = embed_inputs(Picky(), texts)
    assert [float(vector[1]) for vector in result if not isinstance(vector, Exception)] == [1.0, 3.0, 4.0]


def test_an_outage_is_raised_and_blames_no_input() -> None:
    embedder = Picky(error=TransientError)
    with pytest.raises(TransientError):
        embed_inputs(embedder, ["a", "bad"])
    assert len(embedder.calls) == 1


def test_a_vector_that_is_not_finite_fails_its_text() -> None:
    class Broken(Picky):
        def embed(self, texts: Sequence[str]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
            return np.array([[float("nan") if text == "bad" else 1.0, 1.0] for text in texts], dtype=np.float32)

    result = embed_inputs(Broken(), ["good", "bad"])
    assert [isinstance(vector, Exception) for vector in result] == [False, True]
