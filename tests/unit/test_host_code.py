"""A host's code that is async is refused in a sentence, where it would be forgotten without one."""

import asyncio
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headwater import AccessDenied, AsyncRetriever, Hit, Retriever, ValidationError, context_provider
from headwater.answering.hooks import Hooks
from headwater.answering.recheck import Audit
from headwater.answering.redaction import redacted_text
from headwater.prompts import arrange
from headwater.rerankers.listwise import ListwiseReranker
from headwater.rewriting import variants
from tests.unit.found_hits import hits_of
from tests.unit.recipe_steps import ALICE, SCOPE, SmallEmbedder

USUAL: dict[str, Any] = {
    "reranker": None,
    "redactor": None,
    "rewriter": None,
    "on_rerank_error": "raise",
    "post_processors": (),
}


async def later(*arguments: Any) -> Any:
    return arguments[0]


async def streamed(*arguments: Any) -> Any:
    yield arguments[0]


class Object:
    async def __call__(self, *arguments: Any) -> Any:
        return arguments[0]


class Step:
    async def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits


class Embedder(SmallEmbedder):
    async def embed(self, texts: Sequence[str]) -> list[list[float]]:  # type: ignore[override]  # that is the point
        return []


EMBEDDER: Any = Embedder()


@pytest.mark.parametrize("function", [later, streamed, Object(), functools.partial(later, 1)])
@pytest.mark.parametrize("name", ["redactor", "rewriter", "on_access_denied"])
def test_a_function_that_is_async_is_refused_where_it_is_given(name: str, function: Callable[..., Any]) -> None:
    with pytest.raises(ValidationError, match=f"^{name} is async"):
        Hooks.checked(**{**USUAL, name: function})


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (lambda: Hooks.checked(**{**USUAL, "post_processors": (Step(),)}), "Post-processor Step"),
        (lambda: ListwiseReranker(later), "judge"),  # type: ignore[arg-type]
        (lambda: Retriever("host=nowhere", embedder=EMBEDDER), "embedder.embed"),
        (lambda: AsyncRetriever.connect("host=nowhere", embedder=EMBEDDER), "embedder.embed"),
        (lambda: context_provider(Asked(), query=later, scope=SCOPE, authorization=ALICE), "query"),  # type: ignore[call-overload]
    ],
)
def test_so_is_all_else_that_a_host_gives(given: Callable[[], object], name: str) -> None:
    with pytest.raises(ValidationError, match=f"^{name} is async"):
        given()


class Plain:
    def process(self, query: str, hits: Sequence[Hit]) -> Any:
        return later(hits)


@pytest.mark.parametrize(
    ("called", "name"),
    [
        (lambda: redacted_text("text", lambda text: later(text)), "redactor"),  # type: ignore[arg-type,return-value]
        (lambda: variants(lambda query: later(query), "text"), "rewriter"),  # type: ignore[arg-type,return-value]
        (lambda: arrange((Plain(),), "text", hits_of("a")), "Post-processor Plain"),
        (lambda: tell(Audit(lambda denial: later(denial))), "on_access_denied"),
    ],
)
def test_one_whose_answer_is_to_be_awaited_is_refused_then(called: Callable[[], object], name: str) -> None:
    with pytest.raises(ValidationError, match=f"^{name} is async"):
        called()


def test_a_listener_that_is_none_is_named() -> None:
    with pytest.raises(ValidationError, match="on_access_denied must be a function of an AccessDenied, not str"):
        Hooks.checked(**{**USUAL, "on_access_denied": "log"})


def tell(audit: Audit) -> None:
    with audit:
        audit.kept_back(SCOPE, [("one",)])


async def test_a_listener_holds_up_no_event_loop() -> None:
    on_thread: list[int] = []
    release = threading.Event()

    def listen(denial: AccessDenied) -> None:
        on_thread.append(threading.get_ident())
        assert release.wait(10)

    async def ask() -> None:
        async with Audit(listen) as audit:
            audit.kept_back(SCOPE, [("one",), ("two",)])

    asking = asyncio.create_task(ask())
    await asyncio.sleep(0)
    release.set()  # which this loop could not do if the listener held it up
    await asking
    assert len(on_thread) == 2 and threading.get_ident() not in on_thread


class Asked:
    """A retriever for asyncio that is asked nothing."""

    async def retrieve(self, query: str, **arguments: Any) -> Any:
        raise ValidationError(f"asked for {query}")


async def test_a_query_of_a_hosts_own_holds_up_no_event_loop() -> None:
    on_thread: list[int] = []

    def query(messages: Any) -> str:
        on_thread.append(threading.get_ident())
        return "visa"

    provide: Any = context_provider(Asked(), query=query, scope=SCOPE, authorization=ALICE)  # type: ignore[call-overload]
    with pytest.raises(ValidationError, match="asked for visa"):
        await provide([])
    assert on_thread and threading.get_ident() not in on_thread
