"""What a passage's row says of its words: each term with its places, the passage's half of the term's weight, and the tier of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pgvector import SparseVector

from activities.store.tsvector import TsVector, tsvector
from headwater.lexical import MOST, TERM_IDS, saturated, term_id, terms_by_position, tier_key, tier_of

# What Postgres and pgvector take. A passage of the usual size comes nowhere near.
TERMS: Final = 16_000  # distinct ones: entries of a sparsevec
TSVECTOR_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Lexicon:
    """By what rule and measure a build's passages are written. Neither ever changes in a build."""

    language: str
    average: float  # terms of a passage
    has_tiers: bool = True


@dataclass(frozen=True, slots=True)
class PassageTerms:
    """Places of each term, from 1, and of how many terms the passage consists."""

    places: Mapping[str, Sequence[int]]
    length: int


def words_of(text: str, lexicon: Lexicon) -> tuple[TsVector, SparseVector, list[int] | None]:
    """The columns ``tsv``, ``bm`` and ``tiers`` of a passage."""
    terms = passage_terms(text, lexicon.language)
    halves = weights(terms, lexicon.average)
    return tsvector(terms.places), halves, tiers(halves) if lexicon.has_tiers else None


def passage_terms(text: str, language: str) -> PassageTerms:
    """The terms of ``text``. Beyond what a row can hold, those that come first in it."""
    places: dict[str, list[int]] = {}
    length = 0
    room = TSVECTOR_BYTES
    for position, terms in terms_by_position(text, language):
        for term in terms:
            known = places.get(term)
            if known is None:
                room -= len(term.encode()) + 8
                if len(places) == TERMS or room < 0:
                    return PassageTerms(places, length)
                places[term] = [position]
            else:
                room -= 2
                known.append(position)
            length += 1
    return PassageTerms(places, length)


def weights(passage: PassageTerms, average: float) -> SparseVector:
    """The passage's half of BM25 for the number of each term. Terms that share a number add up to what one can have:
    by how little a passage can score that was not looked up, an answer knows whether it is exact."""
    found: dict[int, float] = {}
    for term, positions in passage.places.items():
        number = term_id(term)
        half = saturated(len(positions), length=passage.length, average=average)
        found[number] = min(MOST, found.get(number, 0.0) + half)
    return SparseVector(found, TERM_IDS)


def tiers(halves: SparseVector) -> list[int]:
    """A key for each number that reaches a tier."""
    found = zip(halves.indices(), map(tier_of, halves.values()), strict=True)
    return sorted({tier_key(number, tier) for number, tier in found if tier})
