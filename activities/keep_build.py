"""Activities of a re-index that are short transactions: `list_green`, `publish_green`, `flip_build`, `abort_reindex`, `retire_build`.

`index_slab`, which is one long statement, is here because it too only talks to Postgres.
"""

from temporalio import activity

from activities.containment import check_running, contained
from activities.contracts import Done
from activities.contracts.reindex import (
    BuildRef,
    FlippedBuild,
    ListedGreen,
    ListGreen,
    PublishedGreen,
    PublishGreen,
    RetireBuildInput,
    RetiredBuild,
)
from activities.follow_terms import follow_terms
from activities.heartbeat import heartbeating
from activities.store import Store, StoreUnavailable
from activities.store.builds import builds, green, slabs
from activities.store.scopes import build_of
from activities.telemetry import Tell, page_spans


class BuildKeeper:
    def __init__(self, store: Store, *, tell: Tell | None = None) -> None:
        self._store = store
        self._tell = tell

    @activity.defn(name="list_green", no_thread_cancel_exception=True)
    @contained
    def list_green(self, wanted: ListGreen) -> ListedGreen:
        with heartbeating():
            listed = green.list_missing(self._store, wanted.build_id, round_no=wanted.round_no, hold=wanted.hold)
        return ListedGreen(first_seq=listed.first_seq, last_seq=listed.last_seq, pages=listed.pages)

    @activity.defn(name="publish_green", no_thread_cancel_exception=True)
    @contained
    def publish_green(self, wanted: PublishGreen) -> PublishedGreen:
        spans = page_spans(self._store, self._tell, wanted.page_id)
        carried = green.publish_green(self._store, wanted.page_id, wanted.build_id)
        spans.published()
        follow_terms(self._store, wanted.build_id)  # before the flip: a build is searched well from its first moment
        return PublishedGreen(sources=carried.sources, chunks=carried.chunks, failed=carried.failed)

    @activity.defn(name="index_slab", no_thread_cancel_exception=True)
    @contained
    def index_slab(self, ref: BuildRef) -> Done:
        build = build_of(self._store, ref.build_id)
        try:
            with heartbeating():
                slabs.index_slab(self._store, build.slab, dimensions=build.dimensions, is_stopped=_is_stopped)
        except StoreUnavailable:
            check_running()  # it was broken off because somebody aborts, or because the worker stops
            raise
        return Done()

    @activity.defn(name="flip_build", no_thread_cancel_exception=True)
    @contained
    def flip_build(self, ref: BuildRef) -> FlippedBuild:
        with heartbeating():
            flipped = builds.flip_build(self._store, ref.build_id, actor=ref.requested_by)
            # Asked only of what is shown now: an attempt in vain must cost little, publishing may be held.
            is_flipped = flipped.generation is not None
            sources, chunks = builds.built_size(self._store, ref.build_id) if is_flipped else (0, 0)
        return FlippedBuild(
            generation=flipped.generation,
            former=flipped.former,
            sources=sources,
            chunks=chunks,
            missing=flipped.missing,
        )

    @activity.defn(name="abort_reindex", no_thread_cancel_exception=True)
    @contained
    def abort_reindex(self, ref: BuildRef) -> Done:
        builds.give_up_build(self._store, ref.build_id, actor=ref.requested_by)
        return Done()

    @activity.defn(name="retire_build", no_thread_cancel_exception=True)
    @contained
    def retire_build(self, retired: RetireBuildInput) -> RetiredBuild:
        return RetiredBuild(left_s=builds.retire_build(self._store, retired.build_id, after_s=retired.after_s))


def _is_stopped() -> bool:
    return activity.is_cancelled() or activity.is_worker_shutdown()
