"""Tiers of a term: which passages have much of it.

A passage's half of a weight is known when the passage is written. If it reaches a tier, the passage is listed by that tier as well as
by the term. So a question of common terms begins with the passages that have much of one, and knows how little of each any other
passage has.
"""

from bisect import bisect_right
from itertools import pairwise
from typing import Final

from headwater.lexical.weights import K1

# Where tiers begin; the highest ends where a half does. Another number, another rule (`lexicon`).
TIERS: Final = (1.2, 1.3, 1.4, 1.5, 1.6, 1.65, 1.7, 1.75, 1.8, 1.85, 1.9, 1.95, 2.0)
MOST: Final = K1 + 1  # of a half: no passage has more of a term

_KEYS: Final = 1 << 31  # as many as there are negative numbers of 32 bits
_STEP: Final = 306_783_379


def tier_of(half: float) -> int:
    """The tier that ``half`` falls into, from 1; 0 is none."""
    return bisect_right(TIERS, half)


def tier_key(number: int, tier: int) -> int:
    """What stands for a tier of the term ``number`` where passages are listed: negative, so that it is no term's number.

    Two that share a key let passages in that need not have been looked at, and keep none out. `lexical.sql` counts in the same way.
    """
    return -1 - (number + tier * _STEP) % _KEYS


def tiers_as_rows() -> str:
    """Number, beginning and end of each, none included, as SQL: ``(0, 0, 1.3), (1, 1.3, 1.5), …``."""
    return ", ".join(f"({tier}, {low}, {high})" for tier, (low, high) in enumerate(pairwise((0.0, *TIERS, MOST))))


def tier_key_sql(number: str, tier: str) -> str:
    """`tier_key` as SQL, of two expressions."""
    return f"(-1 - mod({number}::bigint + {tier}::bigint * {_STEP}, {_KEYS}))::int"
