"""What a new corpus is embedded and cut with: a decision that commands, pushes and re-indexes share."""

from activities.store.scopes import SpaceSpec
from headwater.chunking.profile import ChunkingProfile
from headwater.embedders import Embedder
from headwater.lexical import lexicon_of


def new_space(spec: str, embedder: Embedder, *, chunk_size: int, chunk_overlap: int, language: str) -> SpaceSpec:
    """The space of ``embedder``, which ``spec`` loads, with chunks of that size as far as it reads them, in that language."""
    return SpaceSpec(
        embedder_spec=spec,
        embedder_identity=embedder.identity,
        dimensions=embedder.dimensions,
        max_tokens=embedder.max_tokens,
        chunker=ChunkingProfile.for_embedder(embedder, size=chunk_size, overlap=chunk_overlap).fingerprint,
        lexicon=lexicon_of(language),
    )
