"""The ``q`` of `files.list`: terms over names, types, times, parents and people, with and, or, not and parentheses.

A query that is not understood is refused (400) and never answered with too much or too little.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from tests.drive.clock import parse_rfc3339
from tests.drive.errors import invalid
from tests.drive.items import File

Test = Callable[[File], bool]

_TOKEN: Final = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|(<=|>=|!=|=|<|>|\(|\))|([A-Za-z][\w.]*))")
_TIMES: Final = {"modifiedTime": "modified", "createdTime": "created"}
_ORDERS: Final[dict[str, Callable[[datetime, datetime], bool]]] = {
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


class Asked(Protocol):
    """What a query wants to know of the world, for one viewer."""

    def alias(self, file_id: str) -> str: ...
    def is_trashed(self, file: File) -> bool: ...
    def has_parent(self, file: File, parent: str) -> bool: ...
    def has_person(self, file: File, email: str, among: str) -> bool: ...
    def is_shared_with_me(self, file: File) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def parse_query(q: str, asked: Asked) -> Test:
    """The test that a file passes if it is wanted. Raises `DriveError` 400."""
    return _Parser(_tokens(q), asked).whole()


def parents_named(q: str) -> int:
    """How many folders a query names by ``in parents``."""
    tokens = _tokens(q)
    return sum(token == _Token("word", "parents") for token in tokens)


def _tokens(q: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while q[place:].strip():
        found = _TOKEN.match(q, place)
        if found is None:
            raise invalid("q")
        text, sign, word = found.groups()
        if text is not None:
            tokens.append(_Token("text", re.sub(r"\\(.)", r"\1", text)))
        elif sign is not None:
            tokens.append(_Token("sign", sign))
        else:
            tokens.append(_Token("word", word))
        place = found.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[_Token], asked: Asked) -> None:
        self._tokens = tokens
        self._place = 0
        self._asked = asked

    def whole(self) -> Test:
        test = self._either()
        if self._place != len(self._tokens):
            raise invalid("q")
        return test

    def _either(self) -> Test:
        tests = [self._both()]
        while self._takes("word", "or"):
            tests.append(self._both())
        return lambda file: any(test(file) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._takes("word", "and"):
            tests.append(self._one())
        return lambda file: all(test(file) for test in tests)

    def _one(self) -> Test:
        if self._takes("word", "not"):
            test = self._one()
            return lambda file: not test(file)
        if self._takes("sign", "("):
            test = self._either()
            if not self._takes("sign", ")"):
                raise invalid("q")
            return test
        token = self._next()
        return self._people(token.text) if token.kind == "text" else self._field(token.text)

    def _people(self, value: str) -> Test:
        """``'…' in parents``, ``owners``, ``writers`` or ``readers``."""
        if not self._takes("word", "in"):
            raise invalid("q")
        among, asked = self._next().text, self._asked
        if among == "parents":
            folder = asked.alias(value)
            return lambda file: asked.has_parent(file, folder)
        if among in ("owners", "writers", "readers"):
            return lambda file: asked.has_person(file, value, among)
        raise invalid("q")

    def _field(self, name: str) -> Test:
        asked = self._asked
        if name == "sharedWithMe":
            if self._takes("sign", "="):
                return self._truth(asked.is_shared_with_me)
            return asked.is_shared_with_me
        operator = self._next().text
        if name in ("trashed", "starred") and operator in ("=", "!="):
            fact = asked.is_trashed if name == "trashed" else (lambda file: False)
            wanted = self._truth(fact)
            return wanted if operator == "=" else lambda file: not wanted(file)
        value = self._next()
        if value.kind != "text":
            raise invalid("q")
        if name in _TIMES and operator in _ORDERS:
            return _time_test(_TIMES[name], operator, value.text)
        return _text_test(name, operator, value.text)

    def _truth(self, fact: Test) -> Test:
        word = self._next().text
        if word not in ("true", "false"):
            raise invalid("q")
        return lambda file: fact(file) == (word == "true")

    def _next(self) -> _Token:
        if self._place >= len(self._tokens):
            raise invalid("q")
        self._place += 1
        return self._tokens[self._place - 1]

    def _takes(self, kind: str, text: str) -> bool:
        is_next = self._tokens[self._place : self._place + 1] == [_Token(kind, text)]
        self._place += is_next
        return is_next


def _time_test(field: str, operator: str, value: str) -> Test:
    try:
        moment = parse_rfc3339(value)
    except ValueError as error:
        raise invalid("q") from error
    return lambda file: _ORDERS[operator](getattr(file, field), moment)


def _text_test(name: str, operator: str, value: str) -> Test:
    """Names compare without case, and ``contains`` looks for the beginning of a word, as Drive does."""
    folded = value.casefold()
    match name, operator:
        case "name", "=":
            return lambda file: file.name.casefold() == folded
        case "name", "!=":
            return lambda file: file.name.casefold() != folded
        case "name", "contains":
            return lambda file: re.search(rf"(?<!\w){re.escape(folded)}", file.name.casefold()) is not None
        case "mimeType", "=":
            return lambda file: file.mime_type == value
        case "mimeType", "!=":
            return lambda file: file.mime_type != value
        case "mimeType", "contains":
            return lambda file: value in file.mime_type
        case _:
            raise invalid("q")
