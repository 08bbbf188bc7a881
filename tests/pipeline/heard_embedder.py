"""An embedder that says what it is about to embed, to whoever wants to count it, hold it up or make it fail."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headwater.embedders import Embedder, resolve_embedder


class HeardEmbedder:
    """Embeds as ``spec`` says. ``heard`` is called with the texts before, and what it raises fails them."""

    def __init__(self, spec: str, heard: Callable[[Sequence[str]], object]) -> None:
        self._inner = resolve_embedder(spec)
        self._heard = heard

    @property
    def identity(self) -> str:
        return self._inner.identity

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32] | Sequence[Sequence[float]]:
        self._heard(texts)
        return self._inner.embed(texts)


def counting(journal: Path) -> Callable[[str], Embedder]:
    """Embedders that write a digest of each text into the file ``journal``, where the count outlives the process."""

    def heard(texts: Sequence[str]) -> None:
        lines = "".join(sha256(text.encode()).hexdigest() + "\n" for text in texts)
        os.write(file, lines.encode())  # one write: it is there whole, whenever we are killed

    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return lambda spec: HeardEmbedder(spec, heard)


def embedded_texts(journal: Path) -> Counter[str]:
    """How often each text was embedded, by its digest."""
    return Counter(journal.read_text().split()) if journal.exists() else Counter()
