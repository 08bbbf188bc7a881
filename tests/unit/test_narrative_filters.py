"""The five fields that a narrative retriever filters by: each narrows, over a corpus and over chunks in memory."""

import pytest

from headwater import Authorization, Scope
from headwater.ragspine import NarrativeChunk, build_chunk_retriever, build_narrative_retriever
from tests.unit.passages import Found, make_hits

ALICE = Authorization(principal_id="alice", tenant_id="t1")
SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="reports")
FIELDS = ["topic", "entity", "geography", "period", "language"]


@pytest.mark.parametrize("field", FIELDS)
def test_chunks_in_memory_are_narrowed_by_each_field(field: str) -> None:
    chunks = [NarrativeChunk(f"d{n}#c1", f"d{n}", "text", metadata={field: value}) for n, value in enumerate("abc")]
    found = build_chunk_retriever(chunks).narrative("text", filters={field: "b"})

    assert ([snippet["doc_id"] for snippet in found.snippets], found.ignored_filters) == (["d1"], ())


@pytest.mark.parametrize("field", FIELDS)
def test_a_corpus_is_asked_with_each_field_and_with_no_other(field: str) -> None:
    retriever = Found(make_hits("text"))
    narrative = build_narrative_retriever(retriever, scope=SCOPE, authorization=ALICE)  # type: ignore[arg-type]  # a stand-in
    found = narrative.narrative("text", filters={"colour": "red", field: "b"})

    assert [asked["filter"] for _, asked in retriever.asked] == [{field: "b"}]
    assert found.ignored_filters == ("colour",)
