"""An embedder without a model: texts that share words are near. For tests, and for trying things out."""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater.errors import LimitError, ValidationError

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


class HashEmbedder:
    """Counts words and pairs of neighbouring words into signed buckets. The same everywhere, for ever."""

    def __init__(self, dimensions: int = 384) -> None:
        if type(dimensions) is not int or not 8 <= dimensions <= 4096:
            raise ValidationError(f"The hash embedder has 8 to 4096 dimensions, not {str(dimensions)[:40]}.")
        self._dimensions = dimensions

    @classmethod
    def from_spec(cls, dimensions: str) -> "HashEmbedder":
        """The embedder of ``hash:N``."""
        if not re.fullmatch(r"[0-9]{1,4}", dimensions):
            raise ValidationError(f"Embedder 'hash:{dimensions[:80]}' must be written hash:N, with N from 8 to 4096.")
        return cls(int(dimensions))

    @property
    def identity(self) -> str:
        return f"hash/1 features=words+pairs normalise=l2 dims={self._dimensions} max_tokens={self.max_tokens}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        return 16_384  # the longest passage there is, in characters: every passage can be read

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float64)
        for vector, text in zip(vectors, texts, strict=True):
            for feature, count in self._features(text).items():
                bucket, sign = self._bucket(feature)
                vector[bucket] += sign * sqrt(count)
            if not vector.any():  # no words, or features that cancel each other out
                vector[self._bucket(text)[0]] = 1.0
            vector /= np.linalg.norm(vector)
        return vectors.astype(np.float32)

    def _features(self, text: str) -> Counter[str]:
        words = _WORD.findall(text.casefold())
        if len(words) > self.max_tokens:
            raise LimitError(
                f"The text has {len(words):,} words, and the embedder reads {self.max_tokens:,}: shorten it."
            )
        return Counter([*words, *(f"{first} {second}" for first, second in pairwise(words))])

    def _bucket(self, feature: str) -> tuple[int, int]:
        digest = sha256(feature.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "little") % self._dimensions, 1 if digest[8] & 1 else -1
