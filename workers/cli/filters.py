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
    return key, operator, _value(key, value)


def _value(key: str, text: str) -> Any:
    """JSON where it is JSON, else the text itself. ``NaN``, which JSON does not have, is a text."""
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for name, value in pairs:
            if name in read:
                twice.append(name)
            read[name] = value
        return read

    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return text
    if twice:  # the last one would be taken, and the other forgotten
        raise WrongUsage(f"--filter {key[:80]!r} is compared with an object that has {twice[0][:40]!r} twice.")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)
