"""Several corpora, several forms of a query, both legs: one embedding, one snapshot, one order."""

from collections.abc import Sequence
from typing import Any

import pytest

from headwater import EmbedderMismatch, Scope, ScopeError, ValidationError
from headwater.answering.hooks import Hooks
from headwater.evaluation import cited_in
from headwater.rerankers.bounded import Bounded
from headwater.store.routes import Route, Routes
from tests.unit.recipe_steps import ALICE, SmallEmbedder, make_row, verdict, walk
from tests.unit.test_reranking_step import Reranker


def corpus(name: str) -> Scope:
    return Scope(tenant_id="t1", resource_id="docs", corpus_id=name)


A, B, C = corpus("a"), corpus("b"), corpus("c")


def found(scope: Scope, rev_id: int, distance: float, rank: int = 1, **changes: Any) -> tuple[Any, ...]:
    return make_row(
        corpus_id=scope.corpus_id, rev_id=rev_id, source_id=f"s{rev_id}", distance=distance, vector_rank=rank, **changes
    )


def shown(steps: Any) -> list[tuple[str, str]]:
    return [(hit.provenance.corpus_id, hit.source_id) for hit in steps.result.hits]


def test_three_corpora_take_one_embedding_one_batch_and_one_reranking() -> None:
    embedder, reranker = SmallEmbedder(), Reranker()
    steps = walk(scopes=[A, B, C], embedder=embedder, hooks=Hooks(reranker=Bounded(reranker)))

    batch = steps.batch()
    assert [statement.parameters["corpus"] for statement in batch] == ["a", "b", "c"]
    steps.feed([found(A, 1, 0.3)], [found(B, 2, 0.1)], [found(C, 3, 0.2)])
    recheck = steps.next()
    assert recheck is not None and recheck.parameters["corpora"] == ["a", "b", "c"]
    assert recheck.parameters["revisions"] == [2, 3, 1]
    steps.feed([verdict(n) for n in (1, 2, 3)])
    steps.feed([verdict(n) for n in (1, 2, 3)])

    assert embedder.read == [["text"]] and len(reranker.seen) == 1
    assert shown(steps) == [("a", "s1"), ("c", "s3"), ("b", "s2")]
    assert steps.result.generation is None


def test_passages_of_several_corpora_stand_as_if_they_were_of_one() -> None:
    steps = walk(scopes=[A, B], top_k=3)
    steps.feed([found(A, 1, 0.1), found(A, 2, 0.4, rank=2)], [found(B, 3, 0.2), found(B, 4, 0.3, rank=2)])
    steps.feed([verdict(n) for n in (1, 2, 3, 4)])

    assert shown(steps) == [("a", "s1"), ("b", "s3"), ("b", "s4")]


def test_the_same_id_in_two_corpora_is_two_passages_in_the_order_of_the_corpora() -> None:
    steps = walk(scopes=[B, A])
    steps.feed([make_row(corpus_id="b", rev_id=1)], [make_row(corpus_id="a", rev_id=2)])
    steps.feed([verdict(1), verdict(2)])

    assert shown(steps) == [("a", "src"), ("b", "src")]


def test_what_is_cited_names_the_corpus_where_two_would_have_one_id() -> None:
    steps = walk(scopes=[A, B])
    steps.feed(
        [make_row(corpus_id="a", rev_id=1), found(A, 3, 0.4, rank=2)], [make_row(corpus_id="b", rev_id=2, uri="b:src")]
    )
    steps.feed([verdict(1), verdict(2), verdict(3)])

    result = steps.result
    names = ["docs/a/src#0001", "docs/b/src#0001", "s3#0001"]
    assert result.text == "\n\n".join(f"[{name}] text" for name in names) and cited_in(result.text) == names
    assert [one.citation_id for one in result.citations] == names
    assert [one.provenance.citation_id for one in result.citations] == names
    assert [hit.provenance.citation_id for hit in result.hits] == names
    assert {one.citation_id: one.uri for one in result.citations}["docs/b/src#0001"] == "b:src"


def test_one_corpus_that_does_not_exist_is_none_the_others_miss() -> None:
    steps = walk(scopes=[A, B])
    steps.feed([], [found(B, 2, 0.1)])
    steps.feed([verdict(2)])

    assert shown(steps) == [("b", "s2")]


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [(True, True, True), (True, False, False), (True, None, True), (None, None, None)],
    ids=["exact", "one may have missed something", "nothing there", "not asked"],
)
def test_words_were_looked_for_exactly_if_they_were_in_each_corpus(
    a: bool | None, b: bool | None, both: bool | None
) -> None:
    steps = walk(scopes=[A, B], lexical="bm25")
    steps.feed([found(A, 1, 0.1, lexical_is_exact=a)], [found(B, 2, 0.2, lexical_is_exact=b)])
    steps.feed([verdict(1), verdict(2)])

    assert steps.result.lexical_is_exact is both


