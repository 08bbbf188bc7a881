"""Activity `begin_reindex`: which embedder, chunker and language, and the build that is to be made with them."""

import re
from typing import Final

from temporalio import activity

from activities.containment import contained
from activities.contracts.reindex import BeginReindex, BegunReindex
from activities.embedder_source import EmbedderSource
from activities.heartbeat import heartbeating
from activities.new_space import new_space
from activities.store import Store
from activities.store.builds import builds, slabs
from activities.store.requests import InvalidInput
from activities.store.scopes import SpaceSpec, live_build
from headwater.chunking.profile import ChunkingProfile
from headwater.errors import HeadwaterError, LimitError, TransientError, ValidationError
from headwater.lexical import check_language

GRAMMAR: Final = (
    "chars, chars:SIZE or chars:SIZE/OVERLAP (in characters), or the chunker of a corpus as `status` shows it"
)
DAY_S: Final = 86_400.0

_SHORT: Final = re.compile(r"chars(?::([0-9]{1,5})(?:/([0-9]{1,4}))?)?\Z")


class ReindexBeginner:
    """``embedder``, ``size``, ``overlap`` and ``language`` are the worker's own: what a new corpus would get."""

    def __init__(
        self,
        store: Store,
        embedders: EmbedderSource,
        *,
        embedder: str,
        size: int,
        overlap: int,
        language: str,
        large_chunks: int,
        keep_days: float,
    ) -> None:
        self._store = store
        self._embedders = embedders
        self._embedder = embedder
        self._sizes = (size, overlap)
        self._language = language
        self._large_chunks = large_chunks
        self._keep_s = keep_days * DAY_S

    @activity.defn(name="begin_reindex", no_thread_cancel_exception=True)
    @contained
    def begin_reindex(self, wanted: BeginReindex) -> BegunReindex:
        with heartbeating():
            space = None if wanted.promote else self._space(wanted)
            begun = builds.begin_build(
                self._store, wanted.scope, space=space, large_chunks=self._large_chunks, actor=wanted.requested_by
            )
            if not begun.is_live:
                slabs.ensure_slab(self._store, begun.slab)
        return BegunReindex(
            tenant_id=wanted.scope.tenant_id,
            build_id=begun.build_id,
            slab=begun.slab,
            is_live=begun.is_live,
            generation=begun.generation,
            sources=begun.sources,
            chunks=begun.chunks,
            retire_after_s=self._keep_s if wanted.retire_after_s is None else float(wanted.retire_after_s),
        )

    def _space(self, wanted: BeginReindex) -> SpaceSpec:
        live = live_build(self._store, wanted.scope)
        spec, sizes = self._embedder, self._sizes
        # What is asked for changes, and nothing beside it; asked for nothing, the corpus gets the space that a new one would.
        if live is not None and (wanted.embedder or wanted.chunker or wanted.language):
            spec = live.embedder_spec
            sizes = self._sizes if wanted.chunker else parse_chunker(live.chunker, self._sizes)
        # Its language is what its texts are written in, which no setting of the workers' knows better than whoever made it.
        own = None if live is None else live.language
        language = _language(wanted.language or own or self._language)
        spec = wanted.embedder or spec
        sizes = sizes if wanted.chunker is None else parse_chunker(wanted.chunker, self._sizes)
        try:
            embedder = self._embedders.named(spec)
            return new_space(spec, embedder, chunk_size=sizes[0], chunk_overlap=sizes[1], language=language)
        except TransientError:
            raise
        except HeadwaterError as error:
            said = str(error).rstrip(".")
            raise InvalidInput(f"embedder {spec[:200]} cannot be used by the workers: {said}.") from error


def _language(language: str) -> str:
    try:
        return check_language(language)
    except ValidationError as error:
        raise InvalidInput(str(error)) from None


def parse_chunker(text: str, sizes: tuple[int, int]) -> tuple[int, int]:
    """Size and overlap that ``text`` asks for; ``sizes`` are those of plain ``chars``.

    The limit in tokens is always the embedder's own, so that of a stored chunker only the sizes count.
    """
    try:
        if known := _SHORT.match(text):
            size, overlap = known.groups()
            if size is None:
                return sizes
            # Without an overlap the default's proportion: a tenth.
            profile = ChunkingProfile(int(size), int(size) // 10 if overlap is None else int(overlap))
        else:
            profile = ChunkingProfile.from_fingerprint(text)
    except (ValidationError, LimitError) as error:
        why = f" ({str(error).rstrip('.')})" if isinstance(error, LimitError) else ""
        raise InvalidInput(f"chunker: {text[:80]!r} is not a chunker{why}: write {GRAMMAR}.") from None
    return profile.size, profile.overlap
