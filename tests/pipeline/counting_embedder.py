"""An embedder that writes down each text it embeds, so that the count outlives the process."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headwater.embedders import Embedder, resolve_embedder


class CountingEmbedder:
    """Embeds as ``inner`` does, and appends a digest of every text to the file ``journal``."""

    def __init__(self, inner: Embedder, journal: Path) -> None:
        self._inner = inner
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

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
        lines = "".join(sha256(text.encode()).hexdigest() + "\n" for text in texts)
        os.write(self._journal, lines.encode())  # one write: it is there whole, whenever we are killed
        return self._inner.embed(texts)


def counting(journal: Path) -> Callable[[str], Embedder]:
    """Resolves specs to embedders that count in ``journal``."""
    return lambda spec: CountingEmbedder(resolve_embedder(spec), journal)


def embedded_texts(journal: Path) -> Counter[str]:
    """How often each text was embedded, by its digest."""
    return Counter(journal.read_text().split()) if journal.exists() else Counter()