def test_a_row_of_another_of_these_corpora_fails_the_question() -> None:
    steps = walk(scopes=[A, B])

    with pytest.raises(ScopeError, match="another corpus than t1/docs/a"):
        steps.feed([found(B, 1, 0.1)], [found(B, 2, 0.1)])


def test_one_corpus_of_another_space_fails_the_question_by_either_leg() -> None:
    for lexical in ("off", "fts", "bm25"):
        steps = walk(scopes=[A, B], lexical=lexical)
        with pytest.raises(EmbedderMismatch, match="headwater reindex --corpus t1/docs/b"):
            steps.feed([found(A, 1, 0.1)], [found(B, 2, 0.1, embedder_identity="hash/2")])


def test_if_one_of_them_lies_elsewhere_all_are_asked_again_in_one_snapshot() -> None:
    routes = Routes()
    steps = walk(scopes=[A, B], routes=routes)
    steps.feed([found(A, 1, 0.1)], [make_row(corpus_id="b", rev_id=None, slab=3)])

    batch = steps.batch()
    assert [b"slab = 3" in statement.sql for statement in batch] == [False, True]
    steps.feed([found(A, 1, 0.1)], [found(B, 2, 0.2, slab=3)])
    steps.feed([verdict(1), verdict(2)])
    assert shown(steps) == [("a", "s1"), ("b", "s2")]
    assert routes.of(B, None).slab == 3


def test_a_listener_hears_of_the_sources_of_each_corpus() -> None:
    events: list[tuple[str, str]] = []
    steps = walk(scopes=[A, B], listener=lambda event: events.append((event.scope.corpus_id, event.source_id)))
    with steps.audit:
        steps.feed([found(A, 1, 0.1)], [make_row(corpus_id="b", rev_id=None)])
        assert len(steps.batch()) == 2
        steps.feed([("secret",)], [("secret",)])
        steps.feed([verdict(1)])

    assert events == [("a", "secret"), ("b", "secret")]


# --- both legs


def both(rev_id: int, *, vector: int | None, lexical: int | None, **changes: Any) -> tuple[Any, ...]:
    return make_row(
        rev_id=rev_id,
        source_id=f"s{rev_id}",
        vector_rank=vector,
        distance=0.1 * (vector or 9),
        lexical_rank=lexical,
        lexical_score=None if lexical is None else 10.0 - lexical,
        **changes,
    )


def answered(rows: Sequence[tuple[Any, ...]], **arguments: Any) -> Any:
    steps = walk(lexical="bm25", **arguments)
    steps.feed(rows)
    steps.feed([verdict(row[6]) for row in rows])
    return steps.result


def test_each_hit_says_which_legs_found_it_and_at_what_rank() -> None:
    # a, b, c by meaning and b, d by words, as ranks with k = 2: b 7/12, a 1/3, d 1/4, c 1/5
    rows = [
        both(1, vector=1, lexical=None),
        both(2, vector=2, lexical=1),
        both(3, vector=3, lexical=None),
        both(4, vector=None, lexical=2),
    ]
    result = answered(rows, rrf_k=2)

    assert [(hit.source_id, hit.provenance.retrieval) for hit in result.hits] == [
        ("s2", "hybrid"),
        ("s1", "vector"),
        ("s4", "lexical"),
        ("s3", "vector"),
    ]
    best = result.hits[0]
    assert (best.score, best.scores.vector, best.scores.lexical) == (0.8, 0.8, 9.0)
    assert (best.scores.vector_rank, best.scores.lexical_rank, best.scores.fused) == (2, 1, 7 / 12)


def test_no_more_is_looked_at_again_than_the_candidates_that_were_asked_for() -> None:
    by_meaning = [both(n, vector=n, lexical=None) for n in range(1, 7)]
    by_words = [both(n, vector=None, lexical=n - 6) for n in range(7, 13)]
    steps = walk(lexical="bm25", candidates=6, top_k=2)
    steps.feed([*by_meaning, *by_words])

    recheck = steps.next()
    assert recheck is not None and recheck.parameters["revisions"] == [1, 7, 2, 8, 3, 9]


