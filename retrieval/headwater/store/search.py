"""The statement that answers a question, and what is bound in it."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headwater.errors import LimitError
from headwater.filters import filter_parameters, filter_predicate
from headwater.lexical import MOST, analyse, language_of, term_id, tier_key_sql, tiers_as_rows
from headwater.limits import (
    FEW_CHUNKS,
    FEW_TERMS,
    GRAPH_DIMENSIONS,
    NORMALISATION,
    POSTINGS,
    QUERY_TERMS,
    SAMPLED,
    TELLING,
    WALKED,
    WALKED_SOME,
)
from headwater.models import Scope
from headwater.store.question import Lexical, Question
from headwater.store.routes import SHARED
from headwater.store.statements import statement


@dataclass(frozen=True, slots=True)
class Space:
    """Where the query's vector lives. Only vectors of the same space are compared with it."""

    embedder_identity: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Term:
    """A word as the store knows it: its lexeme, the number that stands for it, and how often the query says it."""

    lexeme: str
    number: int
    said: int = 1


@dataclass(frozen=True, slots=True)
class Terms:
    """What a query is looked for by, and the lexicon that the terms were made with: no other one knows them."""

    lexicon: str
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, query: str, lexicon: str) -> "Terms":
        """The terms of ``query``, each once. A lexicon that this library does not have is an error."""
        said = Counter(token.term for token in analyse(query, language_of(lexicon)))
        if len(said) > QUERY_TERMS:
            raise LimitError(f"query has {len(said):,} different terms: at most {QUERY_TERMS:,} are looked for.")
        return cls(lexicon, tuple(Term(term, term_id(term), count) for term, count in said.items()))


@dataclass(frozen=True, slots=True)
class Ways:
    """What decides by which way passages are found. None of it decides which passages may be."""

    few_chunks: int = FEW_CHUNKS
    walked: int = WALKED
    walked_some: int = WALKED_SOME
    postings: int = POSTINGS


USUAL_WAYS: Final = Ways()


def search_statement(
    schema: str,
    space: Space,
    question: Question,
    scope: Scope,
    slab: int,
    ways: Ways = USUAL_WAYS,
    *,
    is_tiered: bool = True,
) -> bytes:
    """The SQL that finds the candidates of a question in one corpus, if they lie in ``space`` and in the partition ``slab``.

    ``is_tiered``: passages of the build are listed by tiers of their terms too.
    """
    is_large = slab != SHARED and not question.exact and space.dimensions <= GRAPH_DIMENSIONS
    places: dict[str, int | str] = {
        "pointer": question.pointer,
        "slab": slab,
        "dimensions": space.dimensions,
        "candidates": question.candidates,
        "described": "described_by_origin" if question.filter else "undescribed",
        **_LEGS[question.lexical],
    }
    if is_large:
        places |= {
            "few_chunks": ways.few_chunks,
            "sampled": SAMPLED,
            "narrowed": "narrowed_by_filter" if question.filter else "none",
        }
        places |= {"walked": ways.walked * question.candidates, "walked_some": ways.walked_some * question.candidates}
    if question.lexical != "off" and is_large:
        places |= {**_LOOKED_UP, "postings": ways.postings, "few_terms": FEW_TERMS}
        places |= _TIERED if is_tiered and question.lexical == "bm25" else _UNTIERED
        places["is_picked"] = "cheapest" if question.lexical == "bm25" else "always"
    elif question.lexical != "off":
        places |= _WEIGHED
    written = (("filtered", filter_predicate(question.filter)), ("telling", str(TELLING)), *_WRITTEN)
    return statement("search_graph" if is_large else "search", schema, written=written, **places)


# Blocks that stand for a place of the statements, and numbers.
_Places = Mapping[str, int | str]
_LEXICAL: Final[_Places] = {"known": "with_lexicon", "found": "found_by_both"}
_LEGS: Final[Mapping[Lexical, _Places]] = {
    "off": {"known": "none", "lexical": "none", "found": "found_near", "is_exact": "not_asked", "told": "unscored"},
    "bm25": {**_LEXICAL, "score": "bm25", "told": "bm25"},
    "fts": {**_LEXICAL, "score": "fts", "told": "fts", "normalisation": NORMALISATION},
}
_LOOKED_UP: Final[_Places] = {"lexical": "lexical_graph", "those": "few_shown", "is_exact": "enough"}
_WEIGHED: Final[_Places] = {"lexical": "lexical_shown", "those": "all_shown", "is_exact": "always"}
_TIERED: Final[_Places] = {"lists": "tiered_lists", "matches": "by_tiers"}
_UNTIERED: Final[_Places] = {"lists": "whole_lists", "matches": "by_terms"}
_WRITTEN: Final = (("tiers", tiers_as_rows()), ("tier_key", tier_key_sql("t.number", "n.tier")), ("ceiling", str(MOST)))


def search_parameters(
    question: Question, scope: Scope, space: Space, vector: str, terms: Terms | None = None
) -> dict[str, Any]:
    """What is bound in it: the asker, one of the query's forms as a vector, and as terms if the lexical leg is asked for."""
    bound = {**question.parameters(scope), "identity": space.embedder_identity, "vector": vector}
    if question.filter is not None:
        bound |= filter_parameters(question.filter)
    if terms is not None:
        bound |= {
            "lexicon": terms.lexicon,
            "lexemes": [term.lexeme for term in terms.terms],
            "numbers": [term.number for term in terms.terms],
            "said": [term.said for term in terms.terms],
        }
    return bound


def generations_statement(schema: str) -> bytes:
    """The SQL that says which generations can be read."""
    return statement("generations", schema)


def as_halfvec(vector: NDArray[np.float32]) -> str:
    """``vector`` as pgvector reads it, at length one: cosine ignores the length, and half precision does not."""
    wide = vector.astype(np.float64)
    unit = wide / math.sqrt(wide @ wide)
    return f"[{','.join(map('%.6g'.__mod__, unit.tolist()))}]"
