"""The last look at grants and tombstones before anything is disclosed, and what the host is told of it.

The search read one snapshot. A grant that is taken away, or ends, after it must still count: so one second statement
asks again, once for each distinct source, and its answer is final.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import psycopg

from headwater.db import reason, statement
from headwater.limits import DENIED_SOURCES, ERROR_CHARACTERS
from headwater.models import AccessDenied, Scope
from headwater.question import Question
from headwater.rows import Candidate

OnAccessDenied = Callable[[AccessDenied], object]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of the statement ``recheck``, in the order of its columns."""

    rev_id: int
    is_granted: bool
    is_alive: bool


def recheck_statement(schema: str, question: Question) -> bytes:
    """The SQL that looks again."""
    return statement("recheck", schema, pointer=question.pointer)


def denied_statement(schema: str, question: Question) -> bytes:
    """The SQL that names what the corpus holds and this reader may not read."""
    return statement("denied", schema, pointer=question.pointer, denied=DENIED_SOURCES)


def revisions(candidates: Iterable[Candidate]) -> list[int]:
    """What is looked at again. A source shows one revision, so this is each distinct source once."""
    return list(dict.fromkeys(candidate.rev_id for candidate in candidates))


@dataclass(slots=True)
class Audit:
    """Tells the host of each source that was withheld: once, at the end, and also when the query fails.

    An abort (`KeyboardInterrupt`, `CancelledError`) is not a denial, and nothing is told.
    """

    scope: Scope
    listener: OnAccessDenied | None
    _denied: dict[str, AccessDenied] = field(default_factory=dict)

    @property
    def is_heard(self) -> bool:
        """Somebody listens: only then is the store asked for what it did not give."""
        return self.listener is not None

    def kept_back(self, source_ids: Iterable[str]) -> None:
        """Sources that the store kept back by itself. What the recheck says of one of them counts instead."""
        self._denied = {source_id: self._denial(source_id, hits=0) for source_id in source_ids}

    def disclose(self, candidates: Sequence[Candidate], verdicts: Sequence[Verdict] | psycopg.Error) -> list[Candidate]:
        """The candidates that may be shown. Without verdicts, none: every source they come from is withheld."""
        hits = Counter(candidate.source_id for candidate in candidates)
        for source_id in hits:
            self._denied.pop(source_id, None)
        if isinstance(verdicts, psycopg.Error):
            error = reason(verdicts)[:ERROR_CHARACTERS]
            for source_id, count in hits.items():
                self._denied[source_id] = self._denial(source_id, hits=count, error=error)
            return []
        alive = {verdict.rev_id: verdict.is_granted for verdict in verdicts if verdict.is_alive}
        for candidate in candidates:
            # What is gone meanwhile is withheld without a word: nobody was refused it.
            if alive.get(candidate.rev_id) is False:
                self._denied[candidate.source_id] = self._denial(candidate.source_id, hits=hits[candidate.source_id])
        return [candidate for candidate in candidates if alive.get(candidate.rev_id)]

    def _denial(self, source_id: str, *, hits: int, error: str | None = None) -> AccessDenied:
        return AccessDenied(
            source_id=source_id,
            scope=self.scope,
            reason="no_grant" if error is None else "check_failed",
            hits=hits,
            error=error,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.listener is not None and (kind is None or issubclass(kind, Exception)):
            for denial in self._denied.values():
                self.listener(denial)
