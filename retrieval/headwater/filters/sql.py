"""What a filter asks of metadata, said in SQL. Keys and values are bound; only the operators are written out.

The predicate speaks of ``d``, which has the document's metadata, and of ``c``, the passage. Nothing in it can raise an error
whatever is stored: values are compared as JSON, and nothing is cast.
"""

import json
from typing import Any, Final

from headwater.filters.conditions import Condition, Filter

_SIGNS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def filter_predicate(wanted: Filter | None) -> str:
    """What a passage must satisfy. Filters of one form have one text, and so one plan."""
    if wanted is None:
        return "true"
    return " AND ".join(_predicate(number, condition) for number, condition in enumerate(wanted.conditions))


def filter_parameters(wanted: Filter | None) -> dict[str, Any]:
    """What is bound in the predicate."""
    bound: dict[str, Any] = {}
    for number, condition in enumerate(wanted.conditions if wanted else ()):
        bound[f"key_{number}"] = condition.key
        bound |= {f"value_{number}_{part}": value for part, value in enumerate(_values(condition))}
    return bound


def _predicate(number: int, condition: Condition) -> str:
    # What the origin says of a document wins over what we know of the passage. A JSON null is a value, and wins as well.
    stored = f"coalesce(d.metadata -> %(key_{number})s, c.metadata -> %(key_{number})s)"
    first, last = f"%(value_{number}_0)s", f"%(value_{number}_1)s"
    match condition.operator:
        case "eq":
            return f"{stored} = {first}::jsonb"
        case "ne":
            return f"({stored} = {first}::jsonb) IS NOT TRUE"
        case "in":
            return f"{stored} = ANY ({first}::text[]::jsonb[])"
        case "nin":
            return f"({stored} = ANY ({first}::text[]::jsonb[])) IS NOT TRUE"
        case "between":
            low, high = condition.value
            return f"{_range(stored, '>=', first, low)} AND {_range(stored, '<=', last, high)}"
        case _:
            return _range(stored, _SIGNS[condition.operator], first, condition.value)


def _range(stored: str, sign: str, bound: str, value: object) -> str:
    if isinstance(value, str):
        # JSON compares texts by the database's collation, which differs from one to the next, and from Python's.
        compared = f"""(({stored}) #>> '{{}}') COLLATE "C" {sign} {bound}::text COLLATE "C\""""
        return f"(jsonb_typeof({stored}) = 'string' AND {compared})"
    return f"(jsonb_typeof({stored}) = 'number' AND {stored} {sign} {bound}::jsonb)"


def _values(condition: Condition) -> list[Any]:
    match condition.operator:
        case "in" | "nin":
            return [[_json(value) for value in condition.value]]
        case "between":
            return [_bound(value) for value in condition.value]
        case "gt" | "gte" | "lt" | "lte":
            return [_bound(condition.value)]
        case _:
            return [_json(condition.value)]


def _bound(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    return json.dumps(value)
