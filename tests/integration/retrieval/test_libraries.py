"""What changes while another library is asked, or while code of a host's arranges the whole, counts in the answer of several libraries."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, Protocol

import psycopg
import pytest

from headwater import AccessDenied, AsyncRetriever, Hit, RerankError, Retriever
from headwater.embedders.hashing import HashEmbedder
from headwater.libraries import AsyncLibraries, Libraries, LibrariesResult
from tests.integration.retrieval.conftest import ALICE
from tests.integration.retrieval.corpus_rows import CorpusRows, Source

DEADLINE_S = 30


class AskBoth(Protocol):
    """Asks both libraries for "text", as alice. What is withheld is added to ``events``."""

    events: list[AccessDenied]

    def __call__(self, **arguments: Any) -> LibrariesResult: ...


@pytest.fixture
def other(corpus: CorpusRows, embedder: HashEmbedder) -> CorpusRows:
    scope = corpus.scope.model_copy(update={"corpus_id": f"{corpus.scope.corpus_id}-other"})
    return CorpusRows(corpus.connection, scope, embedder)


@pytest.fixture(params=["sync", "async"])
def ask(
    request: pytest.FixtureRequest, reading: str, corpus: CorpusRows, other: CorpusRows, embedder: HashEmbedder
) -> AskBoth:
    two = {"first": corpus.scope, "second": other.scope}

    class Ask:
        def __init__(self) -> None:
            self.events: list[AccessDenied] = []

        def __call__(self, **arguments: Any) -> LibrariesResult:
            arguments = {"authorization": ALICE, "on_access_denied": self.events.append, **arguments}
            if request.param == "async":
                return asyncio.run(self._awaited(arguments))
            with Retriever.connect(reading, embedder=embedder) as retriever:
                return Libraries(retriever, two).retrieve("text", **arguments)

        async def _awaited(self, arguments: dict[str, Any]) -> LibrariesResult:
            async with AsyncRetriever.connect(reading, embedder=embedder) as retriever:
                return await AsyncLibraries(retriever, two).retrieve("text", **arguments)

    return Ask()


class Slow:
    """A reranker and a post-processor of a host's, in whose time something happens when it is called as often as said."""

    is_hosted = False

    def __init__(self, change: Callable[[], object], *, call: int = 1) -> None:
        self._change, self._calls_left = change, call
        self.seen: list[list[str]] = []

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.seen.append([hit.source_id for hit in hits])
        self._calls_left -= 1
        if self._calls_left == 0:
            self._change()
        return hits

    process = rerank


Taking = Callable[[CorpusRows, Source], None]
WAYS: dict[str, Taking] = {
    "revoked": lambda corpus, source: corpus.grant(source),
    "deleted": lambda corpus, source: corpus.delete(source, gen=2),
    "forgotten": lambda corpus, source: corpus.tombstone(source.source_id, "forgotten"),
    "restricted": lambda corpus, source: corpus.label(source, "restricted"),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_taken_away_while_another_library_is_slow_is_not_shown_and_made_up_for(
    ask: AskBoth, corpus: CorpusRows, other: CorpusRows, way: str
) -> None:
    """With a reranker one library is asked after the other, so the first has had its own last look when the second is slow."""
    taken = corpus.add("taken", "text one", "text two")
    corpus.add("kept", "something else with little of a text")
    other.add("there", "text three", "text four")
    slow = Slow(lambda: WAYS[way](corpus, taken), call=2)

    result = ask(top_k=3, reranker=slow)

    assert slow.seen == [["taken", "taken", "kept"], ["there", "there"]]
    assert [hit.source_id for hit in result.hits] == ["there", "there", "kept"]
    assert "taken" not in result.model_dump_json() and result.check_error is None
    told = [("taken", corpus.scope, "no_grant", 2)] if way == "revoked" else []
    assert [(event.source_id, event.scope, event.reason, event.hits) for event in ask.events] == told


@pytest.mark.parametrize("way", WAYS)
def test_what_is_taken_away_while_a_host_arranges_the_whole_is_not_shown_and_made_up_for(
    ask: AskBoth, corpus: CorpusRows, other: CorpusRows, way: str
) -> None:
    corpus.add("here", "text one", "text two")
    taken = other.add("taken", "text three", "text four")
    slow = Slow(lambda: WAYS[way](other, taken))

    result = ask(top_k=2, post_processors=(slow,))

    assert slow.seen == [["here", "taken"], ["here", "here"]]
    assert [hit.source_id for hit in result.hits] == ["here", "here"] and "taken" not in result.model_dump_json()
    assert [(event.source_id, event.reason) for event in ask.events] == (
        [("taken", "no_grant")] if way == "revoked" else []
    )


def test_a_hosts_step_over_the_whole_is_not_shown_what_was_taken_away_before_it(
    ask: AskBoth, corpus: CorpusRows, other: CorpusRows
) -> None:
    taken = corpus.add("taken", "text one")
    other.add("there", "text two")
    step = Slow(lambda: None)

    ask(reranker=Slow(lambda: corpus.grant(taken), call=2), post_processors=(step,))

    assert step.seen == [["there"]]


def test_one_corpus_in_both_libraries_is_told_of_once(corpus: CorpusRows, reading: str, embedder: HashEmbedder) -> None:
    events: list[AccessDenied] = []
    corpus.add("secret", "text", readers=["user:bob"])
    corpus.add("mine", "text")
    with Retriever.connect(reading, embedder=embedder) as retriever:
        twice = Libraries(retriever, {"one": corpus.scope, "two": corpus.scope})
        result = twice.retrieve("text", authorization=ALICE, on_access_denied=events.append)

    assert [hit.source_id for hit in result.hits] == ["mine", "mine"]
    assert [(event.source_id, event.hits) for event in events] == [("secret", 0)]


def test_a_look_at_the_whole_that_fails_shows_nothing_and_says_so(
    ask: AskBoth, corpus: CorpusRows, other: CorpusRows, reading: str
) -> None:
    corpus.add("here", "text one", "text two")
    other.add("there", "text three")
    with psycopg.connect(reading) as lock, ThreadPoolExecutor(1) as thread:
        answer = thread.submit(ask, post_processors=(Slow(lambda: lock.execute("LOCK TABLE headwater.span")),))
        deadline = monotonic() + DEADLINE_S
        while corpus.connection.execute(CANCEL_BLOCKED).fetchone() is None:
            assert monotonic() < deadline and not answer.done()
        result = answer.result(DEADLINE_S)

    assert (result.hits, result.text, result.citations) == ((), "", ())
    assert (result.check_error or "").startswith("Postgres did not say what may still be shown (QueryCanceled, 57014)")
    assert [(event.source_id, event.reason, event.hits) for event in ask.events] == [
        ("here", "check_failed", 2),
        ("there", "check_failed", 1),
    ]


CANCEL_BLOCKED = """
    SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"""


def test_what_was_withheld_is_told_once_also_where_a_library_fails(
    ask: AskBoth, corpus: CorpusRows, other: CorpusRows
) -> None:
    corpus.add("secret", "text", readers=["user:bob"])
    corpus.add("mine", "text")
    other.add("there", "text")

    def fail() -> None:
        raise RuntimeError("text")

    with pytest.raises(RerankError):
        ask(reranker=Slow(fail, call=2))
    assert [event.source_id for event in ask.events] == ["secret"]
