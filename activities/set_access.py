"""Activity `set_access`: replaces the grants of sources."""

from temporalio import activity

from activities.containment import contained
from activities.contracts.access import SetAccess
from activities.store import Store
from activities.store.sources import access
from headwater.contracts import SetSourceAccessResult


class AccessKeeper:
    def __init__(self, store: Store) -> None:
        self._store = store

    @activity.defn(name="set_access", no_thread_cancel_exception=True)
    @contained
    def set_access(self, wanted: SetAccess) -> SetSourceAccessResult:
        return access.set_access(
            self._store, wanted.scope, wanted.grants, request_no=wanted.request_no, actor=wanted.requested_by
        )
