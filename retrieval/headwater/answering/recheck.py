"""The last look at grants and tombstones before anything is disclosed, and what the host is told of it.

The search read one snapshot. A grant that is taken away, or ends, after it must still count: so one more statement asks
again, once for each distinct source, before a reranker sees anything and again after it. The last answer is final.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import psycopg

from headwater.answering.host_code import given_at_once
from headwater.limits import DENIED_SOURCES, ERROR_CHARACTERS
from headwater.models import AccessDenied, Scope
from headwater.store.db import reason
from headwater.store.effects import Statement, in_thread
from headwater.store.question import Question
from headwater.store.rows import Candidate
from headwater.store.statements import statement

OnAccessDenied = Callable[[AccessDenied], object]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of the statement ``recheck``, in the order of its columns."""

    rev_id: int
    is_granted: bool
    is_alive: bool
    sensitivity: int


def recheck_statement(schema: str, question: Question, revisions: Iterable[int]) -> Statement:
    """Looks again at ``revisions``, in all corpora at once. A source shows one of them, so this is each source once."""
    return Statement(
        statement("recheck", schema),
        {
            **question.parameters_of_all(),
            "revisions": list(dict.fromkeys(revisions)),
        },
    )


def denied_statement(schema: str, question: Question, scope: Scope) -> Statement:
    """Names what a corpus holds and this reader may not read."""
    sql = statement("denied", schema, pointer=question.pointer, most=DENIED_SOURCES)
    return Statement(sql, question.parameters(scope))


Source = tuple[Scope, str]


@dataclass(slots=True)
class Audit:
    """Tells the host of each source that was withheld: once, at the end, and also when the query fails.

    An abort (`KeyboardInterrupt`, `CancelledError`) is not a denial, and nothing is told.
    """

    listener: OnAccessDenied | None
    failure: str | None = None  # of the last look, if it failed: what kind of error, and no more
    _denied: dict[Source, AccessDenied] = field(default_factory=dict)
    _hits: dict[Source, set[str]] = field(default_factory=dict)  # ids of passages that were about to be shown

    @property
    def is_heard(self) -> bool:
        """Somebody listens: only then is the store asked for what it did not give."""
        return self.listener is not None

    def of_part(self) -> "Audit":
        """That of one question of several which are told together: what it hears is told by this one, at the end of all.

        Of a source that two of them looked at, the last look counts. Whether a look failed is each one's own.
        """
        return Audit(self.listener, _denied=self._denied, _hits=self._hits)

    def n_denied(self, scopes: Collection[Scope]) -> int:
        """How many sources of these corpora were withheld so far."""
        return sum(scope in scopes for scope, _ in self._denied)

    def kept_back(self, scope: Scope, rows: Iterable[Sequence[Any]]) -> None:
        """Sources that the store kept back by itself. What a recheck says of one of them counts instead."""
        for (source_id,) in rows:
            self._denied[scope, source_id] = self._denial((scope, source_id), None)

    def disclose(self, candidates: Sequence[Candidate], verdicts: Sequence[Verdict] | psycopg.Error) -> dict[int, int]:
        """The revisions that may be shown, each with its label of sensitivity as it is now.

        Without verdicts, none: every source they come from is withheld.
        """
        for candidate in candidates:
            source = candidate.scope, candidate.source_id
            self._hits.setdefault(source, set()).add(candidate.chunk_id)
            self._denied.pop(source, None)
        if isinstance(verdicts, psycopg.Error):
            error = self.failure = reason(verdicts)[:ERROR_CHARACTERS]
            for candidate in candidates:
                self._deny(candidate, error)
            return {}
        # What is gone meanwhile is withheld without a word: nobody was refused it.
        alive = {verdict.rev_id: verdict for verdict in verdicts if verdict.is_alive}
        for candidate in candidates:
            if candidate.rev_id in alive and not alive[candidate.rev_id].is_granted:
                self._deny(candidate, None)
        return {verdict.rev_id: verdict.sensitivity for verdict in alive.values() if verdict.is_granted}

    def _deny(self, candidate: Candidate, error: str | None) -> None:
        source = candidate.scope, candidate.source_id
        self._denied[source] = self._denial(source, error)

    def _denial(self, source: Source, error: str | None) -> AccessDenied:
        scope, source_id = source
        return AccessDenied(
            source_id=source_id,
            scope=scope.model_copy(),  # a host's listener may do with it as it likes
            reason="no_grant" if error is None else "check_failed",
            hits=len(self._hits.get(source, ())),
            error=error,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_to_be_told(kind):
            self._tell()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """As without asyncio, in a thread: a listener that writes its audit somewhere holds no event loop up."""
        if self._is_to_be_told(kind):
            await in_thread(self._tell)

    def _is_to_be_told(self, kind: type[BaseException] | None) -> bool:
        return self.listener is not None and bool(self._denied) and (kind is None or issubclass(kind, Exception))

    def _tell(self) -> None:
        assert self.listener is not None
        for denial in self._denied.values():
            given_at_once(self.listener(denial), name="on_access_denied")
