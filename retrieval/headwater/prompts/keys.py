"""What tells a passage from every other."""

from headwater.models import Hit

Key = tuple[str, str, str, str]


def key_of(hit: Hit) -> Key:
    """The corpus and the id: the same id in two corpora is two passages."""
    where = hit.provenance
    return where.tenant_id, where.resource_id, where.corpus_id, hit.chunk_id
