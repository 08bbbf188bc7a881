"""How far a sync is: what a progress bar shows."""

from dataclasses import dataclass

from psycopg.rows import dict_row

from activities.store import Store
from activities.store.sql import queries


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the connector's newest pass is: documents of its pages, and chunks of those."""

    pages: int
    listed: int
    skipped: int
    documents: int
    prepared: int  # looked into: read, or known not to need it
    read: int
    published: int
    chunks: int
    embedded: int
    is_listed: bool
    is_preparing: bool
    is_embedding: bool
    waits_for: str | None  # why the run waits; None: it does not

    @property
    def step(self) -> str:
        """``listing``, ``reading``, ``embedding`` or ``publishing``."""
        if self.is_embedding:
            return "embedding"
        if self.is_preparing:
            return "reading"
        return "publishing" if self.is_listed else "listing"


def pass_progress(store: Store, connector_id: int) -> Progress:
    """How far the newest pass is: what a progress bar shows."""
    with store.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(queries(store.schema, "progress")["progress"], {"connector_id": connector_id}).fetchone()
    assert row is not None, "an aggregate has one row"
    return Progress(**row)
