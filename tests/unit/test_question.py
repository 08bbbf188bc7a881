"""What a host may ask: limits are errors that name the argument, and nothing is asked for a question of nothing."""

from typing import Any

import pytest

from headwater import Authorization, LimitError, Scope, ScopeError, ValidationError
from headwater.store.question import Question

ALICE = Authorization(principal_id="alice", tenant_id="t1")


def scope(corpus: str = "handbook", tenant: str = "t1") -> Scope:
    return Scope(tenant_id=tenant, resource_id="docs", corpus_id=corpus)


def asked(**arguments: Any) -> Question:
    return Question.checked("text", **{"authorization": ALICE, "scope": scope(), **arguments})


def corpora(count: int) -> list[Scope]:
    return [scope(f"c{number}") for number in range(count)]


@pytest.mark.parametrize("arguments", [{}, {"scope": scope(), "scopes": [scope()]}])
def test_a_search_names_one_corpus_or_several_and_not_both(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="either scope, one"):
        Question.checked("text", authorization=ALICE, **arguments)


def test_each_corpus_is_asked_once_and_at_most_eight() -> None:
    assert asked(scope=None, scopes=[*corpora(8), *corpora(8)]).scopes == tuple(corpora(8))
    with pytest.raises(LimitError, match="more than 8 corpora"):
        asked(scope=None, scopes=corpora(9))


@pytest.mark.parametrize("scopes", [scope(), "t1/docs/handbook", [scope(), "t1/docs/handbook"], 7])
def test_corpora_are_scopes(scopes: Any) -> None:
    with pytest.raises(ValidationError, match="scope"):
        asked(scope=None, scopes=scopes)


def test_no_corpora_are_a_question_of_nothing() -> None:
    assert asked(scope=None, scopes=[]).is_blank
    assert not asked().is_blank


def test_one_foreign_tenant_among_them_fails_the_question() -> None:
    with pytest.raises(ScopeError, match="t2/docs/handbook"):
        asked(scope=None, scopes=[scope(), scope(tenant="t2")])


def test_a_generation_goes_with_one_corpus() -> None:
    assert asked(scope=None, scopes=[scope(), scope()], generation=3).generation == 3
    with pytest.raises(ValidationError, match="generation goes with one corpus"):
        asked(scope=None, scopes=corpora(2), generation=3)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"lexical": "on"}, ValidationError, "lexical must be one of off, fts, bm25"),
        ({"lexical": None}, ValidationError, "lexical must be one of"),
        ({"fusion": "sum"}, ValidationError, "fusion must be one of rrf, weighted"),
        ({"fusion": ["rrf"]}, ValidationError, "fusion must be one of rrf, weighted"),
        ({"rrf_k": 0}, LimitError, "rrf_k must be from 1 to 1,000"),
        ({"rrf_k": 1_001}, LimitError, "rrf_k must be from 1 to 1,000"),
        ({"rrf_k": True}, ValidationError, "rrf_k must be a whole number"),
        ({"top_k": 33}, LimitError, "top_k"),
        ({"candidates": 129}, LimitError, "candidates"),
        ({"candidates": 3}, LimitError, r"candidates must be at least top_k \(5\), not 3"),
        ({"sensitivities": "public"}, ValidationError, "sensitivities must be several labels"),
        ({"sensitivities": ["secret"]}, ValidationError, "'secret', which is none of public, internal"),
        ({"sensitivities": [None]}, ValidationError, "holds NoneType"),
        ({"sensitivities": 3}, ValidationError, "sensitivities must be several labels"),
        ({"authorization": None}, ValidationError, "authorization"),
        ({"filter": {"n": {"like": 1}}}, ValidationError, "like"),
    ],
)
def test_what_is_beyond_a_limit_is_an_error_that_names_it(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        asked(**arguments)


def test_as_many_candidates_as_passages_are_found_at_least() -> None:
    assert (asked().candidates, asked(top_k=30).candidates, asked(top_k=30, candidates=40).candidates) == (20, 30, 40)


def test_all_but_what_is_restricted_may_be_shown_unless_a_call_says_otherwise() -> None:
    assert asked().labels == (0, 1, 2)
    assert asked(sensitivities=[" Restricted", "PUBLIC", "public"]).labels == (0, 3)
    assert asked(sensitivities=()).labels == ()
