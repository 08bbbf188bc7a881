"""The corpus a sync writes to: made with the configured embedder, afterwards always continued with its own."""

from typing import TYPE_CHECKING

from headwater.errors import HeadwaterError
from headwater.models import Scope
from workers.settings import Settings, variable_of

if TYPE_CHECKING:
    from activities.store import Store
    from activities.store.scopes import LiveBuild
    from headwater.embedders import Embedder


def ensure_corpus(store: "Store", scope: Scope, settings: Settings) -> "LiveBuild":
    """The live build of ``scope``. A new corpus gets the configured embedder, chunk sizes and language; an old one keeps its own.

    A configured embedder that gives the very same vectors is the corpus's own in another place: its folder was moved.
    """
    from activities.new_space import new_space
    from activities.store.scopes import ensure_scope, live_build
    from headwater.embedders import resolve_embedder

    build, embedder = live_build(store, scope), resolve_embedder(settings.embedder)
    if build is not None and not _was_moved(build, embedder, settings):
        return build
    space = new_space(
        settings.embedder,
        embedder,
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.chunk_overlap,
        language=settings.language,
    )
    return ensure_scope(store, scope, space)


def _was_moved(build: "LiveBuild", embedder: "Embedder", settings: Settings) -> bool:
    if not settings.is_given("embedder") or settings.embedder == build.embedder_spec:
        return False
    try:
        return embedder.identity == build.embedder_identity
    except HeadwaterError:
        return False  # it is not needed for this corpus, which goes on with its own


def embedder_note(build: "LiveBuild", scope: Scope, settings: Settings) -> str | None:
    """What to tell somebody who configured another embedder than the corpus was built with."""
    if not settings.is_given("embedder") or settings.embedder == build.embedder_spec:
        return None
    return (
        f"Corpus {scope} goes on with its own embedder {build.embedder_spec}, not {settings.embedder} of "
        f"{variable_of('embedder')}: to use that one, run `headwater reindex --corpus {scope}`."
    )
