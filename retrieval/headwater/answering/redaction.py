"""What a host's redactor leaves of texts, before any of them goes anywhere: to a model, into an answer or its audit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from headwater.answering.host_code import answered
from headwater.errors import LimitError, ValidationError
from headwater.ids import UNSTORABLE
from headwater.limits import QUERY_CHARACTERS
from headwater.store.rows import Candidate

Redactor = Callable[[str], str]

# Four times the longest text that it is given: marks may be longer than what they stand for. A pattern that matches everywhere
# makes more.
REDACTED_CHARACTERS: Final = 131_072


def redacted_text(text: str, redactor: Redactor) -> str:
    """What ``redactor`` leaves of ``text``. If it fails nothing is shown, and its error, which may quote, is not repeated."""
    left = answered(redactor, text, name="redactor")
    if not isinstance(left, str) or UNSTORABLE.search(left):
        raise ValidationError("The redactor must return a text without NUL or lone surrogates: nothing is shown.")
    if len(left) > REDACTED_CHARACTERS:
        raise LimitError(
            f"The redactor made {len(left):,} characters of {len(text):,}: at most {REDACTED_CHARACTERS:,} are shown of one text."
        )
    return left


def redacted_query(query: str, redactor: Redactor) -> str:
    """The same of a query, which is no longer afterwards than any may be."""
    left = redacted_text(query, redactor)
    if len(left) > QUERY_CHARACTERS:
        raise LimitError(
            f"The redactor made a query of {len(left):,} characters: at most {QUERY_CHARACTERS:,} are read."
        )
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
