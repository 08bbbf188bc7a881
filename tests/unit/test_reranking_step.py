"""What a reranker gets to see, what comes of its order, and what still counts after it."""

import gc
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from headwater import AccessDenied, Hit, LimitError, RerankError, RerankLimitError
from headwater.answering.hooks import Hooks, KnownRerankers
from headwater.rerankers.bounded import Bounded
from tests.unit.passages import make_hit
from tests.unit.recipe_steps import Walk, make_row, verdict, walk

PUBLIC, INTERNAL, CONFIDENTIAL, RESTRICTED = range(4)


class Reranker:
    """Reverses, unless it is told to do something else, and keeps what it saw."""

    def __init__(
        self, order: Callable[[Sequence[Hit]], Any] = lambda hits: hits[::-1], *, is_hosted: bool = False
    ) -> None:
        self.is_hosted = is_hosted
        self.reads_restricted = True
        self.seen: list[tuple[str, list[str]]] = []
        self._order = order

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.seen.append((query, [hit.text for hit in hits]))
        answer: Sequence[Hit] = self._order(hits)
        return answer


def rows(*labels: int) -> list[tuple[Any, ...]]:
    """One source for each label, nearest first."""
    return [
        make_row(rev_id=n, source_id=f"s{n}", text=f"text {n}", vector_rank=n, distance=n / 10, sensitivity=label)
        for n, label in enumerate(labels, start=1)
    ]


def reranked(reranker: Reranker, *labels: int, keeps_order: bool = False, **arguments: Any) -> Walk:
    """A question whose first gate is passed by all that was found, up to the second one."""
    hooks = Hooks(reranker=Bounded(reranker), keeps_order=keeps_order)
    steps = walk(hooks=hooks, **{"sensitivities": ("public", "internal", "confidential", "restricted"), **arguments})
    steps.feed(rows(*labels))
    steps.feed([verdict(n, sensitivity=label) for n, label in enumerate(labels, start=1)])
    return steps


def answer(steps: Walk, *withheld: int) -> list[str]:
    """The sources that are shown when the second gate lets all pass but ``withheld``."""
    asked = steps.next()
    assert asked is not None
    steps.feed([verdict(n, is_granted=n not in withheld) for n in asked.parameters["revisions"]])
    assert steps.next() is None
    return [hit.source_id for hit in steps.result.hits]


def test_its_order_is_that_of_the_answer_and_the_rank_that_of_the_search() -> None:
    reranker = Reranker()
    steps = reranked(reranker, INTERNAL, INTERNAL, INTERNAL)

    assert answer(steps) == ["s3", "s2", "s1"]
    assert [hit.retrieval_rank for hit in steps.result.hits] == [3, 2, 1]
    assert reranker.seen == [("text", ["text 1", "text 2", "text 3"])]
    assert steps.result.text.startswith("[s3#0001] text 3") and steps.result.rerank_error is None


def test_it_sees_all_candidates_and_the_best_of_its_order_are_shown() -> None:
    steps = reranked(reranker := Reranker(), *[INTERNAL] * 6, top_k=2)

    assert answer(steps) == ["s6", "s5"]
    assert len(reranker.seen[0][1]) == 6


def test_it_sees_no_more_than_the_candidates_that_were_asked_for() -> None:
    steps = reranked(reranker := Reranker(), *[INTERNAL] * 6, top_k=2, candidates=4)

    assert answer(steps) == ["s4", "s3"]
    assert len(reranker.seen[0][1]) == 4


def test_what_the_first_gate_withholds_it_never_sees() -> None:
    steps = walk(hooks=Hooks(reranker=Bounded(reranker := Reranker())))
    steps.feed(rows(INTERNAL, INTERNAL, INTERNAL))
    steps.feed([verdict(1), verdict(2, is_granted=False), verdict(3, is_alive=False)])

    assert answer(steps) == ["s1"]
    assert reranker.seen == [("text", ["text 1"])]


def test_what_the_second_gate_withholds_is_not_shown_and_is_told_once() -> None:
    events: list[AccessDenied] = []
    hooks = Hooks(reranker=Bounded(Reranker()))
    steps = walk(hooks=hooks, listener=events.append)
    with steps.audit:
        steps.feed([*rows(INTERNAL, INTERNAL), make_row(source_id="s1", chunk_no=2, vector_rank=3, distance=0.9)])
        steps.feed([("unseen",)])
        steps.feed([verdict(1), verdict(2)])
        assert answer(steps, 1) == ["s2"]

    assert [(event.source_id, event.reason, event.hits) for event in events] == [
        ("unseen", "no_grant", 0),
        ("s1", "no_grant", 2),
    ]


