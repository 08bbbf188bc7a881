"""The number of a term: what stands for it in sparse vectors and in the counts of a build."""

from functools import lru_cache
from hashlib import blake2b
from typing import Final

TERM_IDS: Final = 1_000_000_000  # the most dimensions that a sparse vector of pgvector has
_BITS: Final = (1 << 30) - 1


@lru_cache(maxsize=1 << 16)
def term_id(term: str) -> int:
    """A 30-bit hash, below `TERM_IDS`. Of a million terms about 500 share theirs with another one, which costs a rank and no hit."""
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return (int.from_bytes(digest, "big") & _BITS) % TERM_IDS
