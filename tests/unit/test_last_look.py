"""Whenever code of a host's had its time, the store is asked again what may be shown: one statement, and only then."""

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from headwater import AccessDenied, Hit
from headwater.answering.hooks import Hooks
from headwater.prompts import Compression, Diversity, LostInTheMiddle, Parent, PostProcessor, Window
from headwater.rerankers.bounded import Bounded
from tests.unit.recipe_steps import Walk, make_row, verdict, walk
from tests.unit.test_reranking_step import Reranker

PUBLIC, INTERNAL, CONFIDENTIAL = range(3)
SURROUNDINGS: list[tuple[Any, ...]] = []


class Step:
    """A host's own, which notes what it was shown."""

    def __init__(self) -> None:
        self.seen: list[list[str]] = []

    def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.seen.append([hit.source_id for hit in hits])
        return [hit.model_copy(update={"prompt_text": f"{hit.source_id} of {len(hits)}"}) for hit in hits]


def same(text: str) -> str:
    return text


def found(hooks: Hooks, *, sources: int = 3, **asked: Any) -> Walk:
    """A question that found one passage in each of so many sources, at its first gate."""
    steps = walk(hooks=hooks, **asked)
    steps.feed(
        [
            make_row(rev_id=n, source_id=f"s{n}", text=f"passage {n}", vector_rank=n, distance=n / 10)
            for n in range(1, sources + 1)
        ]
    )
    return steps


def passes(steps: Walk, *withheld: int, level: int = INTERNAL) -> list[int]:
    """Answers a gate: all pass but ``withheld``. Gives the revisions that it was asked for."""
    statement = steps.next()
    assert statement is not None and "characters" not in statement.parameters, "no gate stands here"
    revisions: list[int] = statement.parameters["revisions"]
    steps.feed([verdict(n, is_granted=n not in withheld, sensitivity=level) for n in revisions])
    return revisions


def shown(steps: Walk) -> list[str]:
    assert steps.next() is None, "the question goes on"
    return [hit.source_id for hit in steps.result.hits]


@pytest.mark.parametrize(
    ("hooks", "gates"),
    [
        (Hooks(), 1),
        (Hooks(post_processors=(Diversity(), Compression(), LostInTheMiddle())), 1),
        (Hooks(post_processors=(Step(),)), 2),
        (Hooks(redactor=same), 2),
        (Hooks(redactor=same, post_processors=(Compression(),)), 2),
        (Hooks(reranker=Bounded(Reranker())), 2),
        (Hooks(redactor=same, reranker=Bounded(Reranker()), post_processors=(Step(),)), 4),
    ],
    ids=["none", "ours", "step", "redactor", "redactor, ours", "reranker", "all"],
)
def test_there_is_one_look_more_for_each_time_that_a_host_took(hooks: Hooks, gates: int) -> None:
    steps = found(hooks)
    for _ in range(gates):
        assert sorted(passes(steps)) == [1, 2, 3]

    assert len(shown(steps)) == 3


@pytest.mark.parametrize(("redactor", "gates"), [(None, 1), (same, 3)])
@pytest.mark.parametrize("step", [Window(), Parent()])
def test_what_stands_around_passages_takes_one_more_where_it_is_redacted(
    step: PostProcessor, redactor: Any, gates: int
) -> None:
    steps = found(Hooks(redactor=redactor, post_processors=(step,)))
    for _ in range(gates - (redactor is not None)):
        passes(steps)
    steps.feed(SURROUNDINGS)
    if redactor is not None:
        passes(steps)

    assert shown(steps) == ["s1", "s2", "s3"]


def test_what_is_taken_away_while_a_redactor_runs_is_not_shown_and_the_next_one_moves_up() -> None:
    events: list[AccessDenied] = []
    steps = found(Hooks(redactor=same), top_k=2, listener=events.append)
    with steps.audit:
        steps.feed([])
        assert passes(steps) == [1, 2, 3]
        assert passes(steps, 1) == [1, 2]
        assert passes(steps) == [2, 3]
        assert shown(steps) == ["s2", "s3"]

    assert [hit.retrieval_rank for hit in steps.result.hits] == [1, 2]
    assert [(event.source_id, event.reason, event.hits) for event in events] == [("s1", "no_grant", 1)]


def test_what_is_taken_away_while_a_redactor_runs_for_the_next_one_is_not_shown_either() -> None:
    steps = found(Hooks(redactor=same), sources=5, top_k=3)
    passes(steps)
    assert passes(steps, 1) == [1, 2, 3]
    assert passes(steps, 2) == [2, 3, 4]
    assert passes(steps, 4) == [3, 4, 5]

    assert shown(steps) == ["s3", "s5"]


def test_nor_where_a_redactor_leaves_nothing_of_the_next_one() -> None:
    steps = found(Hooks(redactor=lambda text: "" if text.endswith("3") else text), top_k=2)
    passes(steps)
    assert passes(steps, 1) == [1, 2]
    assert passes(steps, 2) == [2]

    assert shown(steps) == []


def test_nor_where_it_runs_for_what_moves_up_behind_a_step() -> None:
    step = Step()
    steps = found(Hooks(redactor=same, post_processors=(step,)), sources=4, top_k=2)
    passes(steps)
    passes(steps)
    assert passes(steps, 1) == [1, 2]
    assert passes(steps, 2) == [2, 3]
    assert passes(steps) == [3, 4]
    passes(steps)

    assert shown(steps) == ["s3", "s4"] and step.seen == [["s1", "s2"], ["s3", "s4"]]


