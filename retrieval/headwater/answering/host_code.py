"""Code of a host's that we call. It gives its answer at once: what is async would be forgotten without an error, and with it
an audit, or what a redactor takes out. So that is refused, where it is given if that can be seen there."""

from collections.abc import Callable
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction
from typing import Any, TypeVar

from headwater.errors import ValidationError

T = TypeVar("T")


def check_not_async(function: object, name: str) -> None:
    """Refuses an ``async def``, also as an object's ``__call__`` or within a ``functools.partial``."""
    for called in (function, getattr(function, "__call__", None)):  # noqa: B004 - what is called, not whether
        if iscoroutinefunction(called) or isasyncgenfunction(called):
            raise ValidationError(_ASYNC.format(name))


def answered(function: Callable[..., T], *arguments: Any, name: str) -> T:
    """What ``function`` gives. A function may be plain and still give something to be awaited: then it is refused here."""
    answer = function(*arguments)
    if isawaitable(answer):
        if callable(close := getattr(answer, "close", None)):
            close()  # or it would be told as never awaited
        raise ValidationError(_ASYNC.format(name))
    return answer


_ASYNC = (
    "{} is async, and nobody would await it: give a plain function. One that takes its time holds no event loop up, for "
    "AsyncRetriever calls it in a thread."
)
