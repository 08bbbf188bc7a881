"""Activity `stage_green`: cuts the stored texts of a page anew for a build that is being made, or copies its chunks.

A copy is enough where only the partition is to be another one. A repeated attempt goes on with what is not staged yet.
"""

from typing import Final

from temporalio import activity

from activities.containment import check_running, contained
from activities.contracts.reindex import GreenPageRef, StagedGreen
from activities.cut_stored import cut_stored
from activities.embedder_source import EmbedderSource
from activities.heartbeat import heartbeating
from activities.store import Store
from activities.store.builds import green
from activities.store.builds.green import GreenPage
from activities.store.pages import staging
from activities.store.scopes import build_of
from headwater.chunking.profile import ChunkingProfile
from headwater.embedders import TokenCounter

COMMIT_DOCUMENTS: Final = 8


class GreenStager:
    def __init__(self, store: Store, embedders: EmbedderSource) -> None:
        self._store = store
        self._embedders = embedders

    @activity.defn(name="stage_green", no_thread_cancel_exception=True)
    @contained
    def stage_green(self, ref: GreenPageRef) -> StagedGreen:
        page = green.green_page(self._store, ref.build_id, ref.seq)
        if page is None or page.state == "published":
            return StagedGreen()
        with heartbeating():
            if page.state == "listed" and page.is_copy:
                green.copy_page(self._store, page)
            elif page.state == "listed":
                self._cut(page)
        opened = staging.open_page(self._store, page.page_id, fence=None)
        return StagedGreen(page_id=page.page_id, batches=staging.finish_preparing(self._store, opened))

    def _cut(self, page: GreenPage) -> None:
        build = build_of(self._store, page.build_id)
        embedder = self._embedders.of(build)
        profile = ChunkingProfile.from_fingerprint(build.chunker)
        token_ends = embedder.token_ends if isinstance(embedder, TokenCounter) else None
        waiting = green.open_versions(self._store, page)
        for first in range(0, len(waiting), COMMIT_DOCUMENTS):
            check_running()
            cuts = [
                cut_stored(green.stored_text(self._store, version_id), number, profile, token_ends)
                for number, version_id in waiting[first : first + COMMIT_DOCUMENTS]
            ]
            green.stage_cuts(self._store, page, cuts)
