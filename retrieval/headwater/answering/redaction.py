"""What a host's redactor leaves of texts, before any of them goes anywhere: to a model, into an answer or its audit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headwater.answering.host_code import answered
from headwater.errors import HeadwaterError, ValidationError
from headwater.ids import UNSTORABLE
from headwater.store.rows import Candidate

Redactor = Callable[[str], str]


def redacted_text(text: str, redactor: Redactor) -> str:
    """What ``redactor`` leaves of ``text``. If it fails nothing is shown, and its error, which may quote, is not repeated."""
    try:
        left = answered(redactor, text, name="redactor")
    except HeadwaterError:
        raise
    except Exception as error:  # noqa: BLE001 - a host's code raises anything
        raise ValidationError(f"The redactor failed with {type(error).__name__}: nothing is shown.") from None
    if not isinstance(left, str) or UNSTORABLE.search(left):
        raise ValidationError("The redactor must return a text without NUL or lone surrogates: nothing is shown.")
    return left


def redacted(candidate: Candidate, redactor: Redactor) -> Candidate:
    """``candidate`` as it may be shown. Ids stay: they are names, and not secret."""

    def text(value: str | None) -> str | None:
        return None if value is None else redacted_text(value, redactor)

    return replace(
        candidate,
        text=redacted_text(candidate.text, redactor),
        title=text(candidate.title),
        uri=text(candidate.uri),
        locator=text(candidate.locator),
        metadata=_redacted_json(candidate.metadata, redactor),
    )


def _redacted_json(value: Any, redactor: Redactor) -> Any:
    match value:
        case str():
            return redacted_text(value, redactor)
        case dict():
            return {redacted_text(key, redactor): _redacted_json(each, redactor) for key, each in value.items()}
        case list():
            return [_redacted_json(each, redactor) for each in value]
        case _:
            return value
