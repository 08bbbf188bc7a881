"""What a search gave: its rows, checked and turned into candidates. What must not be there is an error."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import EmbedderMismatch, ScopeError, StoreError, ValidationError
from headwater.ids import chunk_id
from headwater.lexical import LEXICON, is_known
from headwater.models import Scope
from headwater.store.question import Question
from headwater.store.search import Space


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a search, in the order of its columns. The first six describe the corpus."""

    generation: int | None  # None: the one that was asked for cannot be read, and nothing else is known
    embedder_identity: str
    dimensions: int
    slab: int
    lexicon: str | None  # None: the build was made before there were terms
    lexical_is_exact: bool | None
    rev_id: int | None  # None: the corpus is there, and holds nothing for this reader
    chunk_no: int
    distance: float  # also of a passage that the words alone found
    vector_rank: int | None
    lexical_score: float | None
    lexical_rank: int | None
    sensitivity: int
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
    """A passage that the search found and nobody has seen yet.

    Its similarity, its score by words if they were asked for, and its rank from 1 in a leg that has it among its candidates.
    """

    scope: Scope
    rev_id: int
    chunk_no: int
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
    sensitivity: int  # the greater of the source's and the revision's
    similarity: float  # the cosine
    vector_rank: int | None
    lexical_score: float | None
    lexical_rank: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """What the search gave: what the vector leg listed, nearest first, then what only the words found, best first.

    Without a ``generation`` there is no such corpus, or it cannot be read there.
    """

    generation: int | None
    slab: int | None  # where the build lies that would have been searched
    candidates: Sequence[Candidate]
    lexicon: str | None = None  # how the build's terms were made
    lexical_is_exact: bool | None = None  # no passage that the lexical leg left out scores more; None: it was not asked
    is_unreadable: bool = False


def read_rows(rows: Iterable[Sequence[Any]], question: Question, scope: Scope, space: Space) -> Found:
    """The candidates of the statement's rows, or the error of a row that must not be there."""
    found = Found(None, None, ())
    candidates: list[Candidate] = []
    for values in rows:
        row = Row(*values)
        if row.generation is None:
            return Found(None, None, (), is_unreadable=True)
        _check_space(row, space, question, scope)
        _check_lexicon(row, question, scope)
        found = Found(row.generation, row.slab, candidates, row.lexicon, row.lexical_is_exact)
        if row.rev_id is not None:
            _check_scope(row, scope)
            _check_form(row)
            candidates.append(_candidate(row, row.rev_id, scope))
    return found


def unreadable(question: Question, scope: Scope, rows: Sequence[Sequence[Any]]) -> ValidationError:
    """Why the generation that was asked for cannot be read, and which can. ``rows`` are of the statement ``generations``."""
    oldest, newest = rows[0] if rows else (None, 0)
    wanted = question.generation or 0
    if not newest or oldest is None:
        return ValidationError(f"Corpus {scope} has no generation {wanted}: nothing was published in it yet.")
    fate = "was collected" if 0 < wanted <= newest else "does not exist"
    return ValidationError(
        f"Generation {wanted} of corpus {scope} {fate}: choose one from {oldest} to {newest}, or leave it out to read what "
        "the corpus shows."
    )


def _check_space(row: Row, space: Space, question: Question, scope: Scope) -> None:
    if (row.embedder_identity, row.dimensions) == (space.embedder_identity, space.dimensions):
        return
    read, way_out = f"Corpus {scope}", f"the corpus's own, or run `headwater reindex --corpus {scope}` with this one"
    if question.generation is not None:
        read, way_out = f"Generation {question.generation} of corpus {scope}", "that one"
    raise EmbedderMismatch(
        f"{read} was indexed with embedder {row.embedder_identity!r} of {row.dimensions} dimensions, and this retriever has "
        f"{space.embedder_identity!r} of {space.dimensions}: open the retriever with {way_out}."
    )


def _check_lexicon(row: Row, question: Question, scope: Scope) -> None:
    if question.lexical == "off":
        return
    read = f"Corpus {scope}" if question.generation is None else f"Generation {question.generation} of corpus {scope}"
    if row.lexicon is None:
        raise ValidationError(
            f"{read} was indexed before passages were looked up by their words: run `headwater reindex --corpus {scope}`, "
            'which embeds nothing again, or ask with lexical="off".'
        )
    if not is_known(row.lexicon):
        raise ValidationError(
            f"{read} has its words by the rule {row.lexicon!r}, and this release by {LEXICON!r}: ask with the release that indexed it, "
            f'run `headwater reindex --corpus {scope}`, or ask with lexical="off".'
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
        or row.distance is None
        or not _is_finite(row.distance, row.lexical_score)
        or (row.vector_rank is None and row.lexical_rank is None)
        or not isinstance(row.document_metadata, dict)
        or not isinstance(row.chunk_metadata, dict)
    ):
        raise StoreError(
            f"Passage {chunk_id(row.source_id, row.chunk_no)} is malformed in the store: take its document away at its "
            "origin, sync, put it back and sync again."
        )


def _is_finite(*numbers: float | None) -> bool:
    return all(number is None or math.isfinite(number) for number in numbers)


def _candidate(row: Row, rev_id: int, scope: Scope) -> Candidate:
    return Candidate(
        scope=scope,
        rev_id=rev_id,
        chunk_no=row.chunk_no,
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
        sensitivity=row.sensitivity,
        similarity=1.0 - row.distance,
        vector_rank=row.vector_rank,
        lexical_score=None if row.lexical_score is None else row.lexical_score + 0.0,  # and no -0.0
        lexical_rank=row.lexical_rank,
    )


def _locator(place: Mapping[str, Any]) -> str | None:
    """``page 3``, the headings from the outermost in, or both: where a person finds the passage."""
    page, headings = place.get("page"), place.get("heading")
    parts = [] if page is None else [f"page {page}"]
    if headings:
        parts.append(" › ".join(headings))
    return ", ".join(parts) or None
