"""Asking the same thing in other words: variants of a query, each searched, all fused.

A rewriter is any callable that takes a query and gives queries. `Glossary` is the one that needs no model: what a corpus
calls by several names is asked for by its code, and by each of them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from headwater.answering.host_code import answered
from headwater.errors import LimitError, ValidationError
from headwater.ids import UNSTORABLE
from headwater.lexical.scripts import unspaced
from headwater.limits import QUERY_CHARACTERS

Rewriter = Callable[[str], Sequence[str]]

QUERIES_MAX: Final = 5  # the original is one of them
NAMES_MAX: Final = 10_000
NAME_CHARACTERS: Final = 256
# A character of a word, in scripts that write spaces between words.
_SPACED: Final = re.compile(rf"[^\W{unspaced()}]")


def variants(rewriter: Rewriter | None, query: str) -> tuple[str, ...]:
    """``query`` first, then what ``rewriter`` makes of it; what says the same again is dropped.

    More than five, or something that is no query, is an error: a rewriter that misbehaves is not worked around.
    """
    if rewriter is None:
        return (query,)
    if not callable(rewriter):
        raise ValidationError(
            "rewriter must be a callable that takes a query and gives queries, like headwater.rewriting.Glossary."
        )
    given = answered(rewriter, query, name="rewriter")
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ValidationError("rewriter must give a list of queries.")
    found = list(dict.fromkeys([query, *(_checked(variant) for variant in given)]))
    if len(found) > QUERIES_MAX:
        raise LimitError(f"rewriter gave {len(found)} queries with the original: at most {QUERIES_MAX} are searched.")
    return tuple(found)


def _checked(variant: object) -> str:
    if not isinstance(variant, str) or UNSTORABLE.search(variant) or not variant.strip():
        raise ValidationError("rewriter gave a query that is blank, or no text without NUL or lone surrogates.")
    if len(variant) > QUERY_CHARACTERS:
        raise LimitError(
            f"rewriter gave a query of {len(variant):,} characters: at most {QUERY_CHARACTERS:,} are read."
        )
    return variant


class Glossary:
    """Variants of a query by the names that one thing has. No model, and always the same answer.

    ``terms`` gives for each code its synonyms: ``{"ACME_CN": ["Acme China", "爱克美中国"]}``. A name that stands in the
    query is replaced by its code; then, as far as there is room, by each other synonym. Names are found in any case: whole
    words where a script puts spaces between words, and anywhere where it does not. Where two begin, the longer one stands.
    """

    def __init__(self, terms: Mapping[str, Iterable[str]], *, max_queries: int = QUERIES_MAX) -> None:
        if type(max_queries) is not int or not 1 <= max_queries <= QUERIES_MAX:
            raise LimitError(
                f"max_queries must be from 1 to {QUERIES_MAX}, and counts the original, not {max_queries!r}."
            )
        self._max_queries = max_queries
        self._names: dict[str, tuple[str, ...]] = {}  # of each code, itself first
        self._codes: dict[str, str] = {}  # of each name, folded
        for code, synonyms in terms.items():
            if isinstance(synonyms, str):
                raise ValidationError(f"Glossary term {code[:80]!r} must have a list of synonyms, not one text.")
            names = tuple(dict.fromkeys(_name(name) for name in (code, *synonyms)))
            for name in names:
                if (other := self._codes.setdefault(_folded(name), names[0])) != names[0]:
                    raise ValidationError(
                        f"Glossary name {name[:80]!r} stands for {other[:80]!r} and for {names[0][:80]!r}: let it stand for one."
                    )
            self._names[names[0]] = names
        if len(self._codes) > NAMES_MAX:
            raise LimitError(f"Glossary holds {len(self._codes):,} names: at most {NAMES_MAX:,}.")
        self._lengths = sorted({len(name) for name in self._codes}, reverse=True)

    def __call__(self, query: str) -> tuple[str, ...]:
        """The query itself, then at most four others."""
        found = {query: None}
        for variant in self._others(query):
            if len(found) >= self._max_queries:
                break
            found.setdefault(variant)
        return tuple(found)

    def _others(self, query: str) -> Iterator[str]:
        places = list(self._places(query))
        codes = list(dict.fromkeys(code for _, _, code in places))
        for code in codes:  # first everything by its code: what a table or a form would say
            yield _with(query, places, code, code)
        for code in codes:
            for synonym in self._names[code][1:]:
                yield _with(query, places, code, synonym)

    def _places(self, query: str) -> Iterator[tuple[int, int, str]]:
        """Where names stand, and the code of each."""
        folded, start = _folded(query), 0
        while start < len(folded):
            end = None if _is_within_word(folded, start) else self._end(folded, start)
            if end is None:
                start += 1
            else:
                yield start, end, self._codes[folded[start:end]]
                start = end

    def _end(self, folded: str, start: int) -> int | None:
        """Where the longest name that begins at ``start`` ends, if one does."""
        for length in self._lengths:
            end = start + length
            if end <= len(folded) and folded[start:end] in self._codes and not _is_within_word(folded, end):
                return end
        return None


def _with(query: str, places: Sequence[tuple[int, int, str]], code: str, name: str) -> str:
    """``query`` with ``name`` wherever a name of ``code`` stands."""
    parts, start = list[str](), 0
    for begin, end, named in places:
        if named == code:
            parts += query[start:begin], name
            start = end
    return "".join((*parts, query[start:]))


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or UNSTORABLE.search(name):
        raise ValidationError("Glossary names must be texts that are not blank, without NUL or lone surrogates.")
    if len(name) > NAME_CHARACTERS:
        raise LimitError(f"Glossary name {name[:80]!r} has {len(name):,} characters: at most {NAME_CHARACTERS}.")
    return name.strip()


def _folded(text: str) -> str:
    """``text`` in one case, character by character, so that places stay what they are."""
    return "".join(folded if len(folded := character.casefold()) == 1 else character for character in text)


def _is_within_word(text: str, place: int) -> bool:
    """Between ``place`` and the character before it a word of a script with spaces goes on."""
    return 0 < place < len(text) and bool(_SPACED.match(text[place - 1])) and bool(_SPACED.match(text[place]))
