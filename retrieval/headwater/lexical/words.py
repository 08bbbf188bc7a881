"""Where the words of a text lie: names and numbers whole, with the signs that join their parts; runs of scripts without spaces."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from headwater.lexical.scripts import marks, unspaced

PART_LENGTH: Final = 64  # of one part: what is longer is no word, and is known by its beginning
WHOLE_LENGTH: Final = 128  # of several parts together: what is longer is found by its parts
SUB_PARTS: Final = 16

_STRONG: Final = re.compile(
    r"(://|::|->|[/\\@:])"
)  # between things that have names of their own: paths, addresses, members
_WEAK: Final = re.compile(r"(_+|[.,'’\-‐])")  # inside one name


@cache
def _words() -> re.Pattern[str]:
    letter = f"[^\\W_{unspaced()}]"
    part = f"{letter}+(?:[{marks()}]+{letter}*)*"
    joint = r"(?:_+|://|::|->|[.'’\-‐/\\@:]|(?<=\d),(?=\d))"
    return re.compile(f"({part}(?:{joint}{part})*)(\\+\\+|[#♯](?![\\w#]))?|[{unspaced()}][{unspaced()}{marks()}]*")


def words(text: str) -> Iterator[tuple[str, str, bool]]:
    """(word, sign after it, whether it is a run without spaces), in order. ``text`` in `folding.normal_form`."""
    for match in _words().finditer(text):
        word, sign = match[1], match[2]
        yield (match[0], "", True) if word is None else (word, sign or "", False)


def clusters(run: str) -> list[str]:
    """Letters of a run without spaces, each with the marks that belong to it."""
    return list(run) if _any_mark().search(run) is None else _clusters().findall(run)


@cache
def _any_mark() -> re.Pattern[str]:
    return re.compile(f"[{marks()}]")


@cache
def _clusters() -> re.Pattern[str]:
    # A mark that follows no letter stands for itself.
    return re.compile(f"[^{marks()}][{marks()}]{{0,8}}|[{marks()}]{{1,8}}")


def pieces(word: str) -> list[str]:
    """What stands between the strong joints of a word: the names of a path, the two sides of an address."""
    return [piece for piece in _STRONG.split(word)[::2] if piece]


def parts(piece: str) -> list[str]:
    """What stands between the weak joints of a piece."""
    return [part[:PART_LENGTH] for part in _WEAK.split(piece)[::2] if part]


def whole(word: str) -> str | None:
    """A word of several parts as one, however it is spelled: `read_file`, `read-file`, `readFile` and `readfile` are one name.

    Between digits a joint stays, since 1.2 is not 12; all but the comma between thousands. So do strong joints.
    """
    if len(word) > 2 * WHOLE_LENGTH:
        return None
    if _THOUSANDS.fullmatch(word):
        return word.replace(",", "")
    joined = "".join(
        part if index % 2 == 0 else part.replace("‐", "-")
        for index, part in enumerate(_without_weak(_WEAK.split(word)))
    )
    return joined if len(joined) <= WHOLE_LENGTH else None


_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+")


def _without_weak(split: Sequence[str]) -> Iterator[str]:
    for index, piece in enumerate(split):
        is_joint = index % 2 == 1
        if is_joint and not (split[index - 1][-1:].isdecimal() and split[index + 1][:1].isdecimal()):
            yield ""
        else:
            yield piece


def sub_parts(part: str) -> list[str]:
    """The words of a camelCase name, and its digits; nothing if it is one word."""
    if part.isalpha() and (part.islower() or part[1:].islower() or part.isupper()):
        return []
    found: list[str] = []
    start = 0
    for here in range(1, len(part)):
        if _is_seam(part, here):
            found.append(part[start:here])
            start = here
    return [*found, part[start:]][:SUB_PARTS] if start else []


def _is_seam(part: str, here: int) -> bool:
    before, letter = part[here - 1], part[here]
    if before.isdecimal() != letter.isdecimal():
        return not (before.isdecimal() and not letter.isalpha())  # a mark belongs to what is before it
    if letter.isupper():
        return before.islower() or (here + 1 < len(part) and part[here + 1].islower())
    return False