def test_a_source_that_is_granted_after_the_store_kept_it_back_is_not_told() -> None:
    events: list[AccessDenied] = []
    steps = walk(listener=events.append)
    with steps.audit:
        steps.feed(rows(INTERNAL))
        steps.feed([("s1",)])
        steps.feed([verdict(1)])

    assert [hit.source_id for hit in steps.result.hits] == ["s1"] and events == []


def test_a_second_gate_that_fails_withholds_everything() -> None:
    events: list[AccessDenied] = []
    steps = walk(hooks=Hooks(reranker=Bounded(Reranker())), listener=events.append)
    with steps.audit:
        steps.feed(rows(INTERNAL))
        steps.feed([])
        steps.feed([verdict(1)])
        steps.fail(psycopg.errors.QueryCanceled("text 1 is secret"))

    assert steps.result.hits == ()
    assert [(event.reason, event.hits, event.error) for event in events] == [
        ("check_failed", 1, "QueryCanceled, 57014")
    ]
    assert (steps.result.check_error or "").startswith(
        "Postgres did not say what may still be shown (QueryCanceled, 57014)"
    )
    assert "secret" not in str(steps.result)


def test_one_gate_is_enough_without_a_reranker_and_where_nothing_was_found() -> None:
    steps = walk()
    steps.feed(rows(INTERNAL))
    steps.feed([verdict(1)])
    assert steps.next() is None

    steps = walk(hooks=Hooks(reranker=Bounded(reranker := Reranker())))
    steps.feed([make_row(rev_id=None)])
    assert steps.next() is None and not reranker.seen


# --- what may leave the process


def test_what_may_not_leave_keeps_its_place_among_those_that_may() -> None:
    steps = reranked(Reranker(is_hosted=True), PUBLIC, RESTRICTED, PUBLIC, PUBLIC, hosted_labels=(PUBLIC,))

    assert answer(steps) == ["s4", "s2", "s3", "s1"]


@pytest.mark.parametrize(
    ("hosted_labels", "seen"), [((), []), ((INTERNAL,), ["text 2"]), ((PUBLIC, INTERNAL), ["text 1", "text 2"])]
)
def test_only_labels_that_are_allowed_to_leave_do(hosted_labels: tuple[int, ...], seen: list[str]) -> None:
    reranker = Reranker(is_hosted=True)
    steps = reranked(reranker, PUBLIC, INTERNAL, CONFIDENTIAL, RESTRICTED, hosted_labels=hosted_labels)
    answer(steps)

    assert [texts for _, texts in reranker.seen] == ([seen] if seen else [])


def test_one_in_the_process_sees_what_may_be_shown() -> None:
    reranker = Reranker(is_hosted=False)
    answer(reranked(reranker, PUBLIC, CONFIDENTIAL, RESTRICTED))

    assert reranker.seen == [("text", ["text 1", "text 2", "text 3"])]


def test_one_that_does_not_say_where_it_is_counts_as_hosted() -> None:
    reranker = Reranker()
    del reranker.is_hosted
    answer(reranked(reranker, INTERNAL, INTERNAL))

    assert reranker.seen == []


class Fickle(Reranker):
    """Says something else each time that it is asked where it runs."""

    asked = 0

    @property
    def is_hosted(self) -> bool:
        self.asked += 1
        return self.asked == 1

    @is_hosted.setter
    def is_hosted(self, value: bool) -> None: ...


def test_one_that_changes_its_mind_is_taken_at_its_first_word() -> None:
    reranker = Fickle()
    steps = reranked(reranker, *[INTERNAL] * 8)
    answer(steps)

    assert reranker.seen == [] and reranker.asked == 1
    assert "outside the process" in (steps.result.rerank_error or "")


def test_one_that_fails_when_it_is_asked_where_it_runs_is_one_that_failed() -> None:
    class Failing(Fickle):
        @property
        def is_hosted(self) -> bool:
            raise RuntimeError("sk-secret")

        @is_hosted.setter
        def is_hosted(self, value: bool) -> None: ...

    with pytest.raises(RerankError, match=r"^Failing failed with RuntimeError at test_reranking_step\.py:\d+\.$"):
        reranked(Failing(), INTERNAL)
    steps = reranked(Failing(), INTERNAL, keeps_order=True)
    assert answer(steps) == ["s1"] and "RuntimeError" in (steps.result.rerank_error or "")


