"""A source that somebody may not read is nowhere in what a search of theirs says; only the audit may name it."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from headwater import (
    AsyncRetriever,
    Authorization,
    Hit,
    Retriever,
    Scope,
    context_provider,
    evidence_from_citation,
    resolve_reranker,
)
from headwater.embedders.hashing import HashEmbedder
from headwater.rerankers.fake import FakeReranker
from tests.integration.retrieval.corpus_rows import CorpusRows
from tests.integration.retrieval.everything_said import ID, MARKERS, TEXT, TITLE, Said
from tests.integration.retrieval.hidden_source import ALICE, BOB, QUERY, REASONS, TELLING, hidden
from tests.rerank.server import RunningReranker, answering, running_reranker

SEARCHES: Mapping[str, dict[str, Any]] = {
    "vector": {},
    "exact": {"exact": True},
    "bm25": {"lexical": "bm25"},
    "fts": {"lexical": "fts", "fusion": "weighted"},
    "wide": {"lexical": "bm25", "top_k": 32, "candidates": 128},
    "filtered": {"lexical": "bm25", "filter": {"kind": "fruit"}},
    "past": {"lexical": "bm25", "generation": 1},
    "several": {"lexical": "bm25", "rewriter": lambda query: [query, "apples"]},
    "arranged": {"post_processors": "mmr,compress,window,lost_in_middle"},
}


@contextmanager
def opened(said: Said, dsn: str) -> Iterator[Retriever]:
    everything = ("public", "internal", "confidential", "restricted")
    with Retriever.connect(
        dsn, embedder=HashEmbedder(64), telemetry=said.telemetry, hosted_sensitivities=everything
    ) as retriever:
        yield retriever


def ask_everything(said: Said, dsn: str, scope: Scope, who: Authorization, wire: RunningReranker) -> None:
    """Every search, without and with rerankers, in this process and over the wire; and what is made of an answer."""
    hosted = resolve_reranker(f"tei:{wire.url}", allow_loopback=True, timeout_s=10)
    with opened(said, dsn) as retriever:
        for search in SEARCHES.values():
            for order in (None, hosted, FakeReranker()):
                asked: dict[str, Any] = {**search, "scope": scope, "authorization": who, "reranker": order}
                result = said.asking(partial(retriever.retrieve, QUERY, on_access_denied=said.audit.append, **asked))
                assert result is not None and result.hits
                for citation in result.citations:
                    said.note("evidence", evidence_from_citation(citation, content_hash="0" * 64))
        context = context_provider(retriever, scope=scope, authorization=who, lexical="bm25")
        said.note("context", context([{"role": "user", "content": QUERY}]))
    for asked_of_wire in wire.asked:
        said.note("wire", asked_of_wire.raw.decode())


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.__name__)
def test_what_alice_may_not_read_is_nowhere_in_her_answers(
    said: Said, filled: CorpusRows, reading: str, reranker: RunningReranker, reason: Callable[[CorpusRows], None]
) -> None:
    reason(filled)
    filled.count_terms()

    ask_everything(said, reading, filled.scope, ALICE, reranker)

    assert said.markers() == {}
    assert {"result", "json", "evidence", "context", "wire", "log", "span"} <= set(said.where), "all was looked at"
    told = json.dumps([denial.model_dump(mode="json") for denial in said.audit])
    assert (ID in told) == (reason in TELLING)
    assert not [marker for marker in MARKERS if marker != ID and marker in told]


def test_it_is_everywhere_in_the_answers_of_somebody_who_may_read_it(
    said: Said, filled: CorpusRows, reading: str, reranker: RunningReranker
) -> None:
    """Or the search for it would prove nothing."""
    hidden(filled)
    filled.count_terms()

    ask_everything(said, reading, filled.scope, BOB, reranker)

    found = said.markers()
    assert found["result"] == found["json"] == set(MARKERS)
    assert found["wire"] >= {TEXT}
    assert found["context"] >= {ID, TITLE, TEXT}
    assert found["span"] == {ID}, "of what is shown, telemetry tells the ids and nothing else"
    assert "log" not in found, "no log tells a text, nor whose it is"


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


class Broken(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> Any:
        raise RuntimeError("the model is gone")


class Careless:
    """A reranker that answers with something else than it was given."""

    is_hosted = False

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return list(hits)[1:]


@pytest.mark.parametrize(
    "arguments",
    [
        {"top_k": 33},
        {"generation": 99},
        {"filter": {"kind": {"like": "x"}}},
        {"lexical": "bm26"},
        {"reranker": Careless()},
        {"sensitivities": ["unheard-of"]},
        {"redactor": failing(ValueError("the redactor is gone"))},
        {"scopes": []},
    ],
    ids=lambda arguments: next(iter(arguments)),
)
def test_no_error_tells_what_alice_may_not_read(
    said: Said, filled: CorpusRows, reading: str, arguments: dict[str, Any]
) -> None:
    hidden(filled)
    filled.count_terms()
    with opened(said, reading) as retriever:
        asked: dict[str, Any] = {"scope": filled.scope, "authorization": ALICE, "lexical": "bm25", **arguments}
        try:
            said.asking(lambda: retriever.retrieve(QUERY, on_access_denied=said.audit.append, **asked))
        except ValueError as error:  # the host's own
            said.note("error", error)

    assert "error" in said.where and said.markers() == {}


@pytest.mark.parametrize("answer", [b"not JSON", {"error": "overloaded"}, [{"index": 99, "score": 1}]], ids=str)
def test_no_fault_of_a_reranker_tells_what_alice_may_not_read(
    said: Said, filled: CorpusRows, reading: str, answer: Any
) -> None:
    hidden(filled)
    with running_reranker(answering(answer)) as wire, opened(said, reading) as retriever:
        hosted = resolve_reranker(f"tei:{wire.url}", allow_loopback=True, timeout_s=10)
        said.asking(lambda: retriever.retrieve(QUERY, scope=filled.scope, authorization=ALICE, reranker=hosted))
        for asked in wire.asked:
            said.note("wire", asked.raw.decode())

    assert {"error", "wire"} <= set(said.where) and said.markers() == {}


def test_async_answers_tell_no_more(said: Said, filled: CorpusRows, reading: str) -> None:
    hidden(filled)
    filled.count_terms()

    async def ask() -> Any:
        connected = AsyncRetriever.connect(reading, embedder=HashEmbedder(64), telemetry=said.telemetry)
        async with connected as retriever:
            asked: dict[str, Any] = {"scope": filled.scope, "authorization": ALICE, "lexical": "bm25"}
            return await asyncio.gather(
                *(retriever.retrieve(QUERY, on_access_denied=said.audit.append, **asked) for _ in range(4))
            )

    for result in asyncio.run(ask()):
        said.note("json", result.model_dump_json())

    assert said.markers() == {} and {"span", "json", "log"} <= set(said.where)
    assert {denial.source_id for denial in said.audit} == {ID}


def test_a_source_that_is_revoked_while_it_is_reranked_is_in_no_answer(
    said: Said, filled: CorpusRows, reading: str
) -> None:
    taken = hidden(filled, ("user:alice",))

    class Meanwhile(FakeReranker):
        def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
            filled.grant(taken, "user:bob")
            return super().rerank(query, hits)

    with opened(said, reading) as retriever:
        result = said.asking(
            lambda: retriever.retrieve(
                QUERY,
                scope=filled.scope,
                authorization=ALICE,
                reranker=Meanwhile(),
                on_access_denied=said.audit.append,
            )
        )

    assert result is not None and result.hits
    assert said.markers() == {}
    assert [denial.source_id for denial in said.audit] == [ID]
