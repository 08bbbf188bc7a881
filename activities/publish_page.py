"""Activity `publish_page`: makes a staged page what readers see, in one transaction."""

from temporalio import activity

from activities.containment import contained
from activities.contracts import PageRef, PublishedPage
from activities.store import Store
from activities.store.pages import publish


class PagePublisher:
    def __init__(self, store: Store) -> None:
        self._store = store

    @activity.defn(name="publish_page", no_thread_cancel_exception=True)
    @contained
    def publish_page(self, ref: PageRef) -> PublishedPage:
        return publish.publish_page(self._store, ref.page_id, fence=ref.fence)
