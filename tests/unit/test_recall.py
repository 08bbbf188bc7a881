"""How found passages are held against the nearest ones, and which questions a file holds."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from activities.store.recall import Named, evenly
from headwater import AsyncRetriever, StoreError, ValidationError
from headwater.answering.assembly import assemble
from headwater.models import Hit, RetrievalResult
from headwater.prompts import arrange
from headwater.recall import Recall, Remembering, measure_recall, percentile, share_found
from headwater.store.question import Question
from tests.unit.passages import Found
from tests.unit.recipe_steps import ALICE, SCOPE
from tests.unit.test_assembly import make_passage
from workers.cli.checks import Check
from workers.cli.errors import WrongUsage
from workers.cli.recall import Measured, read_questions


def result(*scores: float) -> RetrievalResult:
    hits = tuple(Hit.model_construct(chunk_id=str(score), score=score) for score in scores)
    return RetrievalResult.model_construct(hits=hits)


@pytest.mark.parametrize(
    ("found", "nearest", "share"),
    [
        ((0.9, 0.8), (0.9, 0.8), 1.0),
        ((0.9, 0.7), (0.9, 0.8), 0.5),
        ((0.9,), (0.9, 0.8), 0.5),
        ((), (0.9, 0.8), 0.0),
        ((0.8, 0.8), (0.8, 0.8), 1.0),
        ((0.9, 0.8 - 1e-9), (0.9, 0.8), 1.0),  # another passage that is as near
    ],
)
def test_what_is_as_near_as_the_last_of_the_nearest_counts(
    found: Sequence[float], nearest: Sequence[float], share: float
) -> None:
    assert share_found(result(*found), result(*nearest)) == share


class Counting:
    identity, dimensions, max_tokens = "counting", 2, 9

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        return np.full((len(texts), 2), len(self.embedded), dtype=np.float32)


def test_a_question_that_is_asked_twice_is_embedded_once() -> None:
    counting = Counting()
    embedder = Remembering(counting)

    first, again, other = embedder.embed(["a"]), embedder.embed(["a"]), embedder.embed(["b"])

    assert counting.embedded == ["a", "b"]
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert (embedder.identity, embedder.dimensions, embedder.max_tokens) == ("counting", 2, 9)


def test_percentiles_are_of_the_values() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([1.0], 0.95) == 1.0


def measured(shares: tuple[float, ...], short: int = 0) -> Check:
    return Measured("alice", Recall(shares, short, (0.001,) * len(shares), (0.1,) * len(shares))).as_check()


@pytest.mark.parametrize(
    ("shares", "short", "status", "advice"),
    [
        ((1.0,) * 99 + (0.9,), 0, "ok", ""),
        ((1.0, 0.9), 0, "warning", "--exact"),
        ((0.8, 0.9), 0, "fault", "--exact"),
        ((1.0, 1.0), 1, "fault", "report this"),
    ],
)
def test_a_low_recall_is_a_fault_with_what_to_do_about_it(
    shares: tuple[float, ...], short: int, status: str, advice: str
) -> None:
    check = measured(shares, short)
    assert check.status == status
    assert advice in check.advice and bool(advice) == bool(check.advice)
    assert f"{sum(shares) / len(shares):.3f} of the nearest 10 found" in check.found


@pytest.mark.parametrize(
    ("content", "questions"),
    [
        ("How?\n\n  Why so?  \r\n", ["How?", "Why so?"]),
        ('{"id": "1", "text": "How?"}\nWhy?', ["How?", "Why?"]),
        ("\ufeffHow?", ["How?"]),
    ],
)
def test_a_file_has_a_question_in_each_line(tmp_path: Path, content: str, questions: list[str]) -> None:
    file = tmp_path / "questions.txt"
    file.write_text(content, "utf-8")
    assert read_questions(file) == questions


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"How?\n{oops\n", "line 2"),
        (b'{"question": "How?"}', 'line 1: an object needs a "text"'),
        (b'{"text": 3}', "line 1"),
        (b"\n \n", "has no questions"),
        (b"\xff\xfe\n", "is not UTF-8"),
        (b"x\n" * 10_001, "10,001 questions"),
    ],
)
def test_a_file_that_holds_anything_else_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "questions.txt"
    file.write_bytes(content)
    with pytest.raises(WrongUsage, match=said) as refused:
        read_questions(file)
    assert str(file) in str(refused.value) and "oops" not in str(refused.value)


def test_readers_are_taken_evenly_from_the_widest_to_the_narrowest() -> None:
    named = [Named("principal", str(number), 100 - number) for number in range(100)]
    assert [each.name for each in evenly(named, 5)] == ["0", "24", "49", "74", "99"]
    assert evenly(named[:3], 5) == named[:3]


class Passages:
    """A retriever that finds these passages, and gives as many of them as fit, as a real one does."""

    def __init__(self, *texts: str) -> None:
        self._passages = [
            make_passage(text, rank=n, chunk_id=f"{'s' * 200}{n}#0001") for n, text in enumerate(texts, start=1)
        ]

    def retrieve(self, query: str, *, exact: bool, post_processors: Any = (), **asked: Any) -> RetrievalResult:
        question = Question.checked(query, exact=exact, **asked)
        # The graph gives another order of what is equally near: other passages would be the first that fit.
        best = self._passages if exact else self._passages[::-1]
        arranged = arrange(post_processors, query, [one.hit for one in best])
        shown = [replace(one, hit=hit) for one, hit in zip(best, arranged.hits, strict=True)]
        return assemble(question, shown, layout=arranged.layout, generation=1)


@pytest.mark.parametrize(
    "texts", [["x" * 3_000] * 7 + ["x" * 12_000] * 3, ["😀" * 16_384] * 10, ["\n" + "x" * 9_000] * 10, ["x"] * 10]
)
def test_long_passages_are_all_compared(texts: list[str]) -> None:
    recall = measure_recall(Passages(*texts), ["q"], scope=SCOPE, authorization=ALICE)  # type: ignore[arg-type]  # a stand-in

    assert (recall.short, recall.shares) == (0, (1.0,))


def test_a_search_that_failed_is_not_one_that_missed_all_there_is() -> None:
    found = Found([], {"check_error": "Ask again."})

    with pytest.raises(StoreError, match=r"^Ask again\.$"):
        measure_recall(found, ["q"], scope=SCOPE, authorization=ALICE)  # type: ignore[arg-type]  # a stand-in


def test_of_no_answers_there_is_no_recall_to_tell() -> None:
    recall = measure_recall(Passages(), ["q"], scope=SCOPE, authorization=ALICE)  # type: ignore[arg-type]  # a stand-in

    assert recall.questions == 0
    for figure in ("average", "worst"):
        with pytest.raises(ValidationError, match="No question had an answer"):
            getattr(recall, figure)


def test_a_retriever_that_must_be_awaited_is_refused() -> None:
    retriever: Any = AsyncRetriever("", embedder="hash:8")
    with pytest.raises(ValidationError, match="must not be an AsyncRetriever"):
        measure_recall(retriever, ["leave"], scope=SCOPE, authorization=ALICE)
