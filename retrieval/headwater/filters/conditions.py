"""What a filter asks of metadata, said in Python. The store is asked the same in SQL."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, get_args

Operator = Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "between"]
OPERATORS: Final[tuple[Operator, ...]] = get_args(Operator)

_MISSING: Final = object()
_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is asked of one key. ``value`` is JSON: of ``in`` and ``nin`` a list, of ``between`` both ends."""

    key: str
    operator: Operator
    value: Any

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """A key that is not there satisfies ``ne`` and ``nin``, and nothing else."""
        stored = metadata.get(self.key, _MISSING)
        match self.operator:
            case "eq":
                return equal(stored, self.value)
            case "ne":
                return not equal(stored, self.value)
            case "in":
                return any(equal(stored, value) for value in self.value)
            case "nin":
                return not any(equal(stored, value) for value in self.value)
            case "between":
                low, high = self.value
                return _compare("gte", stored, low) and _compare("lte", stored, high)
            case _:
                return _compare(self.operator, stored, self.value)


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that all have to hold."""

    conditions: tuple[Condition, ...]

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """What the store would say of a passage with these metadata."""
        return all(condition.matches(metadata) for condition in self.conditions)


def equal(one: object, other: object) -> bool:
    """Equal as JSON is, however deep: 1 is 1.0, and true is not 1."""
    if is_number(one) and is_number(other):
        return _exact(one) == _exact(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and one == other


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compare(name: str, stored: object, value: object) -> bool:
    """Numbers with numbers, and texts with texts by their code points. Nothing else has an order."""
    if is_number(stored) and is_number(value):
        return _COMPARED[name](_exact(stored), _exact(value))
    if isinstance(stored, str) and isinstance(value, str):
        return _COMPARED[name](stored, value)
    return False


def _exact(number: Any) -> Decimal:
    """The number as it is written, which is what the store compares: 1e23 as a float is a little less than that."""
    return Decimal(repr(number))
