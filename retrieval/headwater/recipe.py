"""How a question is answered: search, look again at what was found, show what may be shown.

The recipe is a generator that yields statements and gets their rows, so that it is written once: who runs it only waits.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg

from headwater.assembly import assemble
from headwater.errors import StoreError
from headwater.limits import MOVES
from headwater.models import RetrievalResult
from headwater.question import Question
from headwater.recheck import Audit, Verdict, denied_statement, recheck_statement, revisions
from headwater.routes import Route, Routes
from headwater.rows import Found, read_rows, unreadable
from headwater.search import Space, asker, generations_statement, search_parameters, search_statement

Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Statement:
    """What to run next, and what is bound in it."""

    sql: bytes
    parameters: Mapping[str, Any]


Recipe = Generator[Statement, Rows, RetrievalResult]


def recipe(question: Question, space: Space, vector: str, *, schema: str, audit: Audit, routes: Routes) -> Recipe:
    """Yields each statement, and wants its rows or the psycopg error it met."""
    who = asker(question, question.scope)
    searched = search_parameters(question, question.scope, space, vector)
    found = yield from _search(question, space, searched, schema=schema, routes=routes)
    if found.is_unreadable:
        raise unreadable(question, question.scope, (yield Statement(generations_statement(schema), who)))
    if audit.is_heard:
        audit.kept_back(source_id for (source_id,) in (yield Statement(denied_statement(schema, question), who)))
    shown = found.candidates
    if shown:
        verdicts: Sequence[Verdict] | psycopg.Error
        try:
            rows = yield Statement(recheck_statement(schema, question), {**who, "revisions": revisions(shown)})
            verdicts = [Verdict(*row) for row in rows]
        except psycopg.Error as error:
            verdicts = error
        shown = audit.disclose(shown, verdicts)
    return assemble(question, shown, generation=found.generation, retrieved_at=datetime.now(UTC))


def _search(
    question: Question, space: Space, parameters: Mapping[str, Any], *, schema: str, routes: Routes
) -> Generator[Statement, Rows, Found]:
    """What is found where the build lies. A build that is elsewhere by now says where, and is asked for there."""
    slab = routes.of(question.scope, question.generation).slab
    for _ in range(1 + MOVES):
        sql = search_statement(schema, space, question, question.scope, slab)
        found = read_rows((yield Statement(sql, parameters)), question, question.scope, space)
        if found.slab is None or found.slab == slab:
            return found
        slab = found.slab
        routes.learn(question.scope, question.generation, Route(slab, found.lexicon))
    raise StoreError(
        f"Corpus {question.scope} moved to another partition {MOVES + 1} times while it was searched: ask again."
    )


def nothing(question: Question) -> RetrievalResult:
    """The answer to a question that looks for nothing."""
    return assemble(question, (), generation=None, retrieved_at=datetime.now(UTC))


class Steps:
    """A recipe under way: ask for the `next` statement, then `feed` its rows or `fail` it, until there is a `result`."""

    def __init__(self, steps: Recipe) -> None:
        self._steps = steps
        self._statement: Statement | None = next(steps)
        self._result: RetrievalResult | None = None

    def next(self) -> Statement | None:
        """The statement to run, or None at the end."""
        return self._statement

    def feed(self, rows: Rows) -> None:
        try:
            self._statement = self._steps.send(rows)
        except StopIteration as end:
            self._end(end.value)

    def fail(self, error: psycopg.Error) -> None:
        """Goes on without the rows where the recipe can, and raises ``error`` where it cannot."""
        try:
            self._statement = self._steps.throw(error)
        except StopIteration as end:
            self._end(end.value)

    @property
    def result(self) -> RetrievalResult:
        assert self._result is not None, "the recipe has not ended"
        return self._result

    def _end(self, result: RetrievalResult) -> None:
        self._statement, self._result = None, result
