"""Activity `embed_batch`: gives the chunks of one batch their vectors, committed every 32.

A vector that was made before for the same input is taken again, whichever version or document it was made for. A
repeated attempt goes on after the last commit, so that a killed worker embeds at most 32 chunks of each batch twice.

A worker that dies over a batch leaves word of it. The next attempt goes carefully: one passage at a time, alone in its
process and written down before it is tried, so that the one which kills is found out and costs its document.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from temporalio import activity

from activities.containment import HandedOver, check_running, contained
from activities.contracts import BatchRef, EmbeddedBatch
from activities.embed_inputs import ATTEMPTS, Vector, embed_inputs
from activities.embedder_source import EmbedderSource
from activities.heartbeat import heartbeating
from activities.store import DuplicateRow, Store
from activities.store.lexicon.averages import lexicon_for
from activities.store.lexicon.passage import Lexicon
from activities.store.pages import embedding, lease, staging
from activities.store.pages.embedding import Missing, ReadyChunk
from activities.store.pages.staging import Page
from activities.store.scopes import build_of
from activities.telemetry import BatchSpans, Tell, batch_spans
from activities.turnstile import Turnstile
from headwater.embedders import Embedder
from headwater.errors import TransientError

log = structlog.get_logger()

COMMIT_CHUNKS: Final = 32
CALL_TEXTS: Final = 4
COMMIT_S: Final = 20.0  # a slow model commits before its 32 are full: an attempt must get somewhere within its timeout
ATTEMPT_S: Final = 80.0  # before the activity's timeout, which would lose what is under way
Key = tuple[int, bytes]  # sensitivity, SHA-256 of the input


@dataclass(frozen=True, slots=True)
class _Input:
    """One distinct text, and the chunks that have it."""

    key: Key
    text: str
    chunks: list[Missing]


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the rows of a batch go, by what their words are written, and what is told of them."""

    page: Page
    batch_no: int
    lexicon: Lexicon | None
    spans: BatchSpans


class Killer(Exception):
    """Stands for the vector of a passage that ended the worker whenever it was embedded."""


