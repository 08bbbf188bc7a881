"""How much one question may ask for: a default and a cap each. Above a cap is an error, never less than was asked.

What limits one matter alone stands beside it: groups in `models`, `rewriting`, `libraries`, `prompts`, `rerankers`.
"""

from dataclasses import dataclass
from typing import Final

from headwater.errors import LimitError, ValidationError


@dataclass(frozen=True, slots=True)
class Limit:
    """A whole number from 1 to ``cap``."""

    name: str
    default: int
    cap: int

    def check(self, value: int) -> int:
        """``value`` unchanged, if it is within the limit."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValidationError(f"{self.name} must be a whole number, not {type(value).__name__}.")
        if not 1 <= value <= self.cap:
            raise LimitError(f"{self.name} must be from 1 to {self.cap:,}, not {value:,}.")
        return value


TOP_K: Final = Limit("top_k", default=5, cap=32)
CANDIDATES: Final = Limit("candidates", default=20, cap=128)
RESULT_BYTES: Final = Limit("max_result_bytes", default=64 * 1024, cap=512 * 1024)
RRF_K: Final = Limit("rrf_k", default=60, cap=1_000)
CONTEXT_TOKENS: Final = Limit("max_context_tokens", default=2_000, cap=8_000)

CHARACTERS_PER_TOKEN: Final = 4  # how the context is measured: no tokenizer of a host's model is known here
DIMENSIONS_MAX: Final = 4_096
QUERY_CHARACTERS: Final = 16_384
SCOPES: Final = 8  # corpora that one question may be asked of
GENERATION_MAX: Final = 2**63 - 1
DENIED_SOURCES: Final = 1_000  # ids reported to `on_access_denied` beyond those that were found
ERROR_CHARACTERS: Final = 256

# A partition of a build's own has an HNSW graph. Whoever may read about this many passages, or less, gets every one of them
# compared all the same: that is exact, and where permissions follow topics a walk misses much. How many they are is guessed
# from a sample, so that nobody counts the sources of a corpus that is open to all; twice as many are compared if it was wrong.
# Of a corpus four times as large the walk takes three times as long as comparing them; for half of one it is the faster way.
FEW_CHUNKS: Final = 50_000
SAMPLED: Final = 200
WALKED: Final = 4  # found in the graph for each candidate: next to no time, and 3 of 100 more of the nearest ten
WALKED_SOME: Final = 16  # the same, where more than one of ten is not for this reader
GRAPH_DIMENSIONS: Final = 4_000  # HNSW holds no longer vectors of half precision

# How many passages of a large partition are looked up for a question's words: first a quarter of that, by the lists that take least
# for what they add to a score, then more where a better passage may be. All of the terms weigh what that gave.
POSTINGS: Final = 12_000
FEW_TERMS: Final = 8  # of a question: then passages with only one of them may be left out by the index
QUERY_TERMS: Final = 4_096
NORMALISATION: Final = 1  # of `ts_rank`: by the logarithm of the length. By length itself, tails of documents win
TELLING: Final = 0.15  # of all passages: a term that more of them have decides in `ts_rank` between equal ones only

FILTER_CONDITIONS: Final = 32
FILTER_VALUES: Final = 1_000  # in the lists of `in` and `nin`, in all
FILTER_BYTES: Final = 64 * 1024  # of keys and values as JSON
FILTER_DEPTH: Final = 32
FILTER_KEY_CHARACTERS: Final = 256

# How long Postgres may take for one statement of a question, waiting for locks counted in. To compare a million passages takes
# about a second: what takes thirty has a bad plan or waits for somebody, and would hold one of four connections without end.
STATEMENT_S: Final = 30

ROUTES: Final = 1_024  # corpora whose partition a retriever remembers
MOVES: Final = 3  # how often a corpus may move to another partition within one question
