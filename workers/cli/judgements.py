"""Queries and judgements, as collections for evaluation are written: one JSON object a line.

Queries are ``{"id", "text"}``, judgements ``{"qid", "docid", "rel"}``, answers ``{"qid", "text"}``; ids may be numbers. A line
that is none of these ends the reading with a sentence that names the file and the line.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from headwater.ids import UNSTORABLE
from workers.cli.errors import WrongUsage

SHOWN: Final = 60  # characters of an id in a sentence


def read_queries(path: Path) -> dict[str, str]:
    """The queries by their ids, in the order of the file."""
    queries = _texts(path, "id", "query")
    if not queries:
        raise WrongUsage(f'{path} holds no query: write one a line, as {{"id": …, "text": …}}.')
    return queries


def read_answers(path: Path) -> dict[str, str]:
    """The answers by the ids of their queries."""
    return _texts(path, "qid", "answer to query")


def read_judgements(path: Path) -> dict[str, dict[str, float]]:
    """How relevant which documents are, by the ids of the queries."""
    judgements: dict[str, dict[str, float]] = {}
    for where, line in _objects(path):
        query, document, gain = _id(where, line, "qid"), _id(where, line, "docid"), _gain(where, line)
        if judgements.setdefault(query, {}).setdefault(document, gain) != gain:
            raise WrongUsage(
                f"{where} judges document {document[:SHOWN]!r} of query {query[:SHOWN]!r} once more, and otherwise than "
                "before: keep one."
            )
    if not any(gain > 0 for judged in judgements.values() for gain in judged.values()):
        raise WrongUsage(f"{path} judges no document relevant: `rel` must be above 0 somewhere.")
    return judgements


def _texts(path: Path, key: str, what: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for where, line in _objects(path):
        name, text = _id(where, line, key), line.get("text")
        if not isinstance(text, str):
            raise WrongUsage(f"{where} has no `text`, which is a text.")
        if UNSTORABLE.search(text):
            raise WrongUsage(f"{where} has a `text` with NUL or half a character in it.")
        if key == "id" and not text.strip():
            raise WrongUsage(f"{where} has a blank `text`: a query needs words.")
        if name in texts:
            raise WrongUsage(f"{where} has {what} {name[:SHOWN]!r} once more: each stands once.")
        texts[name] = text
    return texts


def _objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line that is not blank, and how a sentence names it."""
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            where = f"{path} line {number}"
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                parsed = json.loads(text) if text else None
            except UnicodeDecodeError as error:
                raise WrongUsage(f"{where} is not UTF-8.") from error
            except (ValueError, RecursionError) as error:
                raise WrongUsage(f"{where} is not JSON: each line is one object.") from error
            if not text:
                continue
            if not isinstance(parsed, dict):
                raise WrongUsage(f"{where} is not a JSON object.")
            yield where, parsed


def _id(where: str, line: dict[str, Any], key: str) -> str:
    value = line.get(key)
    if type(value) is int:
        return str(value)
    if not isinstance(value, str) or not value:
        raise WrongUsage(f"{where} has no `{key}`, which is a text or a whole number.")
    return value


def _gain(where: str, line: dict[str, Any]) -> float:
    value = line.get("rel")
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise WrongUsage(f"{where} has no `rel`, which is a number: above 0 if the document is relevant.")
    return float(value)


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond all floats
        return False
