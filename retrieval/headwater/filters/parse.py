"""From what a host writes to a filter, or to the error that names the key.

It may be written by whoever asks. So it is read with its limits in hand, and never further than they go.
"""

import json
import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from headwater.errors import LimitError, ValidationError
from headwater.filters.conditions import OPERATORS, Condition, Filter, Operator, is_number
from headwater.ids import UNSTORABLE
from headwater.limits import FILTER_BYTES, FILTER_CONDITIONS, FILTER_DEPTH, FILTER_KEY_CHARACTERS, FILTER_VALUES

_INTEGER_BITS: Final = 4_096  # Python itself writes no integer of more than 4,300 digits
_KNOWN: Final[Mapping[object, Operator]] = {each: each for each in OPERATORS}
_LISTS: Final = ("in", "nin")
_RANGES: Final = ("gt", "gte", "lt", "lte", "between")


def parse_filter(written: Mapping[str, Any] | None) -> Filter | None:
    """The filter ``{key: scalar}`` or ``{key: {operator: value}}``. Nothing written, nothing filtered."""
    if written is None:
        return None
    if not isinstance(written, Mapping):
        raise ValidationError("filter must be a mapping of keys to values, or to {operator: value}.")
    conditions = tuple(islice(_conditions(written), FILTER_CONDITIONS + 1))
    if len(conditions) > FILTER_CONDITIONS:
        raise LimitError(
            f"filter has more than {FILTER_CONDITIONS} conditions, which is as many as may be set at once."
        )
    values = sum(len(condition.value) for condition in conditions if condition.operator in _LISTS)
    if values > FILTER_VALUES:
        raise LimitError(f"filter lists {values:,} values: at most {FILTER_VALUES:,} may be listed in all.")
    size = sum(len(json.dumps([each.key, each.value], ensure_ascii=False).encode()) for each in conditions)
    if size > FILTER_BYTES:
        raise LimitError(f"filter has {size:,} bytes as JSON: at most {FILTER_BYTES:,} are read.")
    return Filter(conditions) if conditions else None


def _conditions(written: Mapping[Any, object]) -> Iterator[Condition]:
    for key, wanted in written.items():
        if not isinstance(key, str) or UNSTORABLE.search(key):
            raise ValidationError("filter: a key must be a text without NUL or lone surrogates.")
        if len(key) > FILTER_KEY_CHARACTERS:
            raise LimitError(f"filter: a key has {len(key):,} characters: at most {FILTER_KEY_CHARACTERS} are read.")
        key = str.__str__(key)
        if isinstance(wanted, list | tuple):
            raise ValidationError(
                f'{_of(key)} is a list: write {{"in": […]}} for one of them, {{"eq": […]}} for the list.'
            )
        if not isinstance(wanted, Mapping):
            yield Condition(key, "eq", _Copy(key).of(wanted))
        elif not wanted:
            raise ValidationError(f"{_of(key)} says nothing: write a value, or {{operator: value}}.")
        else:
            for operator, value in wanted.items():
                yield _condition(key, operator, value)


def _condition(key: str, operator: object, value: object) -> Condition:
    known = _KNOWN.get(operator)
    if known is None:
        raise ValidationError(
            f"{_of(key)} has the operator {str(operator)[:40]!r}: choose from {', '.join(OPERATORS)}."
        )
    if known in _LISTS and isinstance(value, list | tuple) and len(value) > FILTER_VALUES:
        raise LimitError(f"filter lists {len(value):,} values: at most {FILTER_VALUES:,} may be listed in all.")
    parsed = _Copy(key).of(value)
    if known in _LISTS and not isinstance(parsed, list):
        raise ValidationError(f"{_of(key)}: {known} wants a list of values.")
    if known in _RANGES:
        _check_range(key, known, parsed)
    return Condition(key, known, parsed)


def _check_range(key: str, operator: Operator, value: Any) -> None:
    """Only numbers and texts have an order, and each its own."""
    if operator != "between":
        if not is_number(value) and not isinstance(value, str):
            raise ValidationError(f"{_of(key)}: {operator} wants a number or a text.")
        return
    if not isinstance(value, list) or len(value) != 2:
        raise ValidationError(f"{_of(key)}: between wants a list of the lowest and the highest value.")
    if not all(map(is_number, value)) and not all(isinstance(each, str) for each in value):
        raise ValidationError(f"{_of(key)}: between wants two numbers or two texts.")


class _Copy:
    """A copy of a value as JSON, which its owner may go on changing. What is more than may be read is not copied to its end."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._room = FILTER_BYTES  # never less than what is left: each value is one byte at least, each character one

    def of(self, value: object, depth: int = 0) -> Any:
        if depth > FILTER_DEPTH:
            raise LimitError(f"{_of(self._key)} is nested deeper than {FILTER_DEPTH} levels.")
        self._take(1)
        match value:
            case None | bool():
                return value
            case str():
                return self._text(value)
            # As it is, whatever a subclass says of itself.
            case int() if int.bit_length(value) <= _INTEGER_BITS:
                return int.__int__(value)
            case float() if math.isfinite(value):
                return float.__float__(value)
            case list() | tuple():
                return [self.of(each, depth + 1) for each in value]
            case Mapping():
                return {self._name(name): self.of(each, depth + 1) for name, each in value.items()}
        raise self._foreign(value)

    def _name(self, name: object) -> str:
        if not isinstance(name, str):
            raise self._foreign(name)
        return self._text(name)

    def _text(self, text: str) -> str:
        self._take(len(text))
        if UNSTORABLE.search(text):
            raise self._foreign(text)
        return str.__str__(text)

    def _take(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise LimitError(
                f"{_of(self._key)} has more than {FILTER_BYTES:,} bytes as JSON, which is all that is read."
            )

    def _foreign(self, value: object) -> ValidationError:
        return ValidationError(
            f"{_of(self._key)} is compared with a value that JSON does not have, or the store cannot hold "
            f"({type(value).__name__[:80]})."
        )


def _of(key: str) -> str:
    return f"filter: {key[:80]!r}"
