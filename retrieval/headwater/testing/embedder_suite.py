"""What every embedder must do, as a test that a host can run on its own."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater.embedders import Embedder, TokenCounter
from headwater.errors import LimitError
from headwater.vectors import check_vectors

_TEXTS: Final = (
    "How do I renew a visa?",
    "The committee approves requests within ten working days.",
    "年假为每年十五个工作日。",
    "Emoji 🙂, accents é è ü, and a ligature ﬁ",
    "!",
)
# Texts of one document must be alike to an embedder in any company; a little noise comes from engines that round.
_SAME: Final = 0.999


def check_embedder(embedder: Embedder) -> None:
    """Raises an `AssertionError` with one sentence for the first rule that ``embedder`` breaks."""
    _require(isinstance(embedder, Embedder), "An embedder has identity, dimensions, max_tokens and embed.")
    _check_identity(embedder)
    _check_shapes(embedder)
    _check_repetition(embedder)
    _check_threads(embedder)
    _check_nothing_is_cut_off(embedder)
    if isinstance(embedder, TokenCounter):
        _check_token_ends(embedder)
        _check_limit(embedder, embedder)


def _check_identity(embedder: Embedder) -> None:
    identity = embedder.identity
    _require(isinstance(identity, str) and 0 < len(identity) <= 1024, "identity is a string of 1 to 1,024 characters.")
    _require(identity.isprintable(), "identity is one printable line: it is stored and shown.")
    _require(identity == embedder.identity, "identity stays the same.")
    _require(1 <= embedder.dimensions <= 4096, "dimensions is from 1 to 4,096.")
    _require(embedder.max_tokens >= 1, "max_tokens is at least 1.")


def _check_shapes(embedder: Embedder) -> None:
    for count in range(len(_TEXTS) + 1):
        _embed(embedder, _TEXTS[:count])


def _check_repetition(embedder: Embedder) -> None:
    together = _embed(embedder, _TEXTS)
    backwards = _embed(embedder, _TEXTS[::-1])[::-1]
    alone = np.concatenate([_embed(embedder, [text]) for text in _TEXTS])
    _require(_alike(together, _embed(embedder, _TEXTS)), "The same texts give the same vectors.")
    _require(_alike(together, backwards), "The vectors come in the order of the texts.")
    _require(_alike(together, alone), "A vector does not depend on the other texts of the call.")
    _require(not _alike(together[:1], together[1:2]), "Different texts give different vectors.")


def _check_threads(embedder: Embedder) -> None:
    expected = _embed(embedder, _TEXTS)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: _embed(embedder, _TEXTS), range(8)):
            _require(_alike(expected, found), "Four threads that share an embedder get the same vectors.")


def _check_nothing_is_cut_off(embedder: Embedder) -> None:
    long = "word " * embedder.max_tokens
    try:
        vectors = _embed(embedder, [f"{long}visa", f"{long}banana"])
    except LimitError:
        return
    _require(bool((vectors[0] != vectors[1]).any()), "A text that is too long is a LimitError; its end is not cut off.")


def _check_token_ends(counter: TokenCounter) -> None:
    for text in _TEXTS:
        ends = list(counter.token_ends(text))
        _require(ends == sorted(ends), "The token ends of a text rise.")
        _require(all(0 <= end <= len(text) for end in ends), "Token ends are offsets in code points of the text.")
    _require(list(counter.token_ends("")) == [], "token_ends leaves special tokens out: an empty text has none.")


def _check_limit(embedder: Embedder, counter: TokenCounter) -> None:
    text = "word " * embedder.max_tokens
    readable = embedder.max_tokens - counter.special_tokens
    _require(readable >= 1, "max_tokens leaves room for at least one token beside the special ones.")
    ends = counter.token_ends(text)
    _require(len(ends) >= readable, "token_ends counts every word.")
    _embed(embedder, [text[: ends[readable - 1]]])
    try:
        _embed(embedder, [text + text])
    except LimitError:
        return
    raise AssertionError("A text of more than max_tokens tokens is a LimitError.")


def _embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    return check_vectors(embedder.embed(texts), count=len(texts), dimensions=embedder.dimensions)


def _alike(one: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return bool(((one * other).sum(axis=1) / lengths >= _SAME).all())


def _require(holds: bool, rule: str) -> None:
    # Not `assert`: a host's test run may be optimised.
    if not holds:
        raise AssertionError(rule)
