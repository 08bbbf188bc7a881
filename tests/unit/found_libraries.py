"""Retrievers that found certain hits in each corpus, and a store that says of each source whether it may be shown now."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from headwater import AsyncRetriever, Hit, Retriever, Scope
from headwater.answering.asking import Asked
from headwater.answering.assembly import Answered, Passage
from headwater.store.effects import Batch, Rows
from headwater.store.rows import Candidate
from tests.unit.passages import make_result
from tests.unit.recipe_steps import SmallEmbedder

INTERNAL = 1


@dataclass
class Shelves:
    """Hits by corpus, and what has happened since to their sources. Each source is one revision."""

    hits: Mapping[str, Sequence[Hit]]
    said: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what else the result of a corpus says
    starts: int = 0  # where each passage stands in its document
    lengths: int | None = None  # of it there, if a redactor changed that
    revoked: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    labels: dict[str, int] = field(default_factory=dict)
    is_broken: bool = False
    asked: list[Asked] = field(default_factory=list)
    looks: list[list[str]] = field(default_factory=list)  # the sources of each, in order
    _sources: list[str] = field(default_factory=list)

    def answered(self, asked: Asked) -> Answered:
        self.asked.append(asked)
        question = asked.question
        (scope,) = question.scopes
        redactor = asked.hooks.redactor
        query = question.query if redactor is None else redactor(question.query)
        hits = () if question.is_blank else tuple(self.hits[scope.corpus_id])
        result = make_result(*hits, query=query).model_copy(update=dict(self.said.get(scope.corpus_id, {})))
        return Answered(result, [Passage(self._candidate(hit, scope), hit) for hit in hits])

    def fetched(self, batch: Batch) -> list[Rows]:
        """The verdicts of a look, which is the only statement there is."""
        (statement,) = batch.statements
        sources = [self._sources[number] for number in statement.parameters["revisions"]]
        self.looks.append(sources)
        if self.is_broken:
            raise psycopg.errors.RaiseException("text 1 is secret")
        return [
            [
                (
                    self._sources.index(one),
                    one not in self.revoked,
                    one not in self.deleted,
                    self.labels.get(one, INTERNAL),
                )
                for one in sources
            ]
        ]

    def _candidate(self, hit: Hit, scope: Scope) -> Candidate:
        if hit.source_id not in self._sources:
            self._sources.append(hit.source_id)
        return Candidate(
            scope=scope,
            rev_id=self._sources.index(hit.source_id),
            chunk_no=1,
            chunk_id=hit.chunk_id,
            source_id=hit.source_id,
            provider="folder",
            revision=1,
            title=None,
            uri=None,
            locator=None,
            metadata={},
            start=self.starts,
            end=self.starts + (self.lengths or len(hit.text)),
            text=hit.text,
            sensitivity=INTERNAL,
            similarity=0.5,
            vector_rank=1,
            lexical_score=None,
            lexical_rank=None,
        )


class Standing(Retriever):
    """A `Retriever` over ``shelves`` instead of a server."""

    def __init__(self, shelves: Shelves) -> None:
        self.shelves = shelves
        super().__init__("postgresql://nowhere", embedder=SmallEmbedder())

    def _make_pool(self) -> None:
        pass

    def _answered(self, asked: Asked) -> Answered:
        return self.shelves.answered(asked)

    def _fetch(self, batch: Batch) -> list[Rows]:
        return self.shelves.fetched(batch)


class AsyncStanding(AsyncRetriever):
    def __init__(self, shelves: Shelves) -> None:
        self.shelves = shelves
        super().__init__("postgresql://nowhere", embedder=SmallEmbedder())

    def _make_pool(self) -> None:
        pass

    async def _answered(self, asked: Asked) -> Answered:
        return await asyncio.to_thread(self.shelves.answered, asked)

    async def _fetch(self, batch: Batch) -> list[Rows]:
        return self.shelves.fetched(batch)
