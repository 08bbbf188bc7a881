"""Activities of `PropagateDeletion`: hide along lineage, remove what the store holds of it, note what others removed."""

from collections.abc import Collection, Sequence

from temporalio import activity

from activities.containment import check_running, contained
from activities.contracts import Done
from activities.contracts.deletion import Handler, NoteLayer, Propagate, Propagated, RemovedLayer, RemoveRag
from activities.store import Store
from activities.store.sources import removal, tombstones


class DeletionPropagator:
    """Hides and removes. ``handlers`` are the hosts' own, in the order in which they are started."""

    def __init__(
        self, store: Store, *, service_principals: Collection[tuple[str, str]] = (), handlers: Sequence[Handler] = ()
    ) -> None:
        self._store = store
        self._service_principals = service_principals
        self._handlers = tuple(handlers)

    @activity.defn(name="propagate_deletion", no_thread_cancel_exception=True)
    @contained
    def propagate_deletion(self, wanted: Propagate) -> Propagated:
        hidden = tombstones.propagate(
            self._store,
            wanted.scope,
            wanted.source_id,
            authorization=wanted.authorization,
            reason=wanted.reason,
            request_no=wanted.request_no,
            actor=wanted.requested_by,
            service_principals=self._service_principals,
        )
        held = tombstones.held(self._store, wanted.scope, hidden.ids)
        return Propagated(
            ids=hidden.ids,
            tombstoned=hidden.tombstoned,
            held=tuple(place for place, each in enumerate(hidden.ids) if each in held),
            handlers=self._handlers,
            layers=removal.finished_layers(self._store, wanted.request_no),
        )

    @activity.defn(name="remove_rag", no_thread_cancel_exception=True)
    @contained
    def remove_rag(self, wanted: RemoveRag) -> RemovedLayer:
        count = removal.remove_rag(self._store, wanted.scope, request_no=wanted.request_no, after_page=_after_page)
        return RemovedLayer(count=count)

    @activity.defn(name="note_layer", no_thread_cancel_exception=True)
    @contained
    def note_layer(self, layer: NoteLayer) -> Done:
        removal.finish_layer(self._store, layer.request_no, layer.kind, layer.count)
        return Done()


def _after_page() -> None:
    activity.heartbeat()
    check_running()
