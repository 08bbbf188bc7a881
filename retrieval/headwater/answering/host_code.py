"""Code of a host's that we call: what it is given, what it may give back, and what is said of it when it fails.

It gets copies, so that nothing it does to them, now or in a thread that it left behind, changes what is shown. It gives its answer
at once: what is async would be forgotten without an error, and with it an audit, or what a redactor takes out. So that is refused,
where it is given if that can be seen there. What it raises is told by its kind and line: the words may repeat a key or a passage.
"""

import sys
from asyncio import CancelledError
from collections.abc import Callable, Iterable
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction
from pathlib import PurePath
from traceback import walk_tb
from typing import Any, Final, TypeVar

from headwater.errors import HeadwaterError, RerankError, TransientError, ValidationError
from headwater.models import Hit

T = TypeVar("T")

NAME_CHARACTERS: Final = 80  # of a class or a file of a host's, in a sentence
# Packages whose code may stand between two pieces of ours: it calls us back. A host's may not, and no other knows us.
OURS: Final = frozenset({"headwater", "httpx", "httpcore"}) | sys.stdlib_module_names
RETRY_AFTER_MAX_S: Final = 1e9  # what is said beyond it is no time to wait


def check_not_async(function: object, name: str) -> None:
    """Refuses an ``async def``, also as an object's ``__call__`` or within a ``functools.partial``."""
    for called in (function, getattr(function, "__call__", None)):  # noqa: B004 - what is called, not whether
        if iscoroutinefunction(called) or isasyncgenfunction(called):
            raise ValidationError(_ASYNC.format(name))


def answered(function: Callable[..., T], *arguments: Any, name: str) -> T:
    """What ``function`` gives. What it raises comes out as an error of ours, by its kind and line.

    So does a task of its own that it had cancelled: as it is it would pass for the end of the question, which nobody is told.
    """
    try:
        return given_at_once(function(*arguments), name=name)
    except (Exception, CancelledError) as error:
        if is_ours(error):
            raise
        raise _as_ours(error, failure(error, name)) from None


def given_at_once(answer: T, *, name: str, kind: type[ValidationError] = ValidationError) -> T:
    """``answer``, unless it is to be awaited, as also a plain function's may be: then an error of ``kind``."""
    if isawaitable(answer):
        if callable(close := getattr(answer, "close", None)):
            close()  # or it would be told as never awaited
        raise kind(_ASYNC.format(name))
    return answer


def is_ours(error: BaseException) -> bool:
    """Our own code raised it, asked by none but our own: its words are ours.

    A host may raise our kinds of errors too, with words of its own; or hand a passage to code of ours that repeats what it refuses.
    A reranker of ours repeats nothing of what it was given, and a host's may stand around it.
    """
    if not isinstance(error, HeadwaterError):
        return False
    raised = [str(frame.f_globals.get("__name__", "")).partition(".")[0] for frame, _ in walk_tb(error.__traceback__)]
    return all(package in OURS for package in (raised[-1:] if isinstance(error, RerankError) else raised))


def _as_ours(error: BaseException, sentence: str) -> HeadwaterError:
    kind = kind_of(error)
    if not issubclass(kind, TransientError):
        return kind(sentence)
    after_s: Any = vars(error).get("retry_after_s")  # as it was set: a property would be more code of the host's
    is_said = type(after_s) in (int, float) and 0 <= after_s <= RETRY_AFTER_MAX_S
    return kind(sentence, retry_after_s=float(after_s) if is_said else None)


def kind_of(error: BaseException) -> type[HeadwaterError]:
    """The kind of ours that a host chose for its error, which says whether to ask again; else that of a bad argument."""
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ == HeadwaterError.__module__)
    found = next(kinds, ValidationError)
    return found if issubclass(found, HeadwaterError) else ValidationError


def failure(error: BaseException, name: str) -> str:
    """What may be said of an error that code of a host's, called ``name``, raised: its kind, and where."""
    file, line = _place(error)
    return f"{name} failed with {printable(type(error).__name__)} at {printable(PurePath(file).name)}:{line}."


def printable(name: str) -> str:
    """A name that a host gave, as it may stand in a sentence: on one line, and not longer than one reads."""
    return "".join(each if each.isprintable() else "?" for each in name[:NAME_CHARACTERS])


def lent(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Copies for code of a host's, down to the metadata. A frozen model is no wall: what is in it can be changed."""
    return tuple(
        hit.model_copy(
            update={
                "metadata": _copied(hit.metadata),
                "provenance": hit.provenance.model_copy(),
                "scores": hit.scores.model_copy(),
                "trust": hit.trust.model_copy(),
            }
        )
        for hit in hits
    )


def _copied(value: Any) -> Any:
    """JSON, as metadata are."""
    match value:
        case dict():
            return {key: _copied(each) for key, each in value.items()}
        case list():
            return [_copied(each) for each in value]
        case _:
            return value


def _place(error: BaseException) -> tuple[str, int]:
    """File and line of the frame that raised it."""
    file, line = "?", 0
    for frame, number in walk_tb(error.__traceback__):
        file, line = frame.f_code.co_filename, number
    return file, line


_ASYNC: Final = (
    "{} is async, and nobody would await it: give a plain function. One that takes its time holds no event loop up, for "
    "AsyncRetriever calls it in a thread."
)
