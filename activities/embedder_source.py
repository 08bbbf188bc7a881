"""The embedder of a build, loaded once a worker: a corpus is always embedded by what it was built with."""

import threading
from collections.abc import Callable

from activities.store.scopes import LiveBuild
from headwater.embedders import Embedder, resolve_embedder
from headwater.errors import EmbedderMismatch, HeadwaterError, TransientError


class EmbedderSource:
    """Loads embedders by their spec and holds them to the identity that the build was made with."""

    def __init__(self, resolve: Callable[[str], Embedder] = resolve_embedder) -> None:
        self._resolve = resolve
        self._loaded: dict[str, Embedder] = {}
        self._lock = threading.Lock()

    def named(self, spec: str) -> Embedder:
        """The embedder that ``spec`` names, for a build that is to be made with it."""
        with self._lock:
            embedder, _, _ = self._load(spec)
            return embedder

    def of(self, build: LiveBuild) -> Embedder:
        """The build's embedder, or `EmbedderMismatch` if this worker has none that gives the same vectors."""
        way_out = f"Bring it back, or run `headwater reindex --corpus {build.corpus}` with the embedder that you have."
        with self._lock:
            try:
                embedder, identity, dimensions = self._load(build.embedder_spec)
            except TransientError:
                raise
            except HeadwaterError as error:
                raise EmbedderMismatch(
                    f"The corpus's own embedder {build.embedder_spec} cannot be loaded: {error} {way_out}"
                ) from error
        if (identity, dimensions) != (build.embedder_identity, build.dimensions):
            raise EmbedderMismatch(
                f"The corpus was embedded by {build.embedder_identity}; {build.embedder_spec} is {identity} here. {way_out}"
            )
        return embedder

    def _load(self, spec: str) -> tuple[Embedder, str, int]:
        """The embedder, its identity and dimensions: asking for those loads what it needs, and may fail."""
        embedder = self._loaded.get(spec) or self._resolve(spec)
        self._loaded[spec] = embedder
        return embedder, embedder.identity, embedder.dimensions
