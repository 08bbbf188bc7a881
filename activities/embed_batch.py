"""Activity `embed_batch`: gives the chunks of one batch their vectors, committed every 32.

A vector that was made before for the same input is taken again, whichever version or document it was made for. A
repeated attempt goes on after the last commit, so that a killed worker embeds at most 32 chunks of each batch twice.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog
from numpy.typing import NDArray
from temporalio import activity

from activities.containment import HandedOver, check_running, contained
from activities.contracts import BatchRef, EmbeddedBatch
from activities.embedder_source import EmbedderSource
from activities.heartbeat import heartbeating
from activities.store import DuplicateRow, Store, embedding, lease, staging
from activities.store.embedding import Missing, ReadyChunk
from activities.store.scopes import build_of
from activities.store.staging import Page
from headwater.embedders import Embedder
from headwater.errors import TransientError
from headwater.vectors import check_vectors

log = structlog.get_logger()

COMMIT_CHUNKS: Final = 32
CALL_TEXTS: Final = 4
COMMIT_S: Final = 20.0  # a slow model commits before its 32 are full: an attempt must get somewhere within its timeout
ATTEMPT_S: Final = 80.0  # before the activity's timeout, which would lose what is under way
ATTEMPTS: Final = 3
PROBE: Final = "a"

Vector = NDArray[np.float32]
Key = tuple[int, bytes]  # sensitivity, SHA-256 of the input


@dataclass(frozen=True, slots=True)
class _Input:
    """One distinct text, and the chunks that have it."""

    key: Key
    text: str
    chunks: list[Missing]


class BatchEmbedder:
    def __init__(self, store: Store, embedders: EmbedderSource) -> None:
        self._store = store
        self._embedders = embedders

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
        embedder = self._embedders.of(build_of(self._store, page.build_id))
        texts = embedding.bodies(self._store, missing)
        made = embedding.reusable(
            self._store, page, identity=embedder.identity, dimensions=embedder.dimensions, missing=missing
        )
        ready = [
            ReadyChunk(chunk, text, made[chunk.sensitivity, chunk.sha256])
            for chunk, text in zip(missing, texts, strict=True)
            if (chunk.sensitivity, chunk.sha256) in made
        ]
        if ready:
            embedding.stage_chunks(self._store, page, batch_no, ready, embedded=0, reused=len(ready))
        inputs = _inputs(missing, texts, made)
        until = time.monotonic() + ATTEMPT_S
        while inputs:
            check_running()
            if time.monotonic() > until:
                raise HandedOver("The batch takes long; the next attempt goes on.")
            lease.renew(self._store, page.connector_id, fence=page.fence)
            vectors = _embed_some(embedder, inputs)
            self._commit(page, batch_no, inputs[: len(vectors)], vectors)
            inputs = inputs[len(vectors) :]

    def _commit(
        self, page: Page, batch_no: int, group: Sequence[_Input], vectors: Sequence[Vector | Exception]
    ) -> None:
        ready: list[ReadyChunk] = []
        embedded = 0
        for entry, vector in zip(group, vectors, strict=True):
            if isinstance(vector, Exception):
                for rev_id in sorted({chunk.rev_id for chunk in entry.chunks}):
                    log.warning("document.quarantined", rev_id=rev_id, error=type(vector).__name__)
                    reason = f"One of its passages cannot be embedded ({type(vector).__name__}, {ATTEMPTS} attempts)."
                    embedding.quarantine(self._store, page.page_id, rev_id, reason)
                continue
            embedded += 1
            ready += [ReadyChunk(chunk, entry.text, vector) for chunk in entry.chunks]
        reused = len(ready) - embedded
        embedding.stage_chunks(self._store, page, batch_no, ready, embedded=embedded, reused=reused)


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


def embed_inputs(embedder: Embedder, texts: Sequence[str]) -> list[Vector | Exception]:
    """A vector for each text, or what the embedder said of it.

    Inputs that fail together are halved until the culprit is alone; alone it gets three attempts. An outage, which is
    no input's fault, is raised; so is what an embedder says that fails on any other text too.
    """
    try:
        vectors = check_vectors(embedder.embed(texts), count=len(texts), dimensions=embedder.dimensions)
        return list(vectors)
    except TransientError:
        raise
    except Exception as error:  # noqa: BLE001 an embedder is somebody else's code: what it raises belongs to these inputs
        if len(texts) > 1:
            half = len(texts) // 2
            return embed_inputs(embedder, texts[:half]) + embed_inputs(embedder, texts[half:])
        return [_embed_alone(embedder, texts[0], error)]


def _embed_alone(embedder: Embedder, text: str, error: Exception) -> Vector | Exception:
    for _ in range(ATTEMPTS - 1):
        try:
            vector: Vector = check_vectors(embedder.embed([text]), count=1, dimensions=embedder.dimensions)[0]
            return vector
        except TransientError:
            raise
        except Exception as again:  # noqa: BLE001 as above
            error = again
    _check_working(embedder)
    return error


def _check_working(embedder: Embedder) -> None:
    """Raises what the embedder raises for a text that is nobody's: before a document is blamed, and set aside for good."""
    check_vectors(embedder.embed([PROBE]), count=1, dimensions=embedder.dimensions)
