"""Activity `delete_sources`: ends what a host names."""

from temporalio import activity

from activities.containment import contained
from activities.contracts.deletion import DeleteOnce
from activities.store import Store
from activities.store.sources import deletion
from headwater.contracts import DeleteSourcesResult


class SourceDeleter:
    def __init__(self, store: Store) -> None:
        self._store = store

    @activity.defn(name="delete_sources", no_thread_cancel_exception=True)
    @contained
    def delete_sources(self, wanted: DeleteOnce) -> DeleteSourcesResult:
        return deletion.delete_once(
            self._store, wanted.scope, wanted.source_ids, request_no=wanted.request_no, actor=wanted.requested_by
        )
