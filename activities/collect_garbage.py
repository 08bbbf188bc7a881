"""Activities `collect_page`, `list_scopes` and `list_outgrown`: what can be freed, and where."""

import time
from dataclasses import asdict
from typing import Final

from temporalio import activity

from activities.containment import check_running, contained
from activities.contracts.garbage import CollectedPage, CollectPage, ListedScopes, ListScopes
from activities.heartbeat import heartbeating
from activities.store import Store
from activities.store.builds import builds
from activities.store.garbage import garbage
from activities.store.garbage.freeing import Freed
from activities.store.garbage.garbage import Keep
from headwater.contracts import CollectGarbageResult

# Long enough that a history holds few pages, short enough that a worker that stops is not waited for.
PAGE_S: Final = 10.0
DAY_S: Final = 86_400


class GarbageCollector:
    """Collects what is older than both limits. A corpus of ``partition_chunks`` has outgrown the shared partition."""

    def __init__(self, store: Store, *, keep_generations: int, keep_days: float, partition_chunks: int) -> None:
        self._store = store
        self._keep = Keep(generations=keep_generations, seconds=keep_days * DAY_S)
        self._partition_chunks = partition_chunks

    @activity.defn(name="collect_page", no_thread_cancel_exception=True)
    @contained
    def collect_page(self, wanted: CollectPage) -> CollectedPage:
        keep = Keep(
            generations=self._keep.generations if wanted.keep_generations is None else wanted.keep_generations,
            seconds=self._keep.seconds if wanted.older_than_s is None else wanted.older_than_s,
        )
        if wanted.step is None and wanted.requested_by is not None:
            garbage.note_asked(self._store, wanted.scope, keep, actor=wanted.requested_by)
        freed, until = Freed(), time.monotonic() + PAGE_S
        with heartbeating():
            for progress in garbage.collect(self._store, wanted.scope, keep, start=wanted.step):
                freed += progress.freed
                if time.monotonic() >= until:
                    return CollectedPage(freed=self._result(wanted, freed), step=progress.step)
                check_running()
        return CollectedPage(freed=self._result(wanted, freed))

    def _result(self, wanted: CollectPage, freed: Freed) -> CollectGarbageResult:
        oldest = garbage.oldest_generation(self._store, wanted.scope)
        return CollectGarbageResult(**asdict(freed), oldest_generation=oldest)

    @activity.defn(name="list_scopes", no_thread_cancel_exception=True)
    @contained
    def list_scopes(self, wanted: ListScopes) -> ListedScopes:
        tenants = [wanted.tenant_id] if wanted.tenant_id else []
        found = garbage.scopes_after(self._store, wanted.after, tenants=tenants, limit=wanted.limit + 1)
        return ListedScopes(scopes=found[: wanted.limit], is_last=len(found) <= wanted.limit)

    @activity.defn(name="list_outgrown", no_thread_cancel_exception=True)
    @contained
    def list_outgrown(self, wanted: ListScopes) -> ListedScopes:
        tenants = [wanted.tenant_id] if wanted.tenant_id else []
        with heartbeating():  # it counts the chunks of every corpus
            found = builds.outgrown(self._store, large_chunks=self._partition_chunks, tenants=tenants)
        return ListedScopes(scopes=found[: wanted.limit], is_last=len(found) <= wanted.limit)
