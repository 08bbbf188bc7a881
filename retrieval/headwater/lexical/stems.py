"""Stems of words, by Snowball's algorithm for a language.

The package's own classes are asked for by name: its `stemmer()` takes another package's where that is installed, which may be of
another release and stem otherwise than the side that indexed.
"""

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Final

NONE: Final = "none"
_SNOWBALL: Final = frozenset(
    (
        "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "english", "esperanto",
        "estonian", "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish",
        "italian", "lithuanian", "nepali", "norwegian", "persian", "polish", "portuguese", "romanian",
        "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
    )
)  # fmt: skip
LANGUAGES: Final = _SNOWBALL | {NONE}  # `none`: words as they are, for corpora of many languages


def stemmer(language: str) -> Callable[[str], str]:
    """The stem of a word in lower case. May be called by several threads, one of which works at a time."""
    if language == NONE:
        return str
    algorithm = getattr(import_module(f"snowballstemmer.{language}_stemmer"), f"{language.capitalize()}Stemmer")()
    turn = threading.Lock()

    def stem(word: str) -> str:
        with turn:
            # A few algorithms take away all of a short word.
            return str(algorithm.stemWord(word)) or word

    return stem
