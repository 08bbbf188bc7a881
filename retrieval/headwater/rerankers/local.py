"""`local`: late interaction with the model that is there already.

A passage answers well if each token of the query has one in it that means the same (MaxSim). Half of the order comes
from that, half from how the passage was found. The model is not trained for it, and is still right more often together
with the search than either alone.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Literal, cast

import numpy as np
from numpy.typing import NDArray

from headwater.embedders import TokenEmbedder
from headwater.errors import RerankError, ValidationError
from headwater.limits import Limit
from headwater.models import Hit
from headwater.rerankers.in_threads import check_threads, in_threads
from headwater.rerankers.token_cache import TokenCache, TokenVectors

PASSAGES: Final = Limit("passages", default=20, cap=50)
CACHE_BYTES: Final = 64 * 1024 * 1024
SHARPNESS: Final = 4


class LocalReranker:
    """Orders the best ``passages`` by how they were found and by MaxSim, half and half; the others keep their order.

    The vectors of passages are kept, ``cache_bytes`` of them: the model reads a passage once for all questions that find
    it. Without a place there, a long passage takes about 76 ms of a core; ``threads`` passages are read at the same time.
    """

    is_hosted: Literal[False] = False

    def __init__(
        self,
        embedder: object,
        *,
        passages: int = PASSAGES.default,
        cache_bytes: int = CACHE_BYTES,
        threads: int | None = None,
    ) -> None:
        if not callable(
            getattr(embedder, "token_vectors", None)
        ):  # isinstance() would ask for its identity, and load it
            raise ValidationError(
                "local compares the tokens of a query with those of passages, and this embedder gives no vectors of tokens: "
                "use onnx:minilm or onnx:/path/to/folder, or another reranker."
            )
        self._embedder = cast(TokenEmbedder, embedder)
        self._passages = PASSAGES.check(passages)
        self._threads = check_threads(threads)
        self._cache = TokenCache(cache_bytes)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        best = list(hits[: self._passages])
        if len(best) < 2:
            return list(hits)
        asked = self._vectors(query)
        likeness = np.array([max_sim(passage.likeness(asked)) for passage in self._read([hit.text for hit in best])])
        found = np.array([hit.scores.fused for hit in best])
        worth = (spread(found) + spread(likeness)) / 2
        order = np.argsort(-worth, kind="stable")
        return [best[place] for place in order] + list(hits[len(best) :])

    def _read(self, texts: Sequence[str]) -> list[TokenVectors]:
        """What the tokens of each text mean. Each distinct text that is not kept is read once."""
        identity = self._embedder.identity
        keys = [sha256(f"{identity}\0{text}".encode(errors="surrogatepass")).digest() for text in texts]
        found = {key: self._cache.get(key) for key in keys}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if found[key] is None}
        found |= dict(zip(missing, in_threads(self._kept, list(missing.items()), self._threads), strict=True))
        return [vectors for key in keys if (vectors := found[key]) is not None]

    def _kept(self, missing: tuple[bytes, str]) -> TokenVectors:
        key, text = missing
        made = TokenVectors.of(self._vectors(text))
        self._cache.keep(key, made)  # at once: a question that is given up has not read for nothing
        return made

    def _vectors(self, text: str) -> NDArray[np.float32]:
        [found] = self._embedder.token_vectors([text])
        vectors = np.asarray(found, dtype=np.float32)
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise RerankError(
                "The embedder gave token vectors that are not finite, or no table of them: check its model."
            )
        return vectors


def max_sim(likeness: NDArray[np.float32]) -> float:
    """How near the nearest token of a passage is, over those of the query. Without tokens: 0.

    ``likeness`` has a row for each token of the query, and a column for each of the passage. The mean is of fourth
    powers: a token that is there word for word says more than several that have only something alike.
    """
    if not likeness.size:
        return 0.0
    nearest = np.maximum(likeness.max(axis=1), 0).astype(np.float64)
    return float((nearest**SHARPNESS).mean())


def spread(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores between 0 (the least) and 1 (the greatest). Where all are equal, they say nothing."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


__all__ = ["LocalReranker"]
