"""The statement that answers a question, and what is bound in it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.db import statement
from headwater.limits import FEW_CHUNKS, FEW_SOURCES, GRAPH_DIMENSIONS, WALKED
from headwater.models import Scope
from headwater.question import Question
from headwater.routes import SHARED


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
    count: int = 1


@dataclass(frozen=True, slots=True)
class Terms:
    """What a query is looked for by, and the lexicon that the terms were made with: no other one knows them."""

    lexicon: str
    terms: tuple[Term, ...]


def search_statement(schema: str, space: Space, question: Question, scope: Scope, slab: int) -> bytes:
    """The SQL that finds the candidates of a question in one corpus, if they lie in ``space`` and in the partition ``slab``."""
    numbers = {"slab": slab, "dimensions": space.dimensions, "candidates": question.candidates}
    if slab == SHARED or question.exact or space.dimensions > GRAPH_DIMENSIONS:
        return statement("search", schema, pointer=question.pointer, **numbers)
    numbers |= {"few_sources": FEW_SOURCES, "few_chunks": FEW_CHUNKS, "walked": WALKED * question.candidates}
    return statement("search_graph", schema, pointer=question.pointer, **numbers)


def search_parameters(
    question: Question, scope: Scope, space: Space, vector: str, terms: Terms | None = None
) -> dict[str, Any]:
    """What is bound in it: the asker, one of the query's forms as a vector, and as terms if the lexical leg is asked for."""
    return {**asker(question, scope), "identity": space.embedder_identity, "vector": vector}


def generations_statement(schema: str) -> bytes:
    """The SQL that says which generations can be read."""
    return statement("generations", schema)


def asker(question: Question, scope: Scope) -> dict[str, Any]:
    """The parameters that every statement takes: which corpus, as of when, who asks, and which labels may be shown."""
    who = question.authorization
    return {
        "tenant": scope.tenant_id,
        "resource": scope.resource_id,
        "corpus": scope.corpus_id,
        "principal": who.principal_id,
        "groups": list(who.group_ids),
        "access_version": who.access_version,
        "generation": question.generation,
        "labels": list(question.labels),
    }


def as_halfvec(vector: NDArray[np.float32]) -> str:
    """``vector`` as pgvector reads it, at length one: cosine ignores the length, and half precision does not."""
    wide = vector.astype(np.float64)
    unit = wide / math.sqrt(wide @ wide)
    return f"[{','.join(map('%.6g'.__mod__, unit.tolist()))}]"
