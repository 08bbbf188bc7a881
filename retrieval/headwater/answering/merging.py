"""Several answers as one, looked at again: while one of them was waited for, what another had let pass may have been taken away."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any

from headwater.answering.arranging import laid_out
from headwater.answering.assembly import Answered, Passage, assemble
from headwater.answering.finding import all_exact
from headwater.answering.gate import Gate, Supply, with_check_error
from headwater.answering.hooks import Hooks
from headwater.fusion import fuse_reciprocal_rank
from headwater.models import RetrievalResult
from headwater.store.effects import Effect
from headwater.telemetry import OFF, Span


def merged(
    libraries: Sequence[str], answers: Sequence[Answered], gate: Gate, hooks: Hooks, *, request: Span = OFF
) -> Generator[Effect, Any, RetrievalResult]:
    """What ``libraries`` answered, by their ranks. ``gate`` speaks of the corpora of all of them, so each look is one statement.

    What it withholds is made up for by the next of what they gave, and no library is asked again. There is no look where one
    library answered and nothing of a host's ran since.
    """
    question = gate.question
    passages = _in_one_order(libraries, answers, question.rrf_k)
    if len(answers) > 1:
        passages = yield from gate.passed(passages)
    with request.span("prompt.assembly") as span:
        best, layout = yield from laid_out(passages, Supply((), redactor=None, gate=gate), gate, hooks)
        result = assemble(
            question,
            best,
            layout=layout,
            generation=None,
            lexical_is_exact=all_exact(each.result.lexical_is_exact for each in answers),
            rerank_error=_all_said(each.result.rerank_error for each in answers),
        )
        result = with_check_error(result, gate.audit)
        result = result.model_copy(
            update={
                "truncated": result.truncated or any(each.result.truncated for each in answers),
                "check_error": _all_said([*(each.result.check_error for each in answers), result.check_error]),
            }
        )
        span.set(hits=len(result.hits), truncated=result.truncated)
    request.set(hits=len(result.hits), truncated=result.truncated)
    return result


def _in_one_order(libraries: Sequence[str], answers: Sequence[Answered], rrf_k: int) -> list[Passage]:
    """The first of each library before the second of any. One is named by its library and its place there: none is taken for another."""
    passages = {
        (number, place): _of_library(library_id, one)
        for number, (library_id, answer) in enumerate(zip(libraries, answers, strict=True))
        for place, one in enumerate(answer.passages)
    }
    legs = [[place for place in passages if place[0] == number] for number in range(len(answers))]
    return [passages[fused.item] for fused in fuse_reciprocal_rank(legs, rrf_k)]


def _of_library(library_id: str, one: Passage) -> Passage:
    provenance = one.hit.provenance.model_copy(update={"library_id": library_id})
    return replace(one, hit=one.hit.model_copy(update={"provenance": provenance}))


def _all_said(errors: Iterable[str | None]) -> str | None:
    """What went wrong in some of the libraries, each sentence once."""
    return " ".join(dict.fromkeys(error for error in errors if error)) or None
