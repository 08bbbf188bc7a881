"""What tells a passage from every other."""

from headwater.models import Hit, Provenance

Key = tuple[str, ...]


def key_of(hit: Hit) -> Key:
    """The library, the corpus and the id: the same id in two corpora is two passages."""
    return *document_of(hit.provenance)[:-1], hit.chunk_id


def document_of(where: Provenance) -> Key:
    """The library, the corpus, the source and the revision that a passage is of."""
    return (
        where.library_id or "",
        where.tenant_id,
        where.resource_id,
        where.corpus_id,
        f"{where.source_id}@{where.revision}",
    )
