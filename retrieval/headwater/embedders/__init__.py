"""Turning texts into vectors: the protocol, and the choice among implementations.

A spec is ``onnx:minilm``, ``onnx:/path/to/folder`` or ``hash:N``. Engines are extras: their absence is one sentence
naming the extra, raised when the embedder is used.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ValidationError


@runtime_checkable
class Embedder(Protocol):
    """Texts in, vectors out. Two embedders with equal ``identity`` give comparable vectors."""

    @property
    def identity(self) -> str:
        """What decides the vectors: model and tokenizer hashes, pooling, normalisation, dimensions, token limit."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector, 1 to 4,096."""
        ...

    @property
    def max_tokens(self) -> int:
        """Most tokens one text may have, special tokens included. More is a `LimitError`: nothing is cut off."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32] | Sequence[Sequence[float]]:
        """One vector for each text, shape ``[len(texts), dimensions]``."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """An embedder that can say where its tokens end. One without it promises to read texts of any length."""

    @property
    def special_tokens(self) -> int:
        """How many of `Embedder.max_tokens` the model needs for itself."""
        ...

    def token_ends(self, text: str) -> Sequence[int]:
        """The offset in ``text`` (code points) after each token, special tokens left out."""
        ...


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that can also give a vector for each token of a text: late interaction compares those."""

    @property
    def identity(self) -> str:
        """As `Embedder.identity`."""
        ...

    def token_vectors(self, texts: Sequence[str]) -> Sequence[NDArray[np.float32]]:
        """For each text, a unit vector for each of its tokens, shape ``[tokens, N]``. A text may have any length."""
        ...


def resolve_embedder(spec: str) -> Embedder:
    """The embedder that ``spec`` names."""
    kind, _, rest = spec.partition(":")
    if kind == "hash":
        from headwater.embedders.hashing import HashEmbedder

        return HashEmbedder.from_spec(rest)
    if kind == "onnx":
        from headwater.embedders.onnx import OnnxEmbedder

        return OnnxEmbedder.from_spec(rest)
    raise ValidationError(f"Embedder {spec[:80]!r} is not known: use onnx:minilm, onnx:/path/to/folder or hash:384.")


__all__ = ["Embedder", "TokenCounter", "TokenEmbedder", "resolve_embedder"]
