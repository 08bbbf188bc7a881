"""What is removed of sources that were hidden for good: passages, stored text, status and staged content, page by page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection
from psycopg.types.json import Jsonb

from activities.store.database import Store
from activities.store.garbage.freeing import by_slab, delete_chunks
from activities.store.requests import step_result
from activities.store.sources.tombstones import propagated
from activities.store.sql import queries
from headwater.models import Scope

STEP: Final = "removal"
LAYER: Final = "layer "
IDS_A_PAGE: Final = 128
REVISIONS_A_PAGE: Final = 256
CHUNKS_A_PAGE: Final = 2_000  # deleted in one transaction, unless a single document has more


@dataclass(frozen=True, slots=True)
class _Progress:
    """Where a removal stands: chunk rows deleted, and ids that are done with."""

    removed: int = 0
    done: int = 0


def remove_rag(store: Store, scope: Scope, *, request_no: int, after_page: Callable[[], object] = lambda: None) -> int:
    """How many chunk rows the request removed of what it had hidden, in all attempts together.

    A legal hold removes nothing. A correction removes what was derived, and not the source that was corrected.
    Each page is a transaction of its own under the scope's lock, and notes how far it came: a repeat goes on from there.
    """
    hidden = propagated(store, request_no)
    if hidden.reason == "legal_hold":
        return 0
    ids = hidden.ids[1:] if hidden.reason == "corrected" else hidden.ids
    progress = _begin(store, scope, ids, gen=hidden.gen, request_no=request_no)
    while progress.done < len(ids):
        progress = _remove_page(store, scope, ids, progress, gen=hidden.gen, request_no=request_no)
        after_page()
    return progress.removed


def finish_layer(store: Store, request_no: int, kind: str, count: int) -> None:
    """Notes what was removed of one kind of derived records: whoever sends the request again does not ask for it again."""
    with store.connection() as connection:
        noted = {"request_no": request_no, "step": f"{LAYER}{kind}", "result": Jsonb({"count": count})}
        connection.execute(queries(store.schema, "removal")["note_progress"], noted)


def finished_layers(store: Store, request_no: int) -> dict[str, int]:
    """What was removed of each kind, as far as it was noted."""
    with store.connection() as connection:
        asked = {"request_no": request_no, "prefix": LAYER}
        rows = connection.execute(queries(store.schema, "removal")["layers"], asked)
        return {step.removeprefix(LAYER): int(count) for step, count in rows}


def _begin(store: Store, scope: Scope, ids: Sequence[str], *, gen: int, request_no: int) -> _Progress:
    """Takes what is staged away from the pages that are on their way, so that no page trips over what is removed next."""
    sql = queries(store.schema, "removal")
    with store.connection() as connection, connection.transaction():
        scope_id = _lock(connection, store.schema, scope)
        removable = {"scope_id": scope_id, "ids": list(ids), "gen": gen}
        removable["source_pks"] = _removable(connection, store.schema, scope_id, ids)
        connection.execute(sql["detach_staged"], removable)
        connection.execute(sql["drop_content"], removable)
        known = step_result(connection, store.schema, request_no, STEP)
    return _Progress() if known is None else _Progress(**known)


def _remove_page(
    store: Store, scope: Scope, ids: Sequence[str], progress: _Progress, *, gen: int, request_no: int
) -> _Progress:
    sql = queries(store.schema, "removal")
    page = ids[progress.done : progress.done + IDS_A_PAGE]
    with store.connection() as connection, connection.transaction():
        scope_id = _lock(connection, store.schema, scope)
        removable: dict[str, Any] = {
            "gen": gen,
            "source_pks": _removable(connection, store.schema, scope_id, page),
        }
        # Again for each page: what was being read when the first was taken may have landed meanwhile.
        connection.execute(sql["detach_staged"], {**removable, "scope_id": scope_id})
        asked = {**removable, "limit": REVISIONS_A_PAGE}
        found = connection.execute(sql["old_revisions"], asked).fetchall()
        rev_ids = _as_many_as_fit([(rev_id, chunks) for rev_id, chunks, _ in found])
        if rev_ids:
            slabs = by_slab((rev_id, slab) for rev_id, _, slab in found[: len(rev_ids)])
            deleted = delete_chunks(connection, store.schema, slabs)
            connection.execute(sql["empty_revisions"], {"rev_ids": rev_ids})
            moved = _Progress(progress.removed + deleted, progress.done)
        else:
            connection.execute(sql["empty_versions"], removable)
            connection.execute(sql["drop_status"], removable)
            moved = _Progress(progress.removed, progress.done + len(page))
        noted = Jsonb({"removed": moved.removed, "done": moved.done})
        connection.execute(sql["note_progress"], {"request_no": request_no, "step": STEP, "result": noted})
    return moved


def _as_many_as_fit(revisions: Sequence[tuple[int, int]]) -> list[int]:
    """The first of these revisions, at least one, that together have few enough chunks for one transaction."""
    chosen: list[int] = []
    total = 0
    for rev_id, chunks in revisions:
        total += chunks
        if chosen and total > CHUNKS_A_PAGE:
            break
        chosen.append(rev_id)
    return chosen


def _lock(connection: Connection, schema: str, scope: Scope) -> int:
    row = connection.execute(queries(schema, "removal")["lock_scope"], scope.model_dump()).fetchone()
    assert row is not None, "a corpus of which something was hidden is there"
    return int(row[0])


def _removable(connection: Connection, schema: str, scope_id: int, ids: Sequence[str]) -> list[int]:
    rows = connection.execute(queries(schema, "removal")["removable"], {"scope_id": scope_id, "ids": list(ids)})
    return [row[0] for row in rows]
