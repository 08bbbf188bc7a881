"""Which characters make words, and which scripts leave no space between them."""

import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

# Written without spaces, or, as Hangul, with particles at the word: any piece of a run may be what is looked for.
_UNSPACED_RANGES: Final = (
    (0x0E01, 0x0E3A), (0x0E40, 0x0E4E),                      # Thai, its digits apart
    (0x0E81, 0x0ECE), (0x0EDC, 0x0EDF),                      # Lao
    (0x1000, 0x103F), (0x1050, 0x108F), (0x109A, 0x109F), (0xA9E0, 0xA9EF), (0xA9FA, 0xA9FE), (0xAA60, 0xAA7F),  # Burmese
    (0x1780, 0x17D3), (0x17D7, 0x17D7), (0x17DC, 0x17DD),    # Khmer
    (0x1950, 0x1974), (0x1980, 0x19C9), (0x1A20, 0x1A5E),    # Tai Le, New Tai Lue, Tai Tham
    (0x1100, 0x11FF), (0xA960, 0xA97C), (0xAC00, 0xD7FB),    # Hangul
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0x20000, 0x323AF),                                      # Han
    (0x3041, 0x3096), (0x3099, 0x309A), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF),
    (0x1AFF0, 0x1B16F),                                      # kana
    (0x3105, 0x312F), (0x31A0, 0x31BF),                      # bopomofo
    (0xA000, 0xA48C),                                        # Yi
)  # fmt: skip
_FIRST_MARK: Final = 0x0300
_LAST_MARK: Final = 0x1FFFF  # selectors of forms come after it, and are taken away before


def characters(belongs: Callable[[str], object]) -> str:
    """The inside of a regular expression's brackets: all characters that marks may be among for which ``belongs`` holds."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _ranges(belongs))


@cache
def unspaced() -> str:
    """The inside of brackets: letters and marks of the scripts without spaces."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _UNSPACED_RANGES)


@cache
def marks() -> str:
    """The inside of brackets: what belongs to the letter before it."""
    return characters(lambda character: unicodedata.category(character)[0] == "M")


def _ranges(belongs: Callable[[str], object]) -> Iterator[tuple[int, int]]:
    first = None
    for code in range(_FIRST_MARK, _LAST_MARK + 2):
        if belongs(chr(code)) and code <= _LAST_MARK:
            first = code if first is None else first
        elif first is not None:
            yield first, code - 1
            first = None
