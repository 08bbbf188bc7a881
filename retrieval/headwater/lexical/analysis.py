"""The terms of a text, each with the place of the word that gave it."""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

from headwater.lexical.folding import folded, normal_form, unaccented
from headwater.lexical.lexicon import check_language
from headwater.lexical.stems import stemmer
from headwater.lexical.words import clusters, parts, pieces, sub_parts, whole, words

_REMEMBERED: Final = 1 << 15  # words: nearly all of a text were seen before
_REMEMBERED_LENGTH: Final = 256


class Token(NamedTuple):
    term: str
    position: int  # of its word, from 1: what a name gives whole and in parts stands at one place


def analyse(text: str, language: str) -> list[Token]:
    """The terms of ``text`` in their order. Of a question's terms one that a text shares is enough for the text to be found."""
    return [Token(term, position) for position, terms in terms_by_position(text, language) for term in terms]


def terms_by_position(text: str, language: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The same, word by word."""
    rule = _rule(check_language(language))
    position = 0
    for word, sign, is_run in words(normal_form(text)):
        if is_run:
            for terms in rule.of_run(word):
                position += 1
                yield position, terms
        else:
            position += 1
            yield position, rule.of_word(word + sign, len(word))


@cache
def _rule(language: str) -> "_Rule":
    return _Rule(language)


class _Rule:
    def __init__(self, language: str) -> None:
        self._stem = stemmer(language)
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._of_word)

    def of_word(self, word: str, length: int) -> tuple[str, ...]:
        return self._remembered(word, length) if len(word) <= _REMEMBERED_LENGTH else self._of_word(word, length)

    def of_run(self, run: str) -> Iterator[tuple[str, ...]]:
        """Each letter, with the pair that it begins."""
        letters = clusters(folded(run))
        for here, letter in enumerate(letters):
            yield (letter, letter + letters[here + 1]) if here + 1 < len(letters) else (letter,)

    def _of_word(self, signed: str, length: int) -> tuple[str, ...]:
        """Terms of a word, each once for each of its parts."""
        word, sign = signed[:length], signed[length:]
        found: list[str] = []
        if sign:
            found.append(folded(word) + sign)  # C++ is not C
        between = pieces(word)
        if len(between) > 1:
            found += self._of_whole(word)
        for piece in between:
            inside = parts(piece)
            if len(inside) > 1:
                found += self._of_whole(piece)
            for part in inside:
                found += self._of_part(part)
        return tuple(found)

    def _of_whole(self, word: str) -> list[str]:
        one = whole(word)
        return [] if one is None else self._forms(one)

    def _of_part(self, part: str) -> list[str]:
        found = self._forms(part)
        for sub in sub_parts(part):
            found += [form for form in self._forms(sub) if form not in found]
        return found

    def _forms(self, word: str) -> list[str]:
        """The stem; of an accented word also that of the word without accents, by which those who leave them out find it."""
        word = folded(word)
        if word.isascii():
            return [self._stem(word) if word.isalpha() else word]
        bare = unaccented(word)
        return list(dict.fromkeys((unaccented(self._stem(word)), self._stem(bare) if bare else bare)))
