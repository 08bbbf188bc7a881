"""Activities of `RepointSource` and `RenameSources`: move a page, and note a pair that was not moved."""

from collections.abc import Collection, Sequence

from temporalio import activity

from activities.containment import contained
from activities.contracts import Done
from activities.contracts.deletion import Handler
from activities.contracts.repoint import MovedPage, MovePage, NoteFailedMove
from activities.store import Store
from activities.store.sources import repoint


class SourceMover:
    """``handlers`` are the hosts' own, for records in which they name sources, in the order in which they are called."""

    def __init__(
        self, store: Store, *, service_principals: Collection[tuple[str, str]] = (), handlers: Sequence[Handler] = ()
    ) -> None:
        self._store = store
        self._service_principals = service_principals
        self._handlers = tuple(handlers)

    @activity.defn(name="move_page", no_thread_cancel_exception=True)
    @contained
    def move_page(self, wanted: MovePage) -> MovedPage:
        moved = repoint.move_page(
            self._store,
            wanted.scope,
            repoint.Move(
                from_id=wanted.from_id,
                to_id=wanted.to_id,
                authorization=wanted.authorization,
                page_size=wanted.page_size,
                is_prefix=wanted.is_prefix,
                max_records=wanted.max_records,
                after=wanted.after,
                passes_over=wanted.passes_over,
            ),
            request_no=wanted.request_no,
            step=wanted.step,
            actor=wanted.requested_by,
            service_principals=self._service_principals,
        )
        return moved.model_copy(update={"handlers": self._handlers})

    @activity.defn(name="note_failed_move", no_thread_cancel_exception=True)
    @contained
    def note_failed_move(self, noted: NoteFailedMove) -> Done:
        repoint.note_failure(
            self._store, noted.failure, request_no=noted.request_no, step=noted.step, actor=noted.requested_by
        )
        return Done()
