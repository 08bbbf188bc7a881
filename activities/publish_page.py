"""Activity `publish_page`: makes a staged page what readers see, in one transaction."""

from temporalio import activity

from activities.containment import contained
from activities.contracts import PageRef, PublishedPage
from activities.follow_terms import follow_terms
from activities.store import Store
from activities.store.lexicon.counting import build_of_page
from activities.store.pages import publish
from activities.telemetry import Tell, page_spans


class PagePublisher:
    def __init__(self, store: Store, *, tell: Tell | None = None) -> None:
        self._store = store
        self._tell = tell

    @activity.defn(name="publish_page", no_thread_cancel_exception=True)
    @contained
    def publish_page(self, ref: PageRef) -> PublishedPage:
        spans = page_spans(self._store, self._tell, ref.page_id)
        published = publish.publish_page(self._store, ref.page_id, fence=ref.fence)
        if not published.is_stale_build:
            spans.published(generation=published.generation)
        follow_terms(self._store, build_of_page(self._store, ref.page_id))
        return published