def test_what_is_taken_away_while_a_post_processor_runs_is_not_shown_and_the_rest_is_arranged_anew() -> None:
    events: list[AccessDenied] = []
    step = Step()
    steps = found(Hooks(post_processors=(step, LostInTheMiddle())), sources=6, top_k=5, listener=events.append)
    with steps.audit:
        steps.feed([])
        assert passes(steps) == [1, 2, 3, 4, 5, 6]
        assert passes(steps, 2, 3) == [1, 2, 3, 4, 5]
        assert passes(steps) == [6], "which nobody has looked at since the step began"
        assert passes(steps) == [1, 4, 5, 6]
        assert shown(steps) == ["s1", "s4", "s5", "s6"]

    assert step.seen == [["s1", "s2", "s3", "s4", "s5"], ["s1", "s4", "s5", "s6"]]
    assert [block.partition("] ")[2] for block in steps.result.text.split("\n\n")] == [
        f"s{n} of 4" for n in (1, 5, 6, 4)
    ]
    assert [(event.source_id, event.hits) for event in events] == [("s2", 1), ("s3", 1)]
    assert [one.source_id for one in steps.result.citations] == ["s1", "s4", "s5", "s6"]


def test_a_step_is_not_asked_again_for_what_it_was_never_shown() -> None:
    events: list[AccessDenied] = []
    step = Step()
    steps = found(
        Hooks(reranker=Bounded(Reranker()), post_processors=(step,)), sources=4, top_k=2, listener=events.append
    )
    with steps.audit:
        steps.feed([])
        passes(steps)
        assert passes(steps) == [4, 3, 2, 1]
        assert passes(steps, 1) == [4, 3, 2, 1]
        assert shown(steps) == ["s4", "s3"]

    assert step.seen == [["s4", "s3"]]
    assert [(event.source_id, event.reason) for event in events] == [("s1", "no_grant")]


def test_what_was_taken_away_while_it_waited_does_not_move_up() -> None:
    steps = found(Hooks(reranker=Bounded(Reranker()), post_processors=(Step(),)), sources=4, top_k=2)
    passes(steps)
    passes(steps)
    passes(steps, 2, 3)
    assert passes(steps) == [4, 1]

    assert shown(steps) == ["s4", "s1"]


def test_what_a_window_took_of_a_document_goes_with_it() -> None:
    steps = found(Hooks(post_processors=(Window(), Step())), sources=2)
    passes(steps)
    around = (1, 1, 0, "secret before passage 1 secret behind", False, None, [[1, 14, 23, None]])
    steps.feed([around])
    passes(steps, 1)
    steps.feed([])  # what stands around those that are left
    passes(steps)

    assert shown(steps) == ["s2"] and "secret" not in str(steps.result)


def test_after_a_reranker_the_next_of_its_order_move_up() -> None:
    steps = found(Hooks(reranker=Bounded(Reranker()), post_processors=(Step(),)), sources=4, top_k=2)
    passes(steps)
    assert passes(steps) == [4, 3, 2, 1]
    assert passes(steps, 4, 2) == [4, 3, 2, 1]
    assert passes(steps) == [3, 1]

    assert shown(steps) == ["s3", "s1"]


@pytest.mark.parametrize(
    "hooks",
    [Hooks(redactor=same), Hooks(post_processors=(Step(),)), Hooks(reranker=Bounded(Reranker()))],
    ids=["redactor", "step", "reranker"],
)
@pytest.mark.parametrize("earlier", [0, 1])
def test_a_look_that_fails_shows_nothing_says_so_and_is_the_last(hooks: Hooks, earlier: int) -> None:
    events: list[AccessDenied] = []
    steps = found(hooks, top_k=2, listener=events.append)
    with steps.audit:
        steps.feed([])
        for _ in range(earlier):
            passes(steps)
        steps.fail(psycopg.errors.RaiseException("passage 1 is secret"))
        assert shown(steps) == []

    assert (steps.result.text, steps.result.citations) == ("", ())
    assert (steps.result.check_error or "").startswith("Postgres did not say what may still be shown (RaiseException")
    assert "secret" not in str(steps.result) and {event.reason for event in events} == {"check_failed"}


def test_nothing_is_shown_either_where_a_look_fails_at_those_that_would_move_up() -> None:
    steps = found(Hooks(redactor=same), top_k=2)
    passes(steps)
    passes(steps, 1)
    steps.fail(psycopg.errors.RaiseException("gone"))

    assert shown(steps) == [] and steps.result.check_error is not None


@pytest.mark.parametrize("hooks", [Hooks(redactor=same), Hooks(post_processors=(Step(),))], ids=["redactor", "step"])
def test_a_label_that_was_raised_meanwhile_is_that_of_the_answer(hooks: Hooks) -> None:
    steps = found(hooks, sources=1)
    passes(steps)
    passes(steps, level=CONFIDENTIAL)

    assert shown(steps) == ["s1"]
    assert [hit.sensitivity for hit in steps.result.hits] == ["confidential"]


def test_a_label_that_was_raised_while_a_redactor_ran_keeps_a_passage_in_the_process() -> None:
    reranker = Reranker(is_hosted=True)
    steps = found(Hooks(redactor=same, reranker=Bounded(reranker)), hosted_labels=(PUBLIC, INTERNAL))
    passes(steps)
    passes(steps, level=CONFIDENTIAL)

    assert reranker.seen == []
