"""Questions that end in the middle: their traces say where and why, and nobody waits for ever."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest

from headwater import AccessDenied, AsyncRetriever, HeadwaterError, Retriever, StoreError, ValidationError
from headwater.answering.recheck import Audit
from headwater.store.effects import Batch, Rows
from headwater.telemetry import Telemetry
from tests.unit.recipe_steps import ALICE, SCOPE, SmallEmbedder, make_row
from tests.unit.test_spans import Seen

LOST = psycopg.errors.AdminShutdown("secret")
ASKED: dict[str, Any] = {"scope": SCOPE, "authorization": ALICE}


class Away(Retriever):
    """Its server answers a number of times, and is shut down then."""

    answers = 0

    def _fetch(self, batch: Batch) -> list[Rows]:
        if not self.answers:
            raise LOST
        self.answers -= 1
        return [[make_row()] for _ in batch.statements]


class AsyncAway(AsyncRetriever):
    answers = 0

    async def _fetch(self, batch: Batch) -> list[Rows]:
        return Away._fetch(self, batch)  # type: ignore[arg-type]  # all that it needs of it is there


class Waiting(AsyncRetriever):
    """Its server answers nothing."""

    def _make_pool(self) -> None:
        super()._make_pool()
        self.is_asked = asyncio.Event()

    async def _fetch(self, batch: Batch) -> list[Rows]:
        self.is_asked.set()
        await asyncio.Event().wait()
        return []


class Raising(SmallEmbedder):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise self._error


def ask(kind: type[Retriever | AsyncRetriever], seen: Seen, *, answers: int = 0) -> None:
    retriever: Any = kind("host=nowhere", embedder=SmallEmbedder(), telemetry=Telemetry(seen.provider))
    retriever.answers = answers
    answer = retriever.retrieve("text", **ASKED)
    if asyncio.iscoroutine(answer):
        asyncio.run(answer)


def errors_of(seen: Seen) -> dict[str, Any]:
    said = {name: (span.attributes or {}).get("rag.error") for name, span in seen.spans.items()}
    return {name: kind for name, kind in said.items() if kind is not None}


@pytest.mark.parametrize("kind", [Away, AsyncAway])
def test_a_connection_that_is_lost_is_told_of_the_step_that_wanted_it(kind: type[Retriever | AsyncRetriever]) -> None:
    seen = Seen()
    with pytest.raises(StoreError, match=r"^Postgres gave no answer \(AdminShutdown, 57P01\)") as caught:
        ask(kind, seen)

    assert errors_of(seen) == {"retrieval.vector_search": StoreError.code, "rag_request": StoreError.code}
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize("kind", [Away, AsyncAway])
def test_one_that_is_lost_at_the_last_look_is_no_empty_answer(kind: type[Retriever | AsyncRetriever]) -> None:
    with pytest.raises(StoreError, match=r"^Postgres gave no answer"):
        ask(kind, Seen(), answers=1)


async def test_a_question_that_nobody_waits_for_any_more_is_told_as_that() -> None:
    seen = Seen()
    retriever = Waiting("host=nowhere", embedder=SmallEmbedder(), telemetry=Telemetry(seen.provider))
    asking = asyncio.create_task(retriever.retrieve("text", **ASKED))
    await retriever.is_asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert errors_of(seen) == {"retrieval.vector_search": "CancelledError", "rag_request": "CancelledError"}


async def test_a_stop_iteration_of_an_embedder_ends_the_question_under_asyncio_too() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        Away("host=nowhere", embedder=Raising(StopIteration())).retrieve("text", **ASKED)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(
            AsyncAway("host=nowhere", embedder=Raising(StopIteration())).retrieve("text", **ASKED), 10
        )


async def test_so_does_one_of_a_listener() -> None:
    def listen(denial: AccessDenied) -> None:
        raise StopIteration

    async def tell() -> None:
        async with Audit(listen) as audit:
            audit.kept_back(SCOPE, [("one",)])

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(tell(), 10)


def cancelled(text: str) -> str:
    raise asyncio.CancelledError("a secret passage")


HOSTS: dict[str, Callable[[], dict[str, Any]]] = {
    "redactor": lambda: {"redactor": cancelled},
    "rewriter": lambda: {"rewriter": cancelled},
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_task_of_a_hosts_own_that_was_cancelled_is_not_the_end_of_ours(name: str) -> None:
    with pytest.raises(HeadwaterError, match=rf"^{name} failed with CancelledError at test_broken_off\.py:\d+\.$"):
        Away("host=nowhere", embedder=SmallEmbedder()).retrieve("text", **ASKED, **HOSTS[name]())


def test_nor_is_one_of_an_embedder() -> None:
    with pytest.raises(ValidationError, match=r"^embedder failed with CancelledError at test_broken_off\.py:\d+\.$"):
        Away("host=nowhere", embedder=Raising(asyncio.CancelledError())).retrieve("text", **ASKED)
