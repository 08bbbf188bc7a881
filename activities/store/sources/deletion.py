"""Deleting sources in the name of a host: a fence, once for each request. What was derived from them stays."""

from collections.abc import Sequence
from typing import Final

from activities.store.database import Store
from activities.store.pointer import end_sources, lock_pointer, move_pointer
from activities.store.requests import audit, note_step, step_result
from activities.store.scopes import find_scope
from activities.store.sql import queries
from headwater.contracts import DeletedSource, DeleteSourcesResult
from headwater.models import Scope

STEP: Final = "delete"


def delete_once(
    store: Store, scope: Scope, source_ids: Sequence[str], *, request_no: int, actor: str | None
) -> DeleteSourcesResult:
    """What was deleted, in the order it was asked for, whoever owns it. A repeat answers the same.

    An id is fenced also where nothing was left of it and something is on its way to it, which was read before. Where there is
    neither, nothing is deleted and no generation taken.
    """
    with store.connection() as connection:
        scope_id = find_scope(connection, store.schema, scope)
        with connection.transaction():
            pointer = lock_pointer(connection, store.schema, scope_id)
            known = step_result(connection, store.schema, request_no, STEP)
            if known is not None:
                return DeleteSourcesResult.model_validate(known)
            asked = {"scope_id": scope_id, "source_ids": list(source_ids)}
            found = connection.execute(queries(store.schema, "deletion")["found"], asked).fetchall()
            held = {source_id for _, source_id, is_held, _ in found if is_held}
            ended = [source_pk for source_pk, _, is_held, is_on_its_way in found if is_held or is_on_its_way]
            gen = pointer.head_gen
            if ended:
                gen += 1
                end_sources(connection, store.schema, ended, gen)
                move_pointer(connection, store.schema, pointer, gen, published=0, deleted=len(held))
            result = DeleteSourcesResult(
                sources=tuple(DeletedSource(source_id=each, deleted=each in held) for each in source_ids),
                generation=gen,
            )
            detail = {"sources": len(source_ids), "deleted": sorted(held)}
            audit(connection, store.schema, scope_id, actor=actor, action="delete_sources", detail=detail)
            note_step(connection, store.schema, request_no, STEP, result.model_dump(mode="json"))
            return result
