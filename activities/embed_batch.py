"""Activity `embed_batch`: gives the chunks of one batch their vectors, committed every 32.

A vector that was made before for the same input is taken again, whichever version or document it was made for. A
repeated attempt goes on after the last commit, so that a killed worker embeds at most 32 chunks twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog
from numpy.typing import NDArray
from temporalio import activity

from activities.containment import check_running, contained
from activities.contracts import BatchRef, EmbeddedBatch
from activities.embedder_source import EmbedderSource
from activities.store import DuplicateRow, Store, embedding, lease, staging
from activities.store.embedding import Missing, ReadyChunk
from activities.store.scopes import build_of
from activities.store.staging import Page
from headwater.embedders import Embedder
from headwater.errors import TransientError
from headwater.vectors import check_vectors

log = structlog.get_logger()

COMMIT_CHUNKS: Final = 32
CALL_TEXTS: Final = 4  # between two calls of the embedder the activity shows that it is alive
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

    @activity.defn(name="embed_batch")
    @contained
    def embed_batch(self, ref: BatchRef) -> EmbeddedBatch:
        store = self._store
        page = staging.leased_page(store, ref.page_id, fence=ref.in_pass.fence)
        state = embedding.batch_state(store, ref.page_id, ref.batch_no)
        if not state.is_done:
            embedder = self._embedders.of(build_of(store, page.build_id))
            try:
                self._embed(page, ref.batch_no, embedder)
            except DuplicateRow as error:
                # An earlier attempt that was taken for dead has committed meanwhile: the next one sees its rows.
                raise TransientError("Another attempt is embedding this batch.") from error
        embedded, reused = embedding.finish_batch(store, ref.page_id, ref.batch_no)
        return EmbeddedBatch(embedded=embedded, reused=reused)

    def _embed(self, page: Page, batch_no: int, embedder: Embedder) -> None:
        missing = embedding.missing_inputs(self._store, page, batch_no)
        if not missing:
            return
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
        for group in _groups(_inputs(missing, texts, made)):
            check_running()
            lease.renew(self._store, page.connector_id, fence=page.fence)
            self._embed_group(page, batch_no, embedder, group)

    def _embed_group(self, page: Page, batch_no: int, embedder: Embedder, group: Sequence[_Input]) -> None:
        vectors: list[Vector | Exception] = []
        for first in range(0, len(group), CALL_TEXTS):
            vectors += embed_inputs(embedder, [entry.text for entry in group[first : first + CALL_TEXTS]])
            activity.heartbeat()
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


def _groups(inputs: Sequence[_Input]) -> Iterator[Sequence[_Input]]:
    for first in range(0, len(inputs), COMMIT_CHUNKS):
        yield inputs[first : first + COMMIT_CHUNKS]


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
