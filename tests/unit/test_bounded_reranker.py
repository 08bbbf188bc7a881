"""What holds a reranker within its bounds, whatever it does."""

import re
import threading
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from itertools import repeat
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import (
    HeadwaterError,
    LimitError,
    PermanentError,
    RerankError,
    RerankLimitError,
    TransientError,
    ValidationError,
)
from headwater.limits import TOP_K
from headwater.models import Hit
from headwater.rerankers.bounded import Bounded
from headwater.rerankers.profiles import KeptOrder, failure_of
from headwater.testing import FakeReranker
from tests.unit.ranked_hits import ranked_hits, ranks

HITS = ranked_hits("one", "two", "three")


class Answering:
    """Gives what ``answer`` gives."""

    is_hosted = False

    def __init__(self, answer: Callable[[str, Sequence[Hit]], Any]) -> None:
        self.answer = answer
        self.calls = 0

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.calls += 1
        answer: Sequence[Hit] = self.answer(query, hits)
        return answer


class Held:
    """Does not end before it is let go; ``begun`` says how many have begun."""

    is_hosted = False

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Event()

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.begun.release()
        assert self.let_go.wait(60)
        return hits


@pytest.fixture
def held() -> Iterator[Held]:
    reranker = Held()
    yield reranker
    reranker.let_go.set()


def asked(reranker: Any, hits: Sequence[Hit] = HITS, query: str = "query", **bounds: Any) -> tuple[Hit, ...]:
    return Bounded(reranker, **{"timeout_s": 10, **bounds}).rerank(query, hits)


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(5)), st.sampled_from([list, tuple, iter]))
def test_it_gives_the_same_objects_in_the_order_of_the_reranker(order: list[int], form: Callable[[Any], Any]) -> None:
    hits = ranked_hits(*"abcde")
    found = asked(Answering(lambda _, given: form([given[place] for place in order])), hits)
    assert [id(hit) for hit in found] == [id(hits[place]) for place in order]


def test_a_copy_counts_as_the_passage_and_what_it_says_does_not() -> None:
    found = asked(Answering(lambda _, given: [hit.model_copy(update={"text": "other"}) for hit in reversed(given)]))
    assert [id(hit) for hit in found] == [id(hit) for hit in reversed(HITS)]


def test_no_passages_are_given_back_without_a_call() -> None:
    reranker = Answering(lambda _, hits: hits)
    assert asked(reranker, []) == () and reranker.calls == 0
    assert asked(reranker, HITS[:1]) == (HITS[0],) and reranker.calls == 1


def test_the_same_chunk_of_two_corpora_is_two_passages() -> None:
    hits = [*ranked_hits("a", "b"), *ranked_hits("a", "b", corpus="other")]
    assert asked(Answering(lambda _, given: list(reversed(given))), hits) == tuple(reversed(hits))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda _, hits: hits[:2], "2 passages of 3"),
        (lambda _, hits: [], "0 passages of 3"),
        (lambda _, hits: [hits[0], hits[1], hits[1]], "a passage twice"),
        (lambda _, hits: [*hits, hits[0]], "a passage twice"),
        (lambda _, hits: repeat(hits[0]), "a passage twice"),
        (lambda _, hits: [*hits[:2], *ranked_hits("else", corpus="other")], "not given"),
        (lambda _, hits: [*hits, *ranked_hits("else", corpus="other")], "not given"),
        (lambda _, hits: [*hits[:2], "source-3#0001"], "not given"),
        (lambda _, hits: "source-3#0001", "not given"),
        (lambda _, hits: [2, 1, 0], "not given"),
        (lambda _, hits: None, "gave a NoneType"),
        (lambda _, hits: 1, "gave a int"),
        (lambda _, hits: [Hit.model_construct(chunk_id="source-1#0001")], "failed with AttributeError"),
    ],
)
def test_anything_but_each_passage_once_is_an_error(answer: Callable[[str, Sequence[Hit]], Any], sentence: str) -> None:
    with pytest.raises(RerankError, match=sentence):
        asked(Answering(answer))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*HITS, *ranked_hits("one", corpus="other"), None, "source-1#0001"]), max_size=5))
