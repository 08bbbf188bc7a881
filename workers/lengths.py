"""Lengths of time as people write them: 90s, 15m, 1h, 1d."""

import re
from datetime import timedelta
from typing import Final

UNITS: Final = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}
_WRITTEN: Final = re.compile(r"([0-9]{1,6})([smhd])")


def length(written: str) -> timedelta | None:
    """The length, or None if that is none."""
    found = _WRITTEN.fullmatch(written)
    return UNITS[found[2]] * int(found[1]) if found else None


def written(length: timedelta) -> str:
    """The length in the largest unit that says it whole."""
    for unit, one in UNITS.items():
        if length and not length % one:
            return f"{length // one}{unit}"
    return f"{length.total_seconds():g}s"
