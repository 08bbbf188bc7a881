"""The figures of an evaluation are those of trec_eval, and what trec_eval leaves open is decided here."""

import math
from collections.abc import Mapping, Sequence

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater import ValidationError
from headwater.evaluation import (
    Quality,
    citation_coverage,
    cited_in,
    documents_of,
    evaluate_retrieval,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
    relevant,
    retrieval_quality,
)

DOCUMENTS = st.sampled_from([f"d{number}" for number in range(12)])
RANKINGS = st.lists(DOCUMENTS, unique=True)
JUDGEMENTS = st.dictionaries(DOCUMENTS, st.integers(-1, 4))


@settings(max_examples=60, deadline=None)
@given(ranking=RANKINGS, judged=JUDGEMENTS.filter(relevant), k=st.integers(1, 14))
def test_a_query_has_the_figures_of_trec_eval(ranking: list[str], judged: dict[str, int], k: int) -> None:
    theirs = by_trec_eval({"q": ranking}, {"q": judged}, k)

    assert parts(retrieval_quality(ranking, judged, k=k)) == pytest.approx(theirs)


@settings(max_examples=20, deadline=None)
@given(
    rankings=st.dictionaries(st.sampled_from("abcdef"), RANKINGS),
    judgements=st.dictionaries(st.sampled_from("abcdef"), JUDGEMENTS.filter(relevant), min_size=1),
    k=st.integers(1, 14),
)
def test_the_means_are_those_of_trec_eval(
    rankings: dict[str, list[str]], judgements: dict[str, dict[str, int]], k: int
) -> None:
    ours = evaluate_retrieval(rankings, judgements, k=k)

    assert ours.queries == len(judgements)
    assert parts(ours.mean) == pytest.approx(by_trec_eval(rankings, judgements, k))


def by_trec_eval(
    rankings: Mapping[str, Sequence[str]], judgements: Mapping[str, Mapping[str, int]], k: int
) -> tuple[float, ...]:
    measures = [ir_measures.P @ k, ir_measures.R @ k, ir_measures.RR, ir_measures.nDCG @ k]
    run = {
        query: {document: float(-place) for place, document in enumerate(ranking)}
        for query, ranking in rankings.items()
        if query in judgements
    }
    found = ir_measures.pytrec_eval.calc_aggregate(measures, judgements, run)
    return tuple(found[measure] for measure in measures)


def parts(quality: Quality) -> tuple[float, ...]:
    return quality.precision, quality.recall, quality.reciprocal_rank, quality.ndcg


def test_by_hand() -> None:
    ranking, judged = ["x", "a", "b"], {"a": 1, "b": 3, "c": 2, "x": 0}

    assert precision(ranking, judged, k=2) == 1 / 2
    assert precision(ranking, judged, k=10) == 2 / 10
    assert recall(ranking, judged, k=2) == 1 / 3
    assert reciprocal_rank(ranking, judged) == 1 / 2
    assert reciprocal_rank(ranking, judged, k=1) == 0
    gained, best = 1 / math.log2(3) + 3 / math.log2(4), 3 + 2 / math.log2(3) + 1 / math.log2(4)
    assert ndcg(ranking, judged, k=3) == pytest.approx(gained / best)


def test_an_empty_or_missing_answer_counts_nought_and_a_query_without_relevant_documents_does_not_count() -> None:
    judgements = {"found": {"a": 1}, "empty": {"a": 1}, "missing": {"a": 1}, "nothing relevant": {"a": 0}}
    evaluation = evaluate_retrieval({"found": ["a"], "empty": [], "nothing relevant": ["a"]}, judgements, k=1)

    assert evaluation.queries == 3
    assert parts(evaluation.mean) == pytest.approx((1 / 3,) * 4)
    assert evaluate_retrieval({}, {}, k=3).mean == Quality(0, 0, 0, 0)


def test_a_document_that_is_not_in_the_ranking_still_counts_as_one_that_should_be() -> None:
    assert recall(["a"], {"a": 1, "never indexed": 1}, k=10) == 1 / 2
    assert ndcg(["a"], {"a": 1, "never indexed": 1}, k=10) < 1


@pytest.mark.parametrize("ranking", [["a", "b", "a"], "aba", "ab"])
def test_a_ranking_that_lists_a_document_twice_is_refused(ranking: Sequence[str]) -> None:
    with pytest.raises(ValidationError, match="each once"):
        ndcg(ranking, {"a": 1}, k=3)


@pytest.mark.parametrize("k", [0, -1, 1.0, True, "1"])
def test_k_is_a_whole_number_from_one(k: int) -> None:
    for figure in (precision, recall, ndcg, reciprocal_rank):
        with pytest.raises(ValidationError, match="k must be a whole number"):
            figure(["a"], {"a": 1}, k=k)
    with pytest.raises(ValidationError, match="k must be a whole number"):
        evaluate_retrieval({}, {}, k=k)


def test_a_document_is_where_its_best_passage_is() -> None:
    assert documents_of(["b#0002", "a#0001", "b#0001", "c#0009"], lambda passage: passage[0]) == ["b", "a", "c"]


def test_citations_are_covered_by_what_the_answer_was_made_from() -> None:
    evidence = ["s#0001", "s#0002"]

    assert citation_coverage(["s#0001", "s#0001"], evidence) == 1
    assert citation_coverage(["s#0001", "t#0001"], evidence) == 1 / 2
    assert citation_coverage(["t#0001"], evidence) == 0
    assert citation_coverage([], evidence) == 0
    assert citation_coverage(iter(["s#0001"]), iter(evidence)) == 1


def test_the_citations_of_an_answer_are_read_as_the_passages_were_given() -> None:
    answer = "Two days [folder:docs/a%20b.md#0001], or three [x#12345][folder:docs/a%20b.md#0001]. See [1] and [x#001]."

    assert cited_in(answer) == ["folder:docs/a%20b.md#0001", "x#12345"]
    assert cited_in("None.") == []
