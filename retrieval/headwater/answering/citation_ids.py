"""What the passages of one answer are cited by: the chunk's id, and more of where it lies where that would name two.

A source id is unique in its corpus only. An answer from several corpora may hold two passages of one id, and neither a model
that cites it nor the reader of what it wrote could tell which of the two was meant.
"""

from collections import Counter
from collections.abc import Sequence

from headwater.models import Provenance


def citation_ids(shown: Sequence[Provenance]) -> list[str]:
    """An id for each passage: ``source#0001``, or ``resource/corpus/source#0001`` for those that would share one.

    Two libraries may hold one corpus: then ``library/resource/corpus/source#0001``.
    """
    lengths, ids = [0] * len(shown), [where.chunk_id for where in shown]
    while shared := {name for name, count in Counter(ids).items() if count > 1}:
        longer = [min(2, length + (name in shared)) for length, name in zip(lengths, ids, strict=True)]
        if longer == lengths:  # the same passage twice: nothing tells it from itself
            break
        lengths, ids = longer, [_id(where, length) for where, length in zip(shown, longer, strict=True)]
    return ids


def _id(where: Provenance, length: int) -> str:
    corpus = f"{where.resource_id}/{where.corpus_id}/"
    return f"{('', corpus, f'{where.library_id or where.tenant_id}/{corpus}')[length]}{where.chunk_id}"
