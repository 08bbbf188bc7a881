"""Predicates over metadata that compare everything as text. Outside this profile, filters compare as JSON does."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args

from headwater.errors import ValidationError

T = TypeVar("T")
Operator = Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "between"]
OPERATORS: Final = get_args(Operator)
_LISTS: Final = ("in", "nin", "between")


def as_text(value: Any) -> str:
    """How a value is compared: None is nothing, and "10" comes before "9"."""
    return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on a field. A record without the field satisfies none, not even ``ne`` and ``nin``."""

    field: str
    operator: Operator
    value: Any

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            raise ValidationError("A predicate's field must be a text that is not empty.")
        if self.operator not in OPERATORS:
            raise ValidationError(
                f"Predicate on {self.field[:80]!r} has operator {str(self.operator)[:40]!r}: choose from {', '.join(OPERATORS)}."
            )
        if self.operator in _LISTS:
            if isinstance(self.value, str | Mapping) or not isinstance(self.value, Iterable):
                raise ValidationError(f"Predicate {self.operator} on {self.field[:80]!r} must have a list of values.")
            values = tuple(as_text(value) for value in self.value)
            if self.operator == "between" and (len(values) != 2 or values[0] > values[1]):
                raise ValidationError(
                    f"Predicate between on {self.field[:80]!r} must have two values, the lower one first (as texts: '10' < '9')."
                )
            object.__setattr__(self, "value", values)
        elif isinstance(self.value, list | tuple | set | Mapping):
            raise ValidationError(f"Predicate {self.operator} on {self.field[:80]!r} must have one value.")
        else:
            object.__setattr__(self, "value", as_text(self.value))

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        if self.field not in metadata:
            return False
        found, wanted = as_text(metadata[self.field]), self.value
        match self.operator:
            case "eq":
                return bool(found == wanted)
            case "ne":
                return bool(found != wanted)
            case "in":
                return found in wanted
            case "nin":
                return found not in wanted
            case "gt":
                return bool(found > wanted)
            case "gte":
                return bool(found >= wanted)
            case "lt":
                return bool(found < wanted)
            case "lte":
                return bool(found <= wanted)
            case "between":
                return bool(wanted[0] <= found <= wanted[1])


@dataclass(frozen=True, slots=True)
class PredicateSet:
    """Predicates that all must hold (``and``), or one of which must (``or``). Without predicates, everything matches."""

    predicates: tuple["Predicate | PredicateSet", ...] = ()
    mode: Literal["and", "or"] = "and"

    def __post_init__(self) -> None:
        if self.mode not in ("and", "or"):
            raise ValidationError(f"mode must be and or or, not {str(self.mode)[:40]!r}.")
        object.__setattr__(self, "predicates", tuple(self.predicates))
        if not all(isinstance(one, Predicate | PredicateSet) for one in self.predicates):
            raise ValidationError("predicates must be Predicate or PredicateSet objects.")

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        if not self.predicates:
            return True
        holds = (one.matches(metadata) for one in self.predicates)
        return all(holds) if self.mode == "and" else any(holds)

    def apply(self, records: Iterable[T], metadata: Callable[[T], Mapping[str, Any]] | None = None) -> list[T]:
        """The records that match, in their order. ``metadata`` says where a record has its fields: by default it is one."""
        return [record for record in records if self.matches(_fields(record, metadata))]


def parse_predicates(filters: Mapping[str, Any]) -> PredicateSet:
    """``{field: value}`` or ``{field: {operator: value}}``, all of which must hold."""
    parsed: list[Predicate] = []
    for field, wanted in filters.items():
        conditions: Mapping[Any, Any] = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
        parsed += [Predicate(field, operator, value) for operator, value in conditions.items()]
    return PredicateSet(tuple(parsed))


def _fields(record: Any, metadata: Callable[[Any], Mapping[str, Any]] | None) -> Mapping[str, Any]:
    if metadata is not None:
        return metadata(record)
    found = record if isinstance(record, Mapping) else getattr(record, "metadata", None)
    if not isinstance(found, Mapping):
        raise ValidationError(f"{type(record).__name__} has no metadata to compare: say where its fields are.")
    return found
