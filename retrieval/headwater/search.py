"""A question, checked; the statement and parameters that search for it; and its rows, turned into candidates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.db import statement
from headwater.errors import EmbedderMismatch, LimitError, ScopeError, StoreError, ValidationError
from headwater.ids import UNSTORABLE, chunk_id
from headwater.limits import CANDIDATES, CONTEXT_TOKENS, QUERY_CHARACTERS, RESULT_BYTES, TOP_K
from headwater.models import Authorization, Scope


@dataclass(frozen=True, slots=True)
class Question:
    """What a host asks, with every argument within its limits."""

    query: str
    scope: Scope
    authorization: Authorization
    top_k: int
    candidates: int
    max_result_bytes: int
    max_context_tokens: int

    @classmethod
    def checked(
        cls,
        query: str,
        *,
        scope: Scope,
        authorization: Authorization,
        top_k: int,
        candidates: int | None,
        max_result_bytes: int,
        max_context_tokens: int,
    ) -> "Question":
        """The question, or the error that names the argument to change."""
        if not isinstance(query, str) or UNSTORABLE.search(query):
            raise ValidationError("query must be a text without NUL or lone surrogates.")
        if len(query) > QUERY_CHARACTERS:
            raise LimitError(f"query has {len(query):,} characters: at most {QUERY_CHARACTERS:,} are read.")
        if not isinstance(scope, Scope):
            raise ValidationError("scope must be a headwater.Scope: every search names one corpus.")
        if not isinstance(authorization, Authorization):
            raise ValidationError("authorization must be a headwater.Authorization: every search names who asks.")
        if authorization.tenant_id != scope.tenant_id:
            raise ScopeError(
                f"{authorization.tenant_id!r} is the tenant of the authorization, but corpus {scope} is another's: "
                "ask with an authorization of the corpus's own tenant."
            )
        TOP_K.check(top_k)
        if candidates is None:
            candidates = max(CANDIDATES.default, top_k)
        if CANDIDATES.check(candidates) < top_k:
            raise LimitError(f"candidates must be at least top_k ({top_k}), not {candidates}.")
        return cls(
            query=query,
            scope=scope,
            authorization=authorization,
            top_k=top_k,
            candidates=candidates,
            max_result_bytes=RESULT_BYTES.check(max_result_bytes),
            max_context_tokens=CONTEXT_TOKENS.check(max_context_tokens),
        )

    @property
    def is_blank(self) -> bool:
        """There is nothing to look for: the answer is empty, and neither model nor store is asked."""
        return not self.query.strip()


@dataclass(frozen=True, slots=True)
class Space:
    """Where the query's vector lives. Only vectors of the same space are compared with it."""

    embedder_identity: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the statement ``search``, in the order of its columns. The first three describe the corpus."""

    generation: int
    embedder_identity: str
    dimensions: int
    rev_id: int | None  # None: the corpus is there, and holds nothing for this reader
    chunk_no: int
    distance: float
    tenant_id: str
    resource_id: str
    corpus_id: str
    source_id: str
    provider: str | None
    revision: int
    title: str | None
    uri: str | None
    document_metadata: dict[str, Any]
    chunk_metadata: dict[str, Any]
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that the search found and nobody has seen yet."""

    rev_id: int
    chunk_id: str
    source_id: str
    provider: str
    revision: int
    title: str | None
    uri: str | None
    locator: str | None
    metadata: dict[str, Any]
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """What the search gave, nearest first. ``generation`` is None when there is no such corpus."""

    generation: int | None
    candidates: Sequence[Candidate]


def search_statement(schema: str, space: Space, candidates: int) -> bytes:
    """The SQL that finds at most ``candidates`` passages in ``space``."""
    return statement("search", schema, dimensions=space.dimensions, candidates=candidates)


def asker(question: Question) -> dict[str, Any]:
    """The parameters that every statement takes: which corpus, and who asks."""
    scope, who = question.scope, question.authorization
    return {
        "tenant": scope.tenant_id,
        "resource": scope.resource_id,
        "corpus": scope.corpus_id,
        "principal": who.principal_id,
        "groups": list(who.group_ids),
        "access_version": who.access_version,
    }


def as_halfvec(vector: NDArray[np.float32]) -> str:
    """``vector`` as pgvector reads it, at length one: cosine ignores the length, and half precision does not."""
    wide = vector.astype(np.float64)
    unit = wide / math.sqrt(wide @ wide)
    return f"[{','.join(map('%.6g'.__mod__, unit.tolist()))}]"


def read_rows(rows: Iterable[Sequence[Any]], question: Question, space: Space) -> Found:
    """The candidates of the statement's rows, or the error of a row that must not be there."""
    generation: int | None = None
    candidates: list[Candidate] = []
    for values in rows:
        row = Row(*values)
        generation = row.generation
        _check_space(row, space, question.scope)
        if row.rev_id is not None:
            _check_scope(row, question.scope)
            _check_form(row)
            candidates.append(_candidate(row, row.rev_id))
    return Found(generation, candidates)


def _check_space(row: Row, space: Space, scope: Scope) -> None:
    if (row.embedder_identity, row.dimensions) != (space.embedder_identity, space.dimensions):
        raise EmbedderMismatch(
            f"Corpus {scope} was indexed with embedder {row.embedder_identity!r} of {row.dimensions} dimensions, and this "
            f"retriever has {space.embedder_identity!r} of {space.dimensions}: open it with the corpus's own embedder, or "
            "sync the documents into a new corpus with this one."
        )


def _check_scope(row: Row, scope: Scope) -> None:
    if (row.tenant_id, row.resource_id, row.corpus_id) != (scope.tenant_id, scope.resource_id, scope.corpus_id):
        raise ScopeError(f"The store gave a passage of another corpus than {scope}: nothing of it is shown.")


def _check_form(row: Row) -> None:
    """The row is whole: its place lies where its text does. A citation of anything else would mislead."""
    if (
        row.chunk_no < 1
        or row.revision is None
        or row.revision < 1
        or row.start < 0
        or row.end - row.start != len(row.text)
        or not row.text
        or not math.isfinite(row.distance)
        or not isinstance(row.document_metadata, dict)
        or not isinstance(row.chunk_metadata, dict)
    ):
        raise StoreError(
            f"Passage {chunk_id(row.source_id, row.chunk_no)} is malformed in the store: take its document away at its "
            "origin, sync, put it back and sync again."
        )


def _candidate(row: Row, rev_id: int) -> Candidate:
    return Candidate(
        rev_id=rev_id,
        chunk_id=chunk_id(row.source_id, row.chunk_no),
        source_id=row.source_id,
        provider=row.provider or "host",
        revision=row.revision,
        title=row.title,
        uri=row.uri,
        locator=_locator(row.chunk_metadata),
        metadata={**row.chunk_metadata, **row.document_metadata},  # what the origin said of a document wins
        start=row.start,
        end=row.end,
        text=row.text,
        score=1.0 - row.distance,
    )


def _locator(place: Mapping[str, Any]) -> str | None:
    """``page 3``, the headings from the outermost in, or both: where a person finds the passage."""
    page, headings = place.get("page"), place.get("heading")
    parts = [] if page is None else [f"page {page}"]
    if headings:
        parts.append(" › ".join(headings))
    return ", ".join(parts) or None