def test_weighted_fusion_takes_half_from_either_leg() -> None:
    rows = [both(1, vector=1, lexical=None), both(2, vector=2, lexical=1), both(3, vector=3, lexical=2)]
    result = answered(rows, fusion="weighted")

    fused = {hit.source_id: round(hit.scores.fused, 6) for hit in result.hits}
    assert fused == {"s2": 0.75, "s1": 0.5, "s3": round(0.5 * 8 / 9, 6)}  # the words of s1 match nothing: 0 of 9


def test_weighted_fusion_compares_what_a_leg_did_not_list_by_its_score_too() -> None:
    listed = [both(1, vector=1, lexical=None), both(2, vector=2, lexical=1)]
    unlisted = both(3, vector=3, lexical=None)
    told = make_row(rev_id=3, source_id="s3", vector_rank=3, distance=0.3, lexical_score=7.0)

    without, with_score = (
        {hit.source_id: hit.scores.fused for hit in answered([*listed, third], fusion="weighted").hits}
        for third in (unlisted, told)
    )

    assert without["s3"] == 0.0 and with_score["s3"] == pytest.approx(0.5 * 7 / 9)
    (hit,) = (hit for hit in answered([told], fusion="weighted").hits)
    assert (hit.provenance.retrieval, hit.scores.lexical, hit.scores.lexical_rank) == ("vector", 7.0, None)


def test_a_lexicon_of_another_language_is_learnt_and_asked_for_in_its_words() -> None:
    routes = Routes()
    steps = walk("running houses", lexical="bm25", routes=routes)
    steps.feed([make_row(rev_id=None, lexicon="words-2:german")])

    assert steps.next() is not None
    assert routes.of(corpus("handbook"), None) == Route(0, "words-2:german")
    steps.feed([both(1, vector=1, lexical=1, lexicon="words-2:german")])
    steps.feed([verdict(1)])
    assert len(steps.result.hits) == 1


@pytest.mark.parametrize("before", ["words-9:english", "words-2:klingon"])
def test_words_by_a_rule_that_nobody_here_has_are_an_error_that_ends_with_the_re_index_it_asks_for(before: str) -> None:
    routes = Routes()
    walk("running houses", routes=routes).feed(
        [make_row(rev_id=None, lexicon=before)]
    )  # by meaning alone: that is learnt
    assert routes.of(corpus("handbook"), None) == Route(0, before)
    for _ in ("once", "again"):
        steps = walk("running houses", lexical="bm25", routes=routes)
        with pytest.raises(
            ValidationError, match=rf"Corpus \S+handbook has its words by the rule '{before}'.*words-2.*reindex"
        ):
            steps.feed([make_row(rev_id=None, lexicon=before)])

    steps = walk("running houses", lexical="bm25", routes=routes)
    steps.feed([both(1, vector=1, lexical=1)])
    steps.feed([verdict(1)])
    assert len(steps.result.hits) == 1


# --- several forms of a query


def test_other_words_for_a_query_are_embedded_with_it_and_all_are_looked_for() -> None:
    embedder = SmallEmbedder()
    hooks = Hooks(rewriter=lambda query: ["pension fund", query])
    steps = walk("MPF", embedder=embedder, hooks=hooks)

    assert embedder.read == [["MPF", "pension fund"]]
    assert len(steps.batch()) == 2
    steps.feed([found_by(1, 1), found_by(2, 2)], [found_by(2, 1), found_by(3, 2)])
    steps.feed([verdict(n) for n in (1, 2, 3)])
    # 1/61 + 1/62 for s2, which both forms found
    assert [hit.source_id for hit in steps.result.hits] == ["s2", "s1", "s3"]
    assert steps.result.query == "MPF"


def found_by(rev_id: int, rank: int) -> tuple[Any, ...]:
    return make_row(rev_id=rev_id, source_id=f"s{rev_id}", vector_rank=rank, distance=rank / 10)


def test_nobody_rewrites_or_embeds_a_blank_query_or_one_of_no_corpora() -> None:
    embedder = SmallEmbedder()
    hooks = Hooks(rewriter=lambda query: pytest.fail("asked"))
    for steps in (
        walk(" \n", embedder=embedder, hooks=hooks),
        walk(scopes=[], embedder=embedder, hooks=hooks),
    ):
        assert steps.next() is None
        assert (steps.result.hits, steps.result.generation, steps.result.text) == ((), None, "")
    assert embedder.read == []


def test_who_asks_is_the_same_in_every_corpus() -> None:
    for statement in walk(scopes=[A, B, C], authorization=ALICE).batch():
        assert (statement.parameters["principal"], statement.parameters["groups"]) == ("alice", ["eng"])
