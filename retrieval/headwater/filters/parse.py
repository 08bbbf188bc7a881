"""From what a host writes to a filter, or to the error that names the key."""

import json
import math
from collections.abc import Iterable, Mapping
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
    conditions = tuple(condition for key, wanted in written.items() for condition in _conditions(key, wanted))
    if len(conditions) > FILTER_CONDITIONS:
        raise LimitError(f"filter has {len(conditions):,} conditions: at most {FILTER_CONDITIONS} may be set at once.")
    values = sum(len(condition.value) for condition in conditions if condition.operator in _LISTS)
    if values > FILTER_VALUES:
        raise LimitError(f"filter lists {values:,} values: at most {FILTER_VALUES:,} may be listed in all.")
    size = sum(len(json.dumps([each.key, each.value], ensure_ascii=False).encode()) for each in conditions)
    if size > FILTER_BYTES:
        raise LimitError(f"filter has {size:,} bytes as JSON: at most {FILTER_BYTES:,} are read.")
    return Filter(conditions) if conditions else None


def _conditions(key: object, wanted: object) -> Iterable[Condition]:
    if not isinstance(key, str) or UNSTORABLE.search(key):
        raise ValidationError("filter: a key must be a text without NUL or lone surrogates.")
    if len(key) > FILTER_KEY_CHARACTERS:
        raise LimitError(f"filter: a key has {len(key):,} characters: at most {FILTER_KEY_CHARACTERS} are read.")
    if isinstance(wanted, list | tuple):
        raise ValidationError(f'{_of(key)} is a list: write {{"in": […]}} for one of them, {{"eq": […]}} for the list.')
    if not isinstance(wanted, Mapping):
        return [Condition(key, "eq", _json(key, wanted))]
    if not wanted:
        raise ValidationError(f"{_of(key)} says nothing: write a value, or {{operator: value}}.")
    return [_condition(key, operator, value) for operator, value in wanted.items()]


def _condition(key: str, operator: object, value: object) -> Condition:
    known = _KNOWN.get(operator)
    if known is None:
        raise ValidationError(
            f"{_of(key)} has the operator {str(operator)[:40]!r}: choose from {', '.join(OPERATORS)}."
        )
    parsed = _json(key, value)
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


def _json(key: str, value: object, depth: int = 0) -> Any:
    """A copy of ``value`` as JSON, which its owner may go on changing."""
    if depth > FILTER_DEPTH:
        raise LimitError(f"{_of(key)} is nested deeper than {FILTER_DEPTH} levels.")
    match value:
        case None | bool():
            return value
        case str() if not UNSTORABLE.search(value):
            return str(value)
        case int() if value.bit_length() <= _INTEGER_BITS:
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case list() | tuple():
            return [_json(key, each, depth + 1) for each in value]
        case Mapping() if all(isinstance(name, str) and not UNSTORABLE.search(name) for name in value):
            return {str(name): _json(key, each, depth + 1) for name, each in value.items()}
    raise ValidationError(
        f"{_of(key)} is compared with a value that JSON does not have, or the store cannot hold ({type(value).__name__})."
    )


def _of(key: str) -> str:
    return f"filter: {key[:80]!r}"
