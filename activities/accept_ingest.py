"""Activities `accept_ingest` and `end_ingest`: the frame around a page of documents that a host pushes.

What was accepted is staged: from there on only ids travel. When the page is published, what was handed in for it goes.
"""

from temporalio import activity

from activities.containment import contained
from activities.contracts.ingest import AcceptedIngest, AcceptIngest, EndIngest
from activities.embedder_source import EmbedderSource
from activities.heartbeat import heartbeating
from activities.new_space import new_space
from activities.store import Store
from activities.store.pages import ingest
from activities.store.pages.item_outcome import ItemOutcome, page_outcomes
from activities.store.pages.judge import Outcome
from activities.store.pages.publish import PageConflict
from activities.store.scopes import LiveBuild, ensure_scope, live_build
from headwater.contracts import Conflict, IngestOutcome, IngestSourcesResult
from headwater.models import Scope

SUPERSEDED = "superseded: "


class IngestKeeper:
    """``embedder``, ``chunk_size``, ``chunk_overlap`` and ``language`` are those of new corpora: a first push makes one."""

    def __init__(
        self,
        store: Store,
        embedders: EmbedderSource,
        *,
        embedder: str,
        chunk_size: int,
        chunk_overlap: int,
        language: str,
    ) -> None:
        self._store = store
        self._embedders = embedders
        self._embedder = embedder
        self._sizes = (chunk_size, chunk_overlap)
        self._language = language

    @activity.defn(name="accept_ingest", no_thread_cancel_exception=True)
    @contained
    def accept_ingest(self, asked: AcceptIngest) -> AcceptedIngest:
        with heartbeating():
            build = live_build(self._store, asked.scope) or self._make_corpus(asked.scope)
        page_id = ingest.accept_page(
            self._store, build, asked.sources, request_no=asked.request_no, actor=asked.requested_by
        )
        return AcceptedIngest(page_id=page_id)

    def _make_corpus(self, scope: Scope) -> LiveBuild:
        embedder, (size, overlap) = self._embedders.named(self._embedder), self._sizes
        space = new_space(self._embedder, embedder, chunk_size=size, chunk_overlap=overlap, language=self._language)
        return ensure_scope(self._store, scope, space)

    @activity.defn(name="end_ingest", no_thread_cancel_exception=True)
    @contained
    def end_ingest(self, ended: EndIngest) -> IngestSourcesResult:
        outcomes = page_outcomes(self._store, ended.page_id)
        if outcomes is None:
            raise PageConflict(f"Page {ended.page_id} is not published: send the request again.")
        ingest.forget_contents(self._store, ended.page_id)
        return IngestSourcesResult(sources=tuple(map(_outcome, outcomes)), generation=ended.generation)


def _outcome(item: ItemOutcome) -> IngestOutcome:
    is_conflict = item.expected is not None and item.actual is not None
    prefix = SUPERSEDED if item.outcome == Outcome.STALE else ""
    return IngestOutcome(
        source_id=item.source_id,
        revision=item.revision,
        indexed=item.chunks,
        deleted=item.replaced_chunks,
        skipped=item.is_skipped,
        state=item.state,
        reason=None if item.reason is None else prefix + item.reason,
        conflict=Conflict(expected=item.expected or 0, actual=item.actual or 0) if is_conflict else None,
    )
