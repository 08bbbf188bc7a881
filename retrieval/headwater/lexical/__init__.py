"""What the words of a text are: one rule for documents and for questions.

Both sides must agree on every term, or a word that stands in a document cannot be found by it. So a build keeps the name of the
rule its rows were made with, and a question is read by that rule.
"""

from headwater.lexical.analysis import Token, analyse, terms_by_position
from headwater.lexical.lexicon import (
    DEFAULT_LANGUAGE,
    LEXICON,
    check_language,
    has_tiers,
    is_known,
    language_of,
    lexicon_of,
)
from headwater.lexical.stems import LANGUAGES
from headwater.lexical.terms import TERM_IDS, term_id
from headwater.lexical.tiers import MOST, TIERS, tier_key, tier_key_sql, tier_of, tiers_as_rows
from headwater.lexical.weights import K1, B, saturated

__all__ = [
    "DEFAULT_LANGUAGE",
    "K1",
    "LANGUAGES",
    "LEXICON",
    "MOST",
    "TERM_IDS",
    "TIERS",
    "B",
    "Token",
    "analyse",
    "check_language",
    "has_tiers",
    "is_known",
    "language_of",
    "lexicon_of",
    "saturated",
    "term_id",
    "terms_by_position",
    "tier_key",
    "tier_key_sql",
    "tier_of",
    "tiers_as_rows",
]
