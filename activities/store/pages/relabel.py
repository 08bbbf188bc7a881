"""The text that readers see of a document, with all that decides how it is cut and hashed: what a new title is staged with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import class_row

from activities.store.database import Store
from activities.store.sql import queries


@dataclass(frozen=True, slots=True)
class ShownText:
    """A stored text as a publication would replace it."""

    content_hash: bytes
    seen_seq: int
    sensitivity: int
    lineage: Sequence[str]
    rev_id: int
    text: str
    locators: Sequence[Mapping[str, Any]]
    is_markdown: bool
    headings: Sequence[tuple[int, int, str]] | None


def shown_text(store: Store, *, scope_id: int, source_id: str, version: str, parser: str) -> ShownText | None:
    """What readers see of the source, if ``parser`` made it of that ``version``; None: it must be read."""
    with store.connection() as connection, connection.cursor(row_factory=class_row(ShownText)) as cursor:
        params = {"scope_id": scope_id, "source_id": source_id, "version": version, "parser": parser}
        return cursor.execute(queries(store.schema, "relabel")["shown_text"], params).fetchone()
