"""A citation as evidence: of what was cited, unverified, and nothing is fetched."""

from hashlib import sha256
from typing import Any

import pytest

from headwater import LimitError, ValidationError
from headwater.evidence import evidence_from_citation
from tests.unit.passages import make_citation, make_hit

HIT = make_hit("Approvals take two days.", chunk_id="drive:1AbC#0002", revision=3)
CITATION = make_citation(HIT, start=40)
HASH = sha256(HIT.text.encode()).hexdigest()


def test_a_citation_becomes_evidence_that_nobody_has_verified() -> None:
    evidence = evidence_from_citation(CITATION, content_hash=HASH, revision=3, excerpt=HIT.text)

    assert (evidence.kind, evidence.uri, evidence.support) == ("rag", "rag:drive:1AbC", "unverified")
    assert (evidence.content_hash, evidence.revision, evidence.excerpt) == (HASH, 3, HIT.text)
    assert (evidence.citation_id, evidence.start, evidence.end) == ("drive:1AbC#0002", 40, 64)
    assert evidence.provenance == CITATION.provenance
    assert evidence.trust.untrusted and evidence.trust.inert and evidence.trust.injection_capable


def test_the_revision_is_the_cited_one() -> None:
    assert evidence_from_citation(CITATION, content_hash=HASH).revision == 3
    with pytest.raises(ValidationError, match="revision 3"):
        evidence_from_citation(CITATION, content_hash=HASH, revision=4)


@pytest.mark.parametrize(
    "arguments",
    [{"content_hash": ""}, {"content_hash": 7}, {"content_hash": "a\x00"}, {"content_hash": "a", "excerpt": "\ud800"}],
)
def test_what_is_no_evidence_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        evidence_from_citation(CITATION, **arguments)
    with pytest.raises(ValidationError, match="citation"):
        evidence_from_citation(HIT, content_hash="a")  # type: ignore[arg-type]  # what an untyped host may pass


def test_it_has_limits() -> None:
    with pytest.raises(LimitError):
        evidence_from_citation(CITATION, content_hash="a" * 257)
    with pytest.raises(LimitError):
        evidence_from_citation(CITATION, content_hash="a", excerpt="x" * 16_385)