def test_whatever_a_reranker_gives_each_passage_comes_once_or_an_error(answer: list[Any]) -> None:
    is_whole = len(answer) == len(HITS) and {id(each) for each in answer} == {id(hit) for hit in HITS}
    try:
        assert list(asked(Answering(lambda *_: answer))) == answer and is_whole
    except RerankError:
        assert not is_whole


def test_an_async_reranker_is_refused_where_it_is_given() -> None:
    class Async:
        is_hosted = False

        async def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
            return hits

    with pytest.raises(ValidationError, match=r"Async.rerank is async"):
        Bounded(Async())  # type: ignore[arg-type]  # which mypy would have said


def test_a_reranker_that_gives_a_promise_is_told_to_give_the_passages_themselves() -> None:
    async def later() -> None: ...

    with pytest.raises(RerankError, match="is async"):
        asked(Answering(lambda *_: later()))


def test_what_a_foreign_error_says_stays_out() -> None:
    def fail(query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        raise OSError(f"key-123 {query} {hits[0].text}")

    with pytest.raises(RerankError) as raised:
        asked(Answering(fail), ranked_hits("passage-text"), "query-text")
    assert str(raised.value).startswith("Answering failed with OSError at test_bounded_reranker.py:")
    assert raised.value.__cause__ is None and raised.value.__suppress_context__
    for secret in ("key-123", "query-text", "passage-text"):
        assert secret not in repr(raised.value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RerankError, RerankError),
        (RerankLimitError, RerankLimitError),
        (LimitError, RerankLimitError),
        (TransientError, RerankLimitError),
        (PermanentError, RerankError),
    ],
)
def test_what_it_says_in_errors_of_our_kinds_stays_out_too_and_the_kind_counts(
    error: type[HeadwaterError], kind: type[HeadwaterError]
) -> None:
    def fail(query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        raise error("sk-SECRET\n" * 100_000)

    with pytest.raises(kind) as raised:
        asked(Answering(fail))
    assert type(raised.value) is kind
    assert re.fullmatch(
        rf"Answering failed with {error.__name__} at test_bounded_reranker\.py:\d+\.", str(raised.value)
    )


def test_a_task_of_its_own_that_was_cancelled_is_its_failure_and_no_abort() -> None:
    def fail(query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        raise CancelledError("sk-SECRET")

    with pytest.raises(RerankError, match=r"^Answering failed with CancelledError at test_bounded_reranker\.py:\d+\.$"):
        asked(Answering(fail))


def test_nor_does_a_name_that_a_host_gave_make_a_sentence_long_or_break_it() -> None:
    foreign = type("Sk\n" + "x" * 100_000, (Exception,), {})

    def fail(query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        raise foreign

    named = type("Mine\n" + "y" * 100_000, (Answering,), {})
    with pytest.raises(RerankError) as raised:
        asked(named(fail))
    assert len(str(raised.value)) < 300 and "\n" not in str(raised.value)


def test_a_failure_that_it_tells_beside_its_order_is_one_line_and_not_long() -> None:
    found = asked(Answering(lambda _, hits: KeptOrder.of(hits, "No\norder. " * 100_000)))
    assert (failure_of(found) or "").startswith("No order. No") and len(failure_of(found) or "") <= 256


def test_what_our_own_code_says_of_what_it_was_handed_is_not_said_and_what_a_reranker_of_ours_says_is() -> None:
    with pytest.raises(RerankLimitError, match=r"^Answering failed with LimitError at limits\.py:\d+\.$"):
        asked(Answering(lambda *_: TOP_K.check(99)))
    with pytest.raises(RerankError, match=r"^Answering gave a NoneType instead of passages\.$"):
        asked(Answering(Bounded(Answering(lambda *_: None)).rerank))


class Speechless:
    """Fails already when it is asked where it runs."""

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits

    @property
    def is_hosted(self) -> bool:
        raise RuntimeError("sk-SECRET")


class Shut:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("sk-SECRET")


SHUT: Any = Shut()


@pytest.mark.parametrize("ask", [lambda: Bounded(Speechless()).is_hosted, lambda: Bounded(SHUT)])
def test_one_that_fails_when_it_is_looked_at_is_not_quoted_either(ask: Callable[[], object]) -> None:
    with pytest.raises(RerankError, match=r"failed with RuntimeError at test_bounded_reranker\.py:\d+\.$") as raised:
        ask()
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("abort", [KeyboardInterrupt, SystemExit])
def test_an_abort_stays_an_abort(abort: type[BaseException]) -> None:
    def stop(query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        raise abort

    bounded = Bounded(Answering(stop), max_concurrent=1)
    for _ in range(2):  # the place is free again
        with pytest.raises(abort):
            bounded.rerank("query", HITS)


def test_input_is_measured_in_bytes_of_json_and_the_reranker_is_not_asked_above_the_cap() -> None:
    hits = ranked_hits("年假", "é")
    size = len('{"query": "q", "texts": ["年假", "é"]}'.encode())
    reranker = Answering(lambda _, given: given)
    assert asked(reranker, hits, "q", max_input_bytes=size)
    with pytest.raises(RerankLimitError, match=f"{size} bytes, and may read {size - 1}"):
        asked(reranker, hits, "q", max_input_bytes=size - 1)
    assert reranker.calls == 1


def test_by_default_64_kibibytes_are_read() -> None:
    assert asked(FakeReranker(), ranked_hits("x" * 65_000))
    with pytest.raises(RerankLimitError, match="may read 65,536"):
        asked(FakeReranker(), ranked_hits("x" * 65_536))


def test_too_much_input_is_refused_before_a_busy_reranker_is(held: Held) -> None:
    bounded = Bounded(held, max_concurrent=1, max_input_bytes=100, timeout_s=0.01)
    with pytest.raises(RerankLimitError, match="longer than"):
        bounded.rerank("query", HITS)
    with pytest.raises(RerankLimitError, match="bytes"):
        bounded.rerank("query" * 20, HITS)
    with pytest.raises(RerankLimitError, match="busy"):
        bounded.rerank("query", HITS)


def test_too_much_input_takes_no_place() -> None:
    bounded = Bounded(FakeReranker(), max_concurrent=1, max_input_bytes=100, timeout_s=10)
    for _ in range(2):
        with pytest.raises(RerankLimitError, match="bytes"):
            bounded.rerank("query" * 20, HITS)
    assert ranks(bounded.rerank("two", HITS)) == [2, 1, 3]


def test_a_call_that_hangs_is_given_up_and_keeps_its_place_until_it_ends(held: Held) -> None:
    bounded = Bounded(held, max_concurrent=2, timeout_s=0.01)
    for _ in range(2):
        with pytest.raises(RerankLimitError, match=r"Held took longer than 0\.01 s"):
            bounded.rerank("query", HITS)
        assert held.begun.acquire(timeout=60)
    for _ in range(3):
        with pytest.raises(RerankLimitError, match="busy with 2 calls"):
            bounded.rerank("query", HITS)
    assert not held.begun.acquire(blocking=False)
    held.let_go.set()
    while threading.active_count() > 1 and any(each.name == "headwater-rerank" for each in threading.enumerate()):
        threading.Event().wait(0.001)
    assert Bounded.rerank(bounded, "query", HITS) == tuple(HITS)


def test_as_many_run_at_once_as_may(held: Held) -> None:
    bounded = Bounded(held, max_concurrent=2, timeout_s=10)
    found: list[tuple[Hit, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(bounded.rerank("query", HITS))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert held.begun.acquire(timeout=60)
    with pytest.raises(RerankLimitError, match="busy"):
        bounded.rerank("query", HITS)
    held.let_go.set()
    for thread in threads:
        thread.join(60)
    assert found == [tuple(HITS)] * 2


def test_places_are_free_again_however_calls_end() -> None:
    def turn(query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        if query == "fail":
            raise OSError
        return hits[:1] if query == "short" else hits

    reranker = Answering(turn)
    bounded = Bounded(reranker, max_concurrent=8, timeout_s=10)

    def ask(number: int) -> None:
        with suppress(RerankError, RerankLimitError):
            bounded.rerank(("fail", "short", "good")[number % 3], HITS)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(ask, range(300)))
    together = threading.Barrier(8)

    def meet(query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        together.wait(60)
        return hits

    reranker.answer = meet
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: bounded.rerank("good", HITS), range(8))) == [tuple(HITS)] * 8


def test_who_was_answered_may_ask_again_at_once() -> None:
    bounded = Bounded(FakeReranker(), max_concurrent=1, timeout_s=10)
    for _ in range(200):
        assert ranks(bounded.rerank("two", HITS)) == [2, 1, 3]


def test_a_machine_without_threads_is_a_limit_and_takes_no_place() -> None:
    bounded = Bounded(FakeReranker(), max_concurrent=1, timeout_s=10)
    usual = threading.stack_size(1 << 46)  # no machine has as much
    try:
        for _ in range(2):
            with pytest.raises(RerankLimitError, match="no more threads"):
                bounded.rerank("two", HITS)
    finally:
        threading.stack_size(usual)
    assert ranks(bounded.rerank("two", HITS)) == [2, 1, 3]


def test_a_reranker_that_hangs_does_not_keep_the_interpreter(held: Held) -> None:
    with pytest.raises(RerankLimitError):
        asked(held, timeout_s=0.01)
    assert [each.daemon for each in threading.enumerate() if each.name == "headwater-rerank"] == [True]


def test_what_the_caller_set_is_seen_by_the_reranker() -> None:
    seen = ContextVar[str]("seen")
    seen.set("the caller's")
    values: list[str] = []

    def look(query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        values.append(seen.get())
        return hits

    asked(Answering(look))
    assert values == ["the caller's"]


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ({"max_input_bytes": 256 * 1024 + 1}, LimitError),
        ({"max_input_bytes": 0}, LimitError),
        ({"timeout_s": 10.1}, LimitError),
        ({"timeout_s": 0}, LimitError),
        ({"timeout_s": -1}, LimitError),
        ({"timeout_s": float("nan")}, ValidationError),
        ({"timeout_s": True}, ValidationError),
        ({"timeout_s": "2"}, ValidationError),
        ({"max_concurrent": 9}, LimitError),
        ({"max_concurrent": 0}, LimitError),
        ({"max_concurrent": 1.5}, ValidationError),
    ],
)
def test_bounds_have_caps(bounds: dict[str, Any], error: type[HeadwaterError]) -> None:
    with pytest.raises(error, match=next(iter(bounds))):
        Bounded(FakeReranker(), **bounds)


def test_the_caps_themselves_are_allowed() -> None:
    assert asked(FakeReranker(), max_input_bytes=256 * 1024, timeout_s=10, max_concurrent=8)


def test_what_cannot_rerank_is_refused() -> None:
    with pytest.raises(ValidationError, match="like headwater"):
        Bounded("tei:https://rerank.example")  # type: ignore[arg-type]


def test_a_bounded_one_says_what_the_one_within_says() -> None:
    outside, inside = Bounded(FakeReranker(is_hosted=True)), Bounded(FakeReranker())
    assert outside.is_hosted and not inside.is_hosted and inside.name == "FakeReranker"