class BatchEmbedder:
    def __init__(self, store: Store, embedders: EmbedderSource, *, tell: Tell | None = None) -> None:
        self._store = store
        self._embedders = embedders
        self._tell = tell
        self._turnstile = Turnstile()

    @activity.defn(name="embed_batch", no_thread_cancel_exception=True)
    @contained
    def embed_batch(self, ref: BatchRef) -> EmbeddedBatch:
        store = self._store
        page = staging.open_page(store, ref.page_id, fence=ref.fence)
        try:
            with heartbeating():
                self._embed(page, ref.batch_no)
        except DuplicateRow as error:
            # An earlier attempt that was taken for dead has committed meanwhile: the next one sees its rows.
            raise TransientError("Another attempt is embedding this batch.") from error
        embedded, reused = embedding.finish_batch(store, ref.page_id, ref.batch_no)
        return EmbeddedBatch(embedded=embedded, reused=reused)

    def _embed(self, page: Page, batch_no: int) -> None:
        missing = embedding.missing_inputs(self._store, page, batch_no)
        if not missing:
            return
        with batch_spans(self._store, self._tell, page.page_id, batch_no, missing) as spans:
            self._embed_missing(page, batch_no, missing, spans)

    def _embed_missing(self, page: Page, batch_no: int, missing: Sequence[Missing], spans: BatchSpans) -> None:
        build = build_of(self._store, page.build_id)
        embedder = self._embedders.of(build)
        texts = embedding.bodies(self._store, missing)
        target = _Target(page, batch_no, lexicon_for(self._store, build, texts), spans)
        made = embedding.reusable(
            self._store, page, identity=embedder.identity, dimensions=embedder.dimensions, missing=missing
        )
        ready = [
            ReadyChunk(chunk, text, made[chunk.sensitivity, chunk.sha256])
            for chunk, text in zip(missing, texts, strict=True)
            if (chunk.sensitivity, chunk.sha256) in made
        ]
        if ready:
            self._stage(target, ready, embedded=0)
        inputs = _inputs(missing, texts, made)
        if inputs:
            with embedding.attempt(self._store, page, batch_no) as is_careful:
                self._embed_inputs(target, embedder, inputs, is_careful=is_careful)

    def _embed_inputs(self, target: _Target, embedder: Embedder, inputs: Sequence[_Input], *, is_careful: bool) -> None:
        page = target.page
        until = time.monotonic() + ATTEMPT_S
        while inputs:
            check_running()
            if time.monotonic() > until:
                raise HandedOver("The batch takes long; the next attempt goes on.")
            lease.renew(self._store, page.connector_id, fence=page.fence)
            if is_careful:
                vectors = [self._embed_suspect(page, target.batch_no, embedder, inputs[0])]
            else:
                with self._turnstile.shared():
                    vectors = _embed_some(embedder, inputs)
            self._commit(target, inputs[: len(vectors)], vectors)
            inputs = inputs[len(vectors) :]

    def _embed_suspect(self, page: Page, batch_no: int, embedder: Embedder, entry: _Input) -> Vector | Exception:
        """The input alone in this process, counted before it is tried."""
        with self._turnstile.exclusive():
            try:
                tries = embedding.suspect(self._store, page, batch_no, entry.chunks[0])
                return Killer() if tries > ATTEMPTS else embed_inputs(embedder, [entry.text])[0]
            except BaseException:
                embedding.excuse(self._store, page, batch_no)  # this process lives: the passage did not end it
                raise

    def _commit(self, target: _Target, group: Sequence[_Input], vectors: Sequence[Vector | Exception]) -> None:
        ready: list[ReadyChunk] = []
        embedded = 0
        for entry, vector in zip(group, vectors, strict=True):
            if isinstance(vector, Exception):
                rev_ids = sorted({chunk.rev_id for chunk in entry.chunks})
                target.spans.refused(rev_ids, vector)
                for rev_id in rev_ids:
                    log.warning("document.quarantined", rev_id=rev_id, error=type(vector).__name__)
                    said = "ended the worker" if isinstance(vector, Killer) else "cannot be embedded"
                    reason = f"One of its passages {said} ({type(vector).__name__}, {ATTEMPTS} attempts)."
                    embedding.quarantine(self._store, target.page.page_id, rev_id, reason)
                continue
            embedded += 1
            ready += [ReadyChunk(chunk, entry.text, vector) for chunk in entry.chunks]
        self._stage(target, ready, embedded=embedded)

    def _stage(self, target: _Target, ready: Sequence[ReadyChunk], *, embedded: int) -> None:
        counts = {"embedded": embedded, "reused": len(ready) - embedded}
        embedding.stage_chunks(self._store, target.page, target.batch_no, ready, target.lexicon, **counts)
        target.spans.committed(ready, is_made=embedded > 0)


def _inputs(missing: Sequence[Missing], texts: Sequence[str], made: dict[Key, Vector]) -> list[_Input]:
    """Each text that has no vector yet, once, shortest first: texts of like length are padded least."""
    inputs: dict[Key, _Input] = {}
    for chunk, text in zip(missing, texts, strict=True):
        key = (chunk.sensitivity, chunk.sha256)
        if key not in made:
            inputs.setdefault(key, _Input(key, text, [])).chunks.append(chunk)
    return sorted(inputs.values(), key=lambda entry: (len(entry.text), entry.key))


def _embed_some(embedder: Embedder, inputs: Sequence[_Input]) -> list[Vector | Exception]:
    """Vectors for the first of ``inputs``: as many as one commit takes."""
    until = time.monotonic() + COMMIT_S
    vectors: list[Vector | Exception] = []
    while len(vectors) < min(COMMIT_CHUNKS, len(inputs)) and (not vectors or time.monotonic() < until):
        some = inputs[len(vectors) : min(len(vectors) + CALL_TEXTS, COMMIT_CHUNKS)]
        vectors += embed_inputs(embedder, [entry.text for entry in some])
    return vectors
