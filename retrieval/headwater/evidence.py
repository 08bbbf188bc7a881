"""A citation as evidence for a claim: what was shown, where it stands, and that nobody has checked the claim against it."""

from typing import Final, Literal

from headwater.errors import LimitError, ValidationError
from headwater.ids import UNSTORABLE
from headwater.models import Citation, Frozen, Provenance, Trust

EXCERPT_CHARACTERS: Final = 16_384  # the greatest passage
HASH_CHARACTERS: Final = 256


class Evidence(Frozen):
    """What a claim may be traced to. ``support`` is unverified: that a passage was found does not make the claim true.

    ``uri`` is a name (``rag:`` and the source id), not an address: nothing is fetched from it.
    """

    kind: Literal["rag"] = "rag"
    uri: str
    citation_id: str
    source_id: str
    title: str | None = None
    locator: str | None = None
    start: int
    end: int
    revision: int
    content_hash: str
    excerpt: str | None = None
    support: Literal["unverified"] = "unverified"
    provenance: Provenance
    trust: Trust = Trust()


def evidence_from_citation(
    citation: Citation, *, content_hash: str, revision: int | None = None, excerpt: str | None = None
) -> Evidence:
    """``citation`` as evidence. Nothing is read again: what the host knows of the content, it says.

    ``content_hash`` is the host's, of what it keeps as evidence: SHA-256 of the passage, say. ``revision``, if the host says it, is
    the one that the hash is of: another one than was cited is an error, for evidence of another text would mislead.
    """
    if not isinstance(citation, Citation):
        raise ValidationError("citation must be a headwater.Citation, as a result has them.")
    if not isinstance(content_hash, str) or not content_hash.strip() or UNSTORABLE.search(content_hash):
        raise ValidationError("content_hash must be a text that is not blank, such as the SHA-256 of the passage.")
    if len(content_hash) > HASH_CHARACTERS:
        raise LimitError(f"content_hash has {len(content_hash):,} characters: at most {HASH_CHARACTERS}.")
    if revision is not None and (type(revision) is not int or revision != citation.revision):
        raise ValidationError(
            f"revision is {revision!r}, and {citation.citation_id} cites revision {citation.revision}: evidence must be of what "
            "was cited."
        )
    if excerpt is not None:
        if not isinstance(excerpt, str) or UNSTORABLE.search(excerpt):
            raise ValidationError("excerpt must be a text without NUL or lone surrogates.")
        if len(excerpt) > EXCERPT_CHARACTERS:
            raise LimitError(f"excerpt has {len(excerpt):,} characters: at most {EXCERPT_CHARACTERS:,}.")
    return Evidence(
        uri=f"rag:{citation.source_id}",
        citation_id=citation.citation_id,
        source_id=citation.source_id,
        title=citation.title,
        locator=citation.locator,
        start=citation.start,
        end=citation.end,
        revision=citation.revision,
        content_hash=content_hash,
        excerpt=excerpt,
        provenance=citation.provenance,
    )
