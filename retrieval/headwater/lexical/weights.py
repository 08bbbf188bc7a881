"""BM25, in two halves: what a passage gives is stored with it, what the corpus gives is multiplied in by the question.

So a passage's half never changes when others come or go.
"""

import math
from typing import Final

K1: Final = 1.2
B: Final = 0.75


def saturated(occurrences: int, *, length: float, average: float) -> float:
    """The passage's half for a term that it has ``occurrences`` times. Below K1 + 1, however often that is."""
    return occurrences * (K1 + 1) / (occurrences + K1 * (1 - B + B * length / average))


def inverse_frequency(passages_with: int, passages: int) -> float:
    """The corpus's half: positive for any term, also for one that stands in every passage, or in none that was counted yet."""
    among = max(passages, passages_with)
    return math.log(1 + (among - passages_with + 0.5) / (passages_with + 0.5))
