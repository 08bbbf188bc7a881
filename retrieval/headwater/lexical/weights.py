"""BM25, in two halves: what a passage gives is stored with it, what the corpus gives is multiplied in by the question (`lexical.sql`).

So a passage's half never changes when others come or go.
"""

from typing import Final

K1: Final = 1.2
B: Final = 0.75


def saturated(occurrences: int, *, length: float, average: float) -> float:
    """The passage's half for a term that it has ``occurrences`` times. Below K1 + 1, however often that is."""
    return occurrences * (K1 + 1) / (occurrences + K1 * (1 - B + B * length / average))
