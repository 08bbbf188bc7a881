"""A collection as a corpus: pushed by a host, read, cut, embedded and published as all documents are."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.chunking.profile import ChunkingProfile
from headwater.client import HeadwaterClient
from headwater.contracts import Grants, IngestSource
from headwater.lexical import lexicon_of
from headwater.models import Scope
from tests.benchmarks.judged import Collection
from tests.benchmarks.kept_vectors import KEPT, KeptEmbedder
from tests.benchmarks.site import Site

SOURCES_MAX: Final = 100
BYTES_MAX: Final = 300_000  # of one request, which may have 512 KiB
INLINE_MAX: Final = 60_000  # longer documents are staged
MEDIA_TYPE: Final = "text/plain"
STEMMED: Final = {"de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "ru": "russian"}
EVERYONE: Final = Grants(everyone=True, access_version=1)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Where a collection's documents are, under ids of our own: theirs may be anything."""

    scope: Scope
    document_of: dict[str, str]  # by source id
    chunks: int


async def push(site: Site, collection: Collection, embedder: KeptEmbedder) -> Corpus:
    """Publishes all documents of ``collection``, for everyone to read."""
    scope = Scope(tenant_id="t1", resource_id="quality", corpus_id=collection.name)
    space = SpaceSpec(
        embedder_spec=KEPT,
        embedder_identity=embedder.identity,
        dimensions=embedder.dimensions,
        max_tokens=embedder.max_tokens,
        chunker=ChunkingProfile.for_embedder(embedder).fingerprint,
        lexicon=lexicon_of(STEMMED.get(collection.language, "none")),
    )
    ensure_scope(site.store, scope, space)
    client = await HeadwaterClient.connect(site.database_url, client=site.client)
    document_of = {f"document-{number:06}": name for number, name in enumerate(collection.documents)}
    for number, batch in enumerate(_batches(document_of, collection)):
        sources = [await _source(client, scope, source_id, text) for source_id, text in batch.items()]
        pushed = await client.ingest_sources(scope, sources, request_id=f"push-{number}")
        refused = [source for source in pushed.sources if source.state not in ("indexed", "empty")]
        if refused:
            name = document_of[refused[0].source_id]
            raise ValueError(
                f"{collection.name}: {len(refused)} documents were not indexed; {name}: {refused[0].reason}"
            )
    with site.store.connection() as connection:
        row = connection.execute(_COUNTS, (scope.corpus_id, scope.corpus_id)).fetchone()
        connection.execute("VACUUM ANALYZE headwater.chunk")
    chunks, counted = row or (0, 0)
    if counted < chunks:  # rare words would weigh as much as common ones
        raise ValueError(f"{collection.name}: the words of {counted:,} passages are counted, of {chunks:,}.")
    return Corpus(scope, document_of, chunks)


def _batches(document_of: dict[str, str], collection: Collection) -> Iterator[dict[str, str]]:
    batch: dict[str, str] = {}
    size = 0
    for source_id, name in document_of.items():
        text = collection.documents[name].whole
        weight = min(len(text.encode()), INLINE_MAX)
        if batch and (len(batch) == SOURCES_MAX or size + weight > BYTES_MAX):
            yield batch
            batch, size = {}, 0
        batch[source_id] = text
        size += weight
    if batch:
        yield batch


async def _source(client: HeadwaterClient, scope: Scope, source_id: str, text: str) -> IngestSource:
    if len(text.encode()) <= INLINE_MAX:
        return IngestSource(source_id=source_id, text=text, media_type=MEDIA_TYPE, grants=EVERYONE)
    staged = await client.stage(scope, MEDIA_TYPE, text.encode())
    return IngestSource(source_id=source_id, staged=staged, grants=EVERYONE)


_COUNTS: Final = """
    SELECT count(*), (SELECT b.n_counted FROM headwater.build b JOIN headwater.scope s ON s.live_build = b.build_id
                      WHERE s.corpus_id = %s)
    FROM headwater.chunk JOIN headwater.scope USING (scope_id) WHERE corpus_id = %s
"""
