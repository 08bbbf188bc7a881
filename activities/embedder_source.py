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

    def of(self, build: LiveBuild) -> Embedder:
        """The build's embedder, or `EmbedderMismatch` if this worker has none that gives the same vectors."""
        with self._lock:
            embedder, identity, dimensions = self._load(build)
        if (identity, dimensions) != (build.embedder_identity, build.dimensions):
            raise EmbedderMismatch(
                f"The corpus was embedded by {build.embedder_identity}; {build.embedder_spec} is {identity} "
                "here. Bring that embedder back, or sync the documents into a new corpus."
            )
        return embedder

    def _load(self, build: LiveBuild) -> tuple[Embedder, str, int]:
        """The embedder, its identity and dimensions: asking for those loads what it needs, and may fail."""
        try:
            embedder = self._loaded.get(build.embedder_spec) or self._resolve(build.embedder_spec)
            self._loaded[build.embedder_spec] = embedder
            return embedder, embedder.identity, embedder.dimensions
        except TransientError:
            raise
        except HeadwaterError as error:
            raise EmbedderMismatch(
                f"The corpus's own embedder {build.embedder_spec} cannot be loaded: {error} "
                "Bring it back, or sync the documents into a new corpus."
            ) from error
