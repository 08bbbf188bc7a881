"""What a connector holds and nobody is shown, by the reason: what a sync tells of at its end, also if nothing of it changed."""

from activities.store import Store
from activities.store.sql import queries


def withheld_reasons(store: Store, connector_id: int) -> dict[str, int]:
    """How many documents are withheld for each reason. A reason that is a sentence counts as ``refused`` or ``hidden``."""
    with store.connection() as connection:
        rows = connection.execute(
            queries(store.schema, "withheld")["withheld"], {"connector_id": connector_id}
        ).fetchall()
    return {str(reason): int(count) for reason, count in rows}
