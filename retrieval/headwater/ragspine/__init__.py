"""A profile for agents that tell stories about numbers: its own words for what the library does, and its own rules.

Which of its features is where: README.md beside this file. Nothing outside this package uses it.
"""

from headwater.ragspine.bm25 import bm25_scores, tokenize
from headwater.ragspine.corrective import Corrected, CorrectiveRetriever, grade
from headwater.ragspine.index import ChunkIndex, CorpusIndex, Index, NarrativeChunk
from headwater.ragspine.modes import MODES, legs_of
from headwater.ragspine.narrative import (
    FILTERS,
    Narrative,
    NarrativeRetriever,
    build_chunk_retriever,
    build_narrative_retriever,
)
from headwater.ragspine.predicates import OPERATORS, Predicate, PredicateSet, parse_predicates
from headwater.ragspine.snippets import Snippet, Snippets, SnippetScores, snippets_of, text_for_prompt

__all__ = [
    "FILTERS",
    "MODES",
    "OPERATORS",
    "ChunkIndex",
    "CorpusIndex",
    "Corrected",
    "CorrectiveRetriever",
    "Index",
    "Narrative",
    "NarrativeChunk",
    "NarrativeRetriever",
    "Predicate",
    "PredicateSet",
    "Snippet",
    "SnippetScores",
    "Snippets",
    "bm25_scores",
    "build_chunk_retriever",
    "build_narrative_retriever",
    "grade",
    "legs_of",
    "parse_predicates",
    "snippets_of",
    "text_for_prompt",
    "tokenize",
]
