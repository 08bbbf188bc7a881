"""What tells a passage from every other."""

from headwater.models import Hit, Provenance, Scope

Key = tuple[str, ...]


def key_of(hit: Hit) -> Key:
    """The library, the corpus and the id: the same id in two corpora is two passages."""
    return key_in(hit.provenance, hit.chunk_id, library_id=hit.provenance.library_id)


def key_in(corpus: Scope | Provenance, chunk_id: str, *, library_id: str | None = None) -> Key:
    """The same of a passage that is no hit yet."""
    return library_id or "", corpus.tenant_id, corpus.resource_id, corpus.corpus_id, chunk_id


def document_of(where: Provenance) -> Key:
    """The library, the corpus, the source and the revision that a passage is of."""
    return key_in(where, f"{where.source_id}@{where.revision}", library_id=where.library_id)
