"""Forms of one letter made one: compatibility forms, case, digits, accents.

Accents go where they mark a letter (Latin, Greek) or may be left out (Hebrew points, Arabic vowel signs, stress on Cyrillic),
and stay where they make another letter of their script: й is not и, が is not か, and vowel signs of Indic scripts are letters. Only
ё is e's: most texts write it so. In Latin script they go for every language, also where one has å as a letter of its own: whoever
types without it finds it, and the stem that was made with it is kept beside.
"""

import re
import unicodedata
from functools import cache
from typing import Final

from headwater.lexical.scripts import characters

# What is not seen and stands inside words: soft hyphens, joiners, marks of direction, selectors of a form; and the Arabic line that
# stretches words.
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u0640\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+"
)
# Normalising sorts marks that stand in a row in quadratic time. No script has more than this (Unicode's stream-safe text).
_MARKS_IN_A_ROW: Final = 30


def normal_form(text: str) -> str:
    """``text`` with one spelling for each letter (NFKC), and without what is not seen. Case is kept: parts of identifiers show by it."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", _few_marks(text)))


def folded(word: str) -> str:
    """A word of `normal_form` in one case and with ASCII digits."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word.casefold()).translate(_DIGITS)


def unaccented(word: str) -> str:
    """A `folded` word without accents."""
    return word if word.isascii() else word.translate(_LETTERS)


def _few_marks(text: str) -> str:
    return _too_many_marks().sub(lambda row: row[0][:_MARKS_IN_A_ROW], text)


@cache
def _too_many_marks() -> re.Pattern[str]:
    return re.compile(f"[{characters(unicodedata.combining)}]{{{_MARKS_IN_A_ROW + 1},}}")


_LEFT_OUT: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_WRITTEN_OUT: Final = {  # letters that have no decomposition, as they are typed without them
    "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ĸ": "k", "ł": "l", "ŋ": "n", "þ": "th", "ŧ": "t",
    "ƀ": "b", "ɓ": "b", "ɖ": "d", "ɗ": "d", "ə": "e", "ɛ": "e", "ɠ": "g", "ɨ": "i", "ƙ": "k", "ɲ": "n", "ɔ": "o", "ʋ": "v",
    "ƴ": "y", "ʉ": "u", "ё": "е",
}  # fmt: skip


class _Digits(dict[int, int | None]):
    """Decimal digits of any script as ASCII ones."""

    def __missing__(self, code: int) -> int:
        digit = unicodedata.decimal(chr(code), None)
        self[code] = found = code if digit is None else ord("0") + digit
        return found


class _Letters(dict[int, str | int | None]):
    """Letters without their accents; `None`: a mark that goes."""

    def __missing__(self, code: int) -> str | int | None:
        self[code] = found = _without_accent(chr(code))
        return found


def _without_accent(letter: str) -> str | int | None:
    if letter in _WRITTEN_OUT:
        return _WRITTEN_OUT[letter]
    if _LEFT_OUT.match(letter):
        return None
    base = unicodedata.normalize("NFD", letter)
    if len(base) > 1 and unicodedata.name(letter, "").startswith(("LATIN ", "GREEK ")):
        bare = _LEFT_OUT.sub("", base)
        return _WRITTEN_OUT.get(bare, bare)
    return letter


_DIGITS: Final = _Digits()
_LETTERS: Final = _Letters()
