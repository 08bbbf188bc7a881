"""What a recipe waits for: statements, or somebody else's code. Whoever runs it does that, and hands the answer back."""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")

Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Statement:
    """What to run, and what is bound in it."""

    sql: bytes
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Statements that read one snapshot, in one round trip. Its answer is the rows of each, in order."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A model, or code of the host's: it may take seconds, in which no connection is held and no event loop waits."""

    function: Callable[[], Any]


Effect = Batch | Call
Recipe = Generator[Effect, Any, T]


def fetched(*statements: Statement) -> Generator[Effect, Any, Sequence[Rows]]:
    """The rows of each of them: ``rows, more = yield from fetched(first, second)``."""
    return (yield Batch(statements)) if statements else ()


def called(function: Callable[[], T]) -> Generator[Effect, Any, T]:
    """What ``function`` returns, or the error it raises."""
    answer: T = yield Call(function)
    return answer


async def in_thread(function: Callable[[], T]) -> T:
    """What ``function`` returns or raises, while the event loop goes on.

    It is brought back as a value: no future takes a `StopIteration`, and who waits for one that was to would wait for ever.
    """
    answer, error = await asyncio.to_thread(_settled, function)
    if error is not None:
        raise error
    return cast(T, answer)


def _settled(function: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    try:
        return function(), None
    except BaseException as error:  # noqa: BLE001 - raised where it is waited for
        return None, error


class Steps(Generic[T]):
    """A recipe under way: ask for the `next` effect, then `feed` its answer or `fail` it, until there is a `result`."""

    def __init__(self, recipe: Recipe[T]) -> None:
        self._recipe = recipe
        self._result: T | None = None
        self._effect: Effect | None = None
        self._go(lambda: next(recipe))

    def next(self) -> Effect | None:
        """What to do next, or None at the end."""
        return self._effect

    def feed(self, answer: Any) -> None:
        self._go(lambda: self._recipe.send(answer))

    def fail(self, error: BaseException) -> None:
        """Goes on without an answer where the recipe can, and raises ``error`` where it cannot: out of the step that wanted it."""
        self._go(lambda: self._recipe.throw(error))

    def close(self) -> None:
        """Ends it where it stands, if it has not ended."""
        self._recipe.close()

    @property
    def result(self) -> T:
        assert self._result is not None, "the recipe has not ended"
        return self._result

    def _go(self, on: Callable[[], Effect]) -> None:
        try:
            self._effect = on()
        except StopIteration as end:
            self._effect, self._result = None, end.value
