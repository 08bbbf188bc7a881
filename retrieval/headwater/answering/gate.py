"""Making passages of what was found, and looking again at what may be shown: whenever code of a host's has had its time.

The search read one snapshot. A reranker, a redactor or a post-processor may take seconds, in which a grant ends. So what is shown,
to such code or in the answer, was looked at after the last of them.
"""

from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import psycopg

from headwater.answering.assembly import Passage, passage
from headwater.answering.ranking import Ranked
from headwater.answering.recheck import Audit, Verdict, recheck_statement
from headwater.answering.redaction import Redactor, redacted
from headwater.models import RetrievalResult
from headwater.sensitivity import SENSITIVITIES
from headwater.store.effects import Effect, called, fetched
from headwater.store.question import Question
from headwater.store.rows import Candidate

UNCHECKED: Final = (
    "Postgres did not say what may still be shown ({}), so nothing is. That is no empty answer: ask again."
)


@dataclass(frozen=True, slots=True)
class Gate:
    """One statement, that says what of all that is left may be shown now. If nobody can say, nothing."""

    question: Question
    schema: str
    audit: Audit

    @property
    def has_failed(self) -> bool:
        """Nothing may be shown, whatever is found from here on."""
        return self.audit.failure is not None

    def passed(self, passages: Sequence[Passage]) -> Generator[Effect, Any, list[Passage]]:
        """Those that may be shown, each with the label that it has by now, if that is a higher one."""
        left, _ = yield from self.passed_both(passages, ())
        return left

    def passed_ranked(self, order: Sequence[Ranked]) -> Generator[Effect, Any, list[Ranked]]:
        """The same of what nobody has made passages of yet."""
        _, left = yield from self.passed_both((), order)
        return left

    def passed_both(
        self, passages: Sequence[Passage], order: Sequence[Ranked]
    ) -> Generator[Effect, Any, tuple[list[Passage], list[Ranked]]]:
        """The same of both, in one statement."""
        levels = yield from self._levels([*(one.candidate for one in passages), *(one.candidate for one in order)])
        return (
            [_labelled(one, levels) for one in passages if one.candidate.rev_id in levels],
            [_relabelled(one, levels) for one in order if one.candidate.rev_id in levels],
        )

    def _levels(self, candidates: Sequence[Candidate]) -> Generator[Effect, Any, Mapping[int, int]]:
        """The revisions that may be shown now, each with its label."""
        if not candidates:
            return {}
        statement = recheck_statement(self.schema, self.question, [one.rev_id for one in candidates])
        verdicts: Sequence[Verdict] | psycopg.Error
        try:
            (rows,) = yield from fetched(statement)
            verdicts = [Verdict(*row) for row in rows]
        except psycopg.Error as error:
            verdicts = error
        return self.audit.disclose(candidates, verdicts)


class Supply:
    """Passages of what was found, in its order, made when they are needed: a redactor may take its time for each of them."""

    def __init__(self, order: Iterable[Ranked], *, redactor: Redactor | None, gate: Gate) -> None:
        self._waiting = deque(order)
        self._redactor = redactor
        self._gate = gate
        self._at = datetime.now(UTC)
        self._given = 0
        self._is_fresh = True  # nothing has taken its time since the gate let them pass

    def filled(self, passages: Sequence[Passage], most: int) -> Generator[Effect, Any, list[Passage]]:
        """``passages``, and the next ones that may be shown, ``most`` in all if there are as many, without what the redactor takes out.

        The redactor takes its time for the later ones too: so the last look is at all of them, those that had passed before included.
        """
        filled = list(passages)
        while len(filled) < most and self._waiting and not self._gate.has_failed:
            some = yield from self._taken(most - len(filled))
            if self._redactor is not None:
                filled, some = yield from self._gate.passed_both(filled, some)
            elif not self._is_fresh:
                some = yield from self._gate.passed_ranked(some)
            filled += [self._passage(one) for one in some]
        self._is_fresh = False
        return filled

    def _taken(self, most: int) -> Generator[Effect, Any, list[Ranked]]:
        if self._redactor is None:
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        redactor = self._redactor
        some: list[Ranked] = yield from called(lambda: self._redacted(most, redactor))
        return some

    def _redacted(self, most: int, redactor: Redactor) -> list[Ranked]:
        some: list[Ranked] = []
        while len(some) < most and self._waiting:
            one = self._waiting.popleft()
            left = redacted(one.candidate, redactor)
            if left.text.strip():  # else there is nothing to show or to rank: the next one moves up
                some.append(replace(one, candidate=left))
        return some

    def _passage(self, one: Ranked) -> Passage:
        self._given += 1
        return passage(one.candidate, one.scores, one.retrieval, rank=self._given, at=self._at)


def with_check_error(result: RetrievalResult, audit: Audit) -> RetrievalResult:
    """``result``, which says so if it is empty because a look failed."""
    return (
        result if audit.failure is None else result.model_copy(update={"check_error": UNCHECKED.format(audit.failure)})
    )


def _relabelled(one: Ranked, levels: Mapping[int, int]) -> Ranked:
    candidate = _at_least(one.candidate, levels)
    return one if candidate is one.candidate else replace(one, candidate=candidate)


def _labelled(one: Passage, levels: Mapping[int, int]) -> Passage:
    candidate = _at_least(one.candidate, levels)
    if candidate is one.candidate:
        return one
    return Passage(candidate, one.hit.model_copy(update={"sensitivity": SENSITIVITIES[candidate.sensitivity]}))


def _at_least(candidate: Candidate, levels: Mapping[int, int]) -> Candidate:
    level = levels[candidate.rev_id]
    return candidate if level <= candidate.sensitivity else replace(candidate, sensitivity=level)
