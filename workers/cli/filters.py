"""`--filter KEY=VALUE` and `--filter KEY:op=VALUE`: a filter of the library, as a person types it."""

import json
from collections.abc import Sequence
from typing import Any

from headwater.filters import OPERATORS
from workers.cli.errors import WrongUsage

EQUAL = "eq"


def filter_of(given: Sequence[str]) -> dict[str, dict[str, Any]] | None:
    """All of ``given``, which a passage must fulfil together."""
    conditions: dict[str, dict[str, Any]] = {}
    for each in given:
        key, operator, value = _condition(each)
        if operator in conditions.setdefault(key, {}):
            raise WrongUsage(
                f"--filter {key}:{operator} is given twice: a passage fulfils all filters. Write {key}:in=[…] for one of several."
            )
        conditions[key][operator] = value
    return conditions or None


def _condition(given: str) -> tuple[str, str, Any]:
    name, equals, value = given.partition("=")
    if not equals:
        raise WrongUsage(f"--filter {given[:80]!r} must be written KEY=VALUE or KEY:op=VALUE.")
    key, colon, operator = name.rpartition(":")
    if not colon:
        key, operator = name, EQUAL
    if not key:
        raise WrongUsage(f"--filter {given[:80]!r} names no key: write KEY=VALUE or KEY:op=VALUE.")
    if operator not in OPERATORS:
        raise WrongUsage(
            f"--filter {given[:80]!r} has no operator {operator[:40]!r}: use {', '.join(OPERATORS)}; "
            f"for a key that has a colon write KEY:{EQUAL}=VALUE."
        )
    return key, operator, _value(value)


def _value(text: str) -> Any:
    """JSON where it is JSON, else the text itself. ``NaN``, which JSON does not have, is a text."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> None:
    raise ValueError(constant)