def test_a_label_that_was_raised_since_the_search_counts() -> None:
    reranker = Reranker(is_hosted=True)
    steps = walk(hooks=Hooks(reranker=Bounded(reranker)), hosted_labels=(INTERNAL,))
    steps.feed(rows(INTERNAL, INTERNAL))
    steps.feed([verdict(1), verdict(2, sensitivity=CONFIDENTIAL)])
    answer(steps)

    assert reranker.seen == [("text", ["text 1"])]


# --- one that fails


def fails(hits: Sequence[Hit]) -> Sequence[Hit]:
    raise RuntimeError(f"the key sk-secret was refused for {hits[0].text}")


@pytest.mark.parametrize("order", [fails, lambda hits: hits[1:], lambda hits: [*hits, hits[0]], lambda hits: None])
def test_a_reranker_that_fails_fails_the_question(order: Callable[[Sequence[Hit]], Any]) -> None:
    with pytest.raises(RerankError) as caught:
        reranked(Reranker(order), INTERNAL, INTERNAL)

    assert "secret" not in str(caught.value) and "text 1" not in str(caught.value)


def test_one_that_would_read_too_much_is_not_asked() -> None:
    reranker = Reranker()
    steps = walk(hooks=Hooks(reranker=Bounded(reranker, max_input_bytes=10)))
    steps.feed(rows(INTERNAL))
    with pytest.raises(LimitError, match="would read"):
        steps.feed([verdict(1)])
    assert reranker.seen == []


def test_where_the_order_may_be_kept_the_answer_says_why_it_was() -> None:
    steps = reranked(Reranker(fails), INTERNAL, INTERNAL, keeps_order=True)

    assert answer(steps) == ["s1", "s2"]
    error = steps.result.rerank_error
    assert error is not None and "RuntimeError" in error and "secret" not in error


# --- a reranker of a host's own


def test_the_same_object_has_the_same_bounds_each_time() -> None:
    known, mine = KnownRerankers(), Reranker()

    first = known.bounded(mine)
    assert known.bounded(mine) is first is not known.bounded(Reranker())
    assert known.bounded(bounded := Bounded(mine)) is bounded
    assert known.bounded(None) is None


def test_a_reranker_that_nobody_asks_any_more_is_not_kept_alive() -> None:
    known, mine = KnownRerankers(), Reranker()
    assert known.bounded(mine) is not None
    gone = weakref.ref(mine)
    del mine
    gc.collect()

    assert gone() is None


class Hanging:
    """Gives no answer until it may."""

    is_hosted = False

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.may_end.wait(60)
        return hits


def test_a_call_that_hangs_counts_however_many_others_were_asked_meanwhile() -> None:
    known, mine = KnownRerankers(), Hanging()

    def ask() -> str:
        bounded = known.bounded(mine)
        assert bounded is not None
        with pytest.raises(RerankLimitError) as said:
            bounded.rerank("q", [make_hit()])
        return str(said.value)

    try:
        with ThreadPoolExecutor(2) as asking:  # as many as may run at once
            assert all("longer than" in each.result() for each in [asking.submit(ask) for _ in range(2)])
        for _ in range(100):
            known.bounded(Reranker())
        gc.collect()
        assert "busy with 2 calls" in ask()
    finally:
        mine.may_end.set()


@pytest.mark.parametrize(
    ("is_hosted", "labels", "says"),
    [
        (True, [INTERNAL, PUBLIC], "outside the process, where hosted_sensitivities"),
        (False, [RESTRICTED], "reads nothing that is restricted"),
    ],
)
def test_a_reranker_that_was_given_nothing_is_heard(is_hosted: bool, labels: list[int], says: str) -> None:
    reranker = Reranker(is_hosted=is_hosted)
    reranker.reads_restricted = False
    steps = reranked(reranker, *labels)

    assert answer(steps) == [f"s{n}" for n, _ in enumerate(labels, start=1)]
    assert says in (steps.result.rerank_error or "") and reranker.seen == []


def test_a_reranker_that_was_given_some_is_no_error_and_neither_is_an_answer_that_was_checked() -> None:
    steps = reranked(Reranker(is_hosted=True), PUBLIC, INTERNAL, hosted_labels=(PUBLIC,))
    answer(steps)
    assert (steps.result.rerank_error, steps.result.check_error) == (None, None)


def test_a_label_that_was_raised_while_the_reranker_ran_is_the_one_that_is_shown() -> None:
    steps = reranked(Reranker(), INTERNAL, CONFIDENTIAL)
    steps.feed([verdict(1, sensitivity=CONFIDENTIAL), verdict(2, sensitivity=INTERNAL)])

    assert {hit.source_id: hit.sensitivity for hit in steps.result.hits} == {"s1": "confidential", "s2": "confidential"}
