"""Activity `restage_page`: stages a page again, of a sync or of a host, for the build that readers see by now.

It is asked for when publishing says that the page's build is not the live one any more. Nothing is read from the origin, and
vectors that were made for equal passages are taken again by the embedding that follows.
"""

from temporalio import activity

from activities.containment import check_running, contained
from activities.contracts import PageRef, PreparedPage
from activities.cut_stored import cut_stored
from activities.embedder_source import EmbedderSource
from activities.heartbeat import heartbeating
from activities.store import Store
from activities.store.builds.green import NotCut, StagedCut
from activities.store.pages import restage, staging
from activities.store.pages.restage import StalePage
from activities.store.scopes import build_of
from headwater.chunking.profile import ChunkingProfile
from headwater.embedders import TokenCounter


class PageRestager:
    def __init__(self, store: Store, embedders: EmbedderSource) -> None:
        self._store = store
        self._embedders = embedders

    @activity.defn(name="restage_page", no_thread_cancel_exception=True)
    @contained
    def restage_page(self, ref: PageRef) -> PreparedPage:
        staging.open_page(self._store, ref.page_id, fence=ref.fence)
        page = restage.stale_page(self._store, ref.page_id)
        if page.state != "published" and page.build_id != page.live_build:
            with heartbeating():
                restage.move_page(self._store, page, self._cut(page))
        opened = staging.open_page(self._store, ref.page_id, fence=ref.fence)
        return PreparedPage(batches=staging.finish_preparing(self._store, opened))

    def _cut(self, page: StalePage) -> list[StagedCut | NotCut]:
        build = build_of(self._store, page.live_build)
        embedder = self._embedders.of(build)
        profile = ChunkingProfile.from_fingerprint(build.chunker)
        token_ends = embedder.token_ends if isinstance(embedder, TokenCounter) else None
        cuts: list[StagedCut | NotCut] = []
        for item in restage.staged_items(self._store, page.page_id):
            check_running()
            cuts.append(cut_stored(restage.staged_text(self._store, item), item.ord, profile, token_ends))
        return cuts
