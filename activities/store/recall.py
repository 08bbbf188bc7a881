"""What a corpus is asked with, to see how much of the nearest its search finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from psycopg.rows import class_row

from activities.store.database import Store
from activities.store.sql import queries
from headwater.models import Scope

CHARACTERS: Final = 200  # about as long as a question, and safely within any model's limit of tokens


@dataclass(frozen=True, slots=True)
class Named:
    """A name in the grants of a corpus, and how many sources have it."""

    kind: Literal["principal", "group", "everyone"]
    name: str
    sources: int


def sample_passages(store: Store, scope: Scope, count: int) -> list[str]:
    """The beginnings of at most ``count`` passages, each of another source."""
    with store.connection() as connection:
        known = {**scope.model_dump(), "count": count, "characters": CHARACTERS}
        rows = connection.execute(queries(store.schema, "recall")["passages"], known).fetchall()
    return [beginning for (beginning,) in rows if beginning.strip()]


def sample_readers(store: Store, scope: Scope, count: int) -> list[Named]:
    """``count`` of those who are named, evenly from whoever may read most to whoever may read least."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(Named)) as cursor:
        named = cursor.execute(queries(store.schema, "recall")["readers"], scope.model_dump()).fetchall()
    return evenly(named, count)


def evenly(named: Sequence[Named], count: int) -> list[Named]:
    """The first, the last, and between them at equal distances."""
    if len(named) <= count:
        return list(named)
    return [named[number * (len(named) - 1) // (count - 1)] for number in range(count)]
