"""A filter in a whole question: it narrows what is looked at in both legs, and is never a permission."""

from typing import Any

import pytest

from headwater import AccessDenied
from tests.integration.retrieval.conftest import Ask
from tests.integration.retrieval.corpus_rows import CorpusRows

SECURITY = {"category": "security"}
LEGS = ["off", "bm25", "fts"]


def found(ask: Ask, wanted: dict[str, Any], **arguments: Any) -> set[str]:
    return {hit.source_id for hit in ask("lock the door", filter=wanted, **{"top_k": 32, **arguments}).hits}


@pytest.mark.parametrize("lexical", LEGS)
def test_the_one_passage_of_a_class_is_cited_although_others_are_nearer(
    corpus: CorpusRows, ask: Ask, lexical: str
) -> None:
    for number in range(30):  # more than are looked at
        corpus.add(f"near-{number:02}", "lock the door", metadata={"category": "doors"})
    corpus.add("wanted", "keys and the door", metadata=SECURITY)
    corpus.add("forbidden", "lock the door", metadata=SECURITY, readers=["user:bob"])
    corpus.count_terms()
    heard: list[AccessDenied] = []

    result = ask(
        "lock the door", filter=SECURITY, top_k=1, lexical=lexical, candidates=2, on_access_denied=heard.append
    )

    assert [citation.source_id for citation in result.citations] == ["wanted"]
    assert "forbidden" not in result.model_dump_json(), "a filter is not a grant"
    assert [denial.source_id for denial in heard] == ["forbidden"]


@pytest.mark.parametrize("lexical", LEGS)
def test_each_leg_looks_at_what_is_left_and_at_nothing_else(corpus: CorpusRows, ask: Ask, lexical: str) -> None:
    """``score`` and ``lexical`` of what is found say which legs had it."""
    corpus.add("wanted", "a key", "lock the door", chunk_metadata=[{"page": 1}, {"page": 2}], metadata=SECURITY)
    corpus.add("other", "lock the door", chunk_metadata=[{"page": 2}])
    corpus.count_terms()

    (hit,) = ask("lock the door", filter={**SECURITY, "page": 2}, lexical=lexical).hits

    assert (hit.chunk_id, hit.scores.vector_rank) == ("wanted#0002", 1)
    assert hit.scores.lexical_rank == (None if lexical == "off" else 1)


@pytest.mark.parametrize("lexical", LEGS)
def test_true_is_not_the_number_one(corpus: CorpusRows, ask: Ask, lexical: str) -> None:
    corpus.add("number", "lock the door", metadata={"n": 1})
    corpus.add("truth", "lock the door", metadata={"n": True})
    corpus.add("text", "lock the door", metadata={"n": "1"})
    corpus.count_terms()

    asked = {"lexical": lexical}
    assert found(ask, {"n": True}, **asked) == {"truth"}
    assert found(ask, {"n": 1}, **asked) == {"number"}
    assert found(ask, {"n": {"gte": 1}}, **asked) == {"number"}
    assert found(ask, {"n": {"in": ["1", True]}}, **asked) == {"text", "truth"}


def test_a_filter_that_nothing_satisfies_finds_nothing(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("one", "lock the door", metadata=SECURITY)

    assert found(ask, {"category": "Security"}) == found(ask, {"other": "security"}) == set()
