"""Why the run that has a connector's lease waits: an operator is told while it does, and not when it has given up.

It stands with the lease and is the lease's: whoever takes or gives back the lease ends it.
"""

from dataclasses import dataclass

from activities.store import Store
from activities.store.sql import queries


@dataclass(frozen=True, slots=True)
class Waiting:
    """The connector that waits, for a log."""

    corpus: str
    connector: str


def note_wait(store: Store, connector_id: int, *, fence: int, why: str | None) -> Waiting | None:
    """The run waits, and ``why``; with None it goes on. Returns nothing where it waited already, or did not, or where the lease is another's."""
    with store.connection() as connection:
        row = connection.execute(
            queries(store.schema, "waiting")["note_wait"], {"connector_id": connector_id, "fence": fence, "why": why}
        ).fetchone()
    return None if row is None or not row[2] else Waiting(corpus=row[0], connector=row[1])
