"""Token vectors kept in memory: eight bits a number, so many bytes and no more, the longest unused thrown out first."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

# Multiplications in one product of matrices. Of a larger one OpenBLAS gives a part to each core, and the parts wait for
# each other spinning: twenty passages took 30 ms on a busy machine in small products, and 1,200 in large ones.
_ALONE: Final = 1 << 18
_OVERHEAD: Final = 512  # bytes that one entry takes beside its numbers


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The vectors of one text's tokens, each with the factor that its numbers were divided by."""

    numbers: NDArray[np.int8]
    factors: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> "TokenVectors":
        factors = np.abs(vectors).max(axis=1, initial=0.0).astype(np.float32) / np.float32(127)
        numbers = np.rint(vectors / np.where(factors > 0, factors, 1)[:, None]).astype(np.int8)
        return cls(numbers, factors)

    def likeness(self, others: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosine of each of ``others`` with each of these, shape ``[others, these]``."""
        numbers = self.numbers.astype(np.float32)
        step = max(1, _ALONE // max(1, others.size))
        parts = [others @ numbers[start : start + step].T for start in range(0, len(numbers), step)]
        found = np.concatenate(parts, axis=1) if parts else np.empty((len(others), 0), dtype=np.float32)
        return np.asarray(found * self.factors, dtype=np.float32)

    @property
    def size(self) -> int:
        return self.numbers.nbytes + self.factors.nbytes + _OVERHEAD


class TokenCache:
    """Token vectors by key, at most ``max_bytes`` of them. Safe to share between threads.

    A key is a hash: texts are not kept, nor can they be told from what is.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._kept: OrderedDict[bytes, TokenVectors] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return self._size

    def get(self, key: bytes) -> TokenVectors | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: bytes, vectors: TokenVectors) -> None:
        """Keeps ``vectors``, unless they alone would take more than there is room for."""
        with self._lock:
            if vectors.size > self._max_bytes or key in self._kept:
                return
            self._kept[key] = vectors
            self._size += vectors.size
            while self._size > self._max_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size
