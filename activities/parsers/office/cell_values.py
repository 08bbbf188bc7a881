"""Values of cells as people see them: a date is a number with a format, and so is a percentage.

Other formats (currencies, separators) are left to the number: what they add depends on the reader's language.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

Form = Literal["date", "time", "datetime", "elapsed", "percent"]

# Formats that every workbook knows without defining them; 27 to 36 and 50 to 58 are the dates of East Asian versions.
_BUILT_IN: Final[dict[int, Form]] = {
    9: "percent",
    10: "percent",
    **dict.fromkeys((14, 15, 16, 17), "date"),
    **dict.fromkeys((18, 19, 20, 21), "time"),
    22: "datetime",
    **dict.fromkeys((27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58), "date"),
    **dict.fromkeys((32, 33, 34, 35, 55, 56), "time"),
    **dict.fromkeys((45, 47), "time"),
    46: "elapsed",
}
_LITERALS: Final = re.compile(r'"[^"]*"|\\.|_.|\*.')
_BRACKETS: Final = re.compile(r"\[(?!h+\]|m+\]|s+\])[^\]]*\]", re.IGNORECASE)
_ELAPSED: Final = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_DAY_MAX: Final = 2_958_465  # 9999-12-31
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d)?T?(\d\d:\d\d(?::\d\d)?)?")


@dataclass(frozen=True, slots=True)
class Formats:
    """What the numbers of a workbook mean: the form of each style, and the day they count from."""

    by_style: tuple[Form | None, ...] = ()
    is_1904: bool = False


class Styles:
    """The visitor of a workbook's ``styles`` part."""

    def __init__(self) -> None:
        self._formats: dict[int, Form | None] = dict(_BUILT_IN)
        self._styles: list[int] = []
        self._in_cells = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "numFmt":
            self._formats[_number(attributes.get("numFmtId"))] = form_of(attributes.get("formatCode", ""))
        elif name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells:
            self._styles.append(_number(attributes.get("numFmtId")))

    def data(self, text: str) -> None: ...

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._in_cells = False

    def formats(self, *, is_1904: bool) -> Formats:
        return Formats(tuple(self._formats.get(style) for style in self._styles), is_1904)


def form_of(code: str) -> Form | None:
    """What a format such as ``dd/mm/yyyy`` makes of a number. Only what it says of positive numbers counts."""
    code = _BRACKETS.sub("", _LITERALS.sub("", code.partition(";")[0]))
    if _ELAPSED.search(code):
        return "elapsed"
    letters = code.lower().replace("am/pm", "h").replace("a/p", "h").replace("general", "")
    is_date = any(letter in letters for letter in "yde")
    is_time = any(letter in letters for letter in "hs")
    if "e+" in letters or "e-" in letters:  # 0.00E+00
        is_date = "y" in letters or "d" in letters
    if "%" in letters:
        return "percent"
    if is_date:
        return "datetime" if is_time else "date"
    if is_time:
        return "time"
    return "date" if "m" in letters else None


def shown(raw: str, *, kind: str, style: int, formats: Formats) -> str:
    """A number (``n``), a truth value (``b``) or a date in ISO form (``d``) as text."""
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(raw, raw)
    if kind == "d":
        found = _ISO.match(raw)
        return " ".join(part for part in found.groups() if part) if found and any(found.groups()) else raw
    try:
        number = float(raw)
    except ValueError:
        return raw
    if not math.isfinite(number):
        return raw
    form = formats.by_style[style] if style < len(formats.by_style) else None
    if form == "percent":
        return f"{_plain(number * 100)}%"
    if form == "elapsed":
        return _elapsed(number)
    if form is not None and (moment := _moment(number, is_1904=formats.is_1904)) is not None:
        return _dated(moment, form)
    return raw if raw.lstrip("-").isdecimal() else _plain(number)


def _plain(number: float) -> str:
    """As many digits as a workbook keeps: 0.1 + 0.2 is 0.3."""
    return f"{number:.15g}"


def _moment(number: float, *, is_1904: bool) -> datetime | None:
    if not 0 <= number <= _DAY_MAX:
        return None
    # The other calendar counts 29 February 1900, which never was, so that up to there it begins a day later.
    first = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 31 if number < 60 else 30)
    try:
        return first + timedelta(seconds=round(number * 86_400))
    except OverflowError:
        return None


def _dated(moment: datetime, form: Form) -> str:
    time = f"{moment:%H:%M:%S}".removesuffix(":00")
    if form == "time":
        return time
    date = moment.date().isoformat()
    return date if form == "date" else f"{date} {time}"


def _elapsed(number: float) -> str:
    seconds = round(abs(number) * 86_400)
    sign = "-" if number < 0 else ""
    return f"{sign}{seconds // 3_600}:{seconds // 60 % 60:02}" + (f":{seconds % 60:02}" if seconds % 60 else "")


def _number(written: str | None) -> int:
    return int(written) if written is not None and written.isdecimal() else 0
