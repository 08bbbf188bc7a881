"""What code of a host's raises is told by its kind and line, whichever code it is, and never as an error of the store."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest

from headwater import HeadwaterError, Hit, LimitError, Scope, ValidationError
from headwater.answering.hooks import Hooks
from headwater.errors import RerankError, TransientError
from headwater.rerankers.bounded import Bounded
from headwater.store import db
from tests.unit.recipe_steps import SmallEmbedder, make_row, verdict, walk

SECRET = "sk-SECRET\n"


class Failing:
    """Code of every kind, all of which raises what it was made with."""

    is_hosted = False

    def __init__(self, error: Callable[[], object]) -> None:
        self._error = error

    def _fail(self) -> Any:
        raised = self._error()
        if isinstance(raised, Exception):
            raise raised

    def __call__(self, text: str) -> Any:
        return self._fail()

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        answer: Sequence[Hit] = self._fail()
        return answer

    process = rerank


KINDS: dict[str, Callable[[Failing], Hooks]] = {
    "redactor": lambda failing: Hooks(redactor=failing),
    "rewriter": lambda failing: Hooks(rewriter=failing),
    "Failing": lambda failing: Hooks(reranker=Bounded(failing)),
    "Post-processor Failing": lambda failing: Hooks(post_processors=(failing,)),
}


def raised_by(kind: str, error: Callable[[], object]) -> HeadwaterError:
    with pytest.raises(HeadwaterError) as caught, db.translated("headwater"):
        steps = walk(hooks=KINDS[kind](Failing(error)))
        steps.feed([make_row()])
        steps.feed([verdict(1)])
    assert caught.value.__cause__ is None and (caught.value.__suppress_context__ or not caught.value.__context__)
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET * 100_000),
        HeadwaterError(SECRET * 100_000),
        ValidationError(SECRET),
        psycopg.errors.UndefinedTable(SECRET),
        psycopg.OperationalError(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
def test_it_is_told_by_its_kind_and_line(kind: str, error: Exception) -> None:
    raised = raised_by(kind, lambda: error)

    assert re.fullmatch(rf"{kind} failed with {type(error).__name__} at test_hosts_errors\.py:\d+\.", str(raised))
    assert isinstance(raised, RerankError if kind == "Failing" else (ValidationError, HeadwaterError))


@pytest.mark.parametrize("kind", ["redactor", "rewriter", "Post-processor Failing"])
def test_the_kind_of_ours_that_a_host_chose_stays(kind: str) -> None:
    class Mine(TransientError):
        def __init__(self, one: object, two: object) -> None: ...

    assert type(raised_by(kind, lambda: Mine(SECRET, 2))) is TransientError
    assert type(raised_by(kind, lambda: LimitError(SECRET))) is LimitError


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (7, 7.0),
        (0.5, 0.5),
        (None, None),
        (SECRET, None),
        (-1, None),
        (float("nan"), None),
        (10**400, None),
        (True, None),
    ],
)
def test_so_does_how_long_to_wait_if_it_is_a_time(said: Any, kept: float | None) -> None:
    raised = raised_by("redactor", lambda: TransientError(SECRET, retry_after_s=said))

    assert isinstance(raised, TransientError) and raised.retry_after_s == kept


@pytest.mark.parametrize("kind", KINDS)
def test_what_our_own_code_says_of_what_a_host_handed_it_is_not_repeated(kind: str) -> None:
    """A passage that a host's code gives to a parser of ours would stand in its sentence."""
    raised = raised_by(kind, lambda: Scope.parse("a secret passage about my salary"))

    assert re.fullmatch(rf"{kind} failed with ValidationError at models\.py:\d+\.", str(raised))


class Remembering(SmallEmbedder):
    """Keeps its vectors in a database of the host's, which is away."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise psycopg.OperationalError(SECRET)


def test_a_database_of_an_embedder_does_not_pass_for_the_store() -> None:
    with pytest.raises(
        ValidationError, match=r"^embedder failed with OperationalError at test_hosts_errors\.py:\d+\.$"
    ):
        walk(embedder=Remembering())


class Broken(SmallEmbedder):
    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise KeyError("of the host's")


def test_all_else_that_an_embedder_raises_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="of the host's"):
        walk(embedder=Broken())
