"""What is done where a host names no bound: what happens at the default, and one beyond it."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from headwater import AccessDenied, Hit, RerankLimitError, resolve_reranker
from headwater.answering.hooks import KnownRerankers
from headwater.answering.recheck import Audit
from headwater.prompts import Compression, arrange, check_post_processors
from headwater.ragspine import ChunkIndex, CorrectiveRetriever, NarrativeChunk, Snippet, snippets_of
from headwater.rerankers.bounded import Bounded
from headwater.rerankers.local import LocalReranker
from tests.rerank.server import Asked, running_reranker
from tests.unit.found_hits import hits_of
from tests.unit.passages import make_hit, make_hits
from tests.unit.ranked_hits import ranked_hits
from tests.unit.test_assembly import make_passage

WORDS = [f"word{number}" for number in range(100)]


class Hanging:
    """Answers when it is let go."""

    is_hosted = False

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        assert self.let_go.wait(60)
        return hits


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    reranker = Hanging()
    yield reranker
    reranker.let_go.set()


def test_a_reranker_has_two_seconds_whoever_puts_it_within_bounds(hanging: Hanging) -> None:
    """One of a host's, one in bounds that say nothing of time, and one over HTTP. They are waited for side by side."""
    hits = ranked_hits("a", "b")

    def hang(_: Asked, stream: Any) -> None:
        assert hanging.let_go.wait(60)

    with running_reranker(hang) as server:
        bounded = (
            KnownRerankers().bounded(hanging),
            Bounded(hanging, max_concurrent=1),
            resolve_reranker(f"tei:{server.url}", allow_loopback=True),
        )

        def said(reranker: Bounded | None) -> str:
            assert reranker is not None
            with pytest.raises(RerankLimitError) as given_up:
                reranker.rerank("query", hits)
            return str(given_up.value)

        with ThreadPoolExecutor(3) as threads:
            sentences = list(threads.map(said, bounded))
        hanging.let_go.set()

    assert sentences[:2] == ["Hanging took longer than 2 s: nothing was reordered."] * 2
    assert "2 s" in sentences[2]  # the wire's own, or that of its bounds: they end together


class Alike:
    """An embedder for which the last passages mean what was asked, and all others nothing of it."""

    identity = "alike/1"

    def token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [np.array([[float("near" in text), float("far" in text)]], dtype=np.float32) for text in texts]


def test_local_reads_the_twenty_best_and_leaves_the_rest_where_they_are() -> None:
    texts = ["far"] * 19 + ["near 20", "near 21"]
    hits = hits_of(*texts, fused=[0.5] * 21)
    found = [hit.text for hit in LocalReranker(Alike()).rerank("near", hits)]

    assert found == ["near 20", *["far"] * 19, "near 21"]


def test_an_index_in_memory_gives_fifty() -> None:
    chunks = [NarrativeChunk(f"d#c{number:02}", "d", "text") for number in range(51)]

    assert [snippet["chunk_id"] for snippet in ChunkIndex(chunks).search("text")] == [f"d#c{n:02}" for n in range(50)]


@pytest.mark.parametrize(("found", "actions"), [(50, ()), (49, ("refuse",))])
def test_snippets_with_half_of_the_questions_words_are_enough(found: int, actions: tuple[str, ...]) -> None:
    class Finding:
        def retrieve(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = 32) -> list[Snippet]:
            return snippets_of([make_hit(" ".join(WORDS[:found]))])

    corrected = CorrectiveRetriever(Finding()).corrected(" ".join(WORDS))

    assert (corrected.grade, corrected.actions) == (found / 100, actions)


@pytest.mark.parametrize(
    "make", [lambda: (Compression(),), lambda: check_post_processors("compress")], ids=["class", "name"]
)
def test_a_sentence_with_three_tenths_of_the_querys_words_is_kept(make: Callable[[], tuple[Compression, ...]]) -> None:
    kept, left = (" ".join(WORDS[:number]).capitalize() + "." for number in (30, 29))

    (hit,) = arrange(make(), " ".join(WORDS), make_hits(f"{left} {kept} {left} {kept}")).hits

    assert hit.prompt_text == f"{kept} {kept}"


def test_of_why_a_check_failed_256_characters_are_told() -> None:
    name = "E" * 300
    heard: list[AccessDenied] = []
    audit = Audit(heard.append)
    with audit:
        failed: psycopg.Error = type(name, (psycopg.Error,), {})()
        assert audit.disclose([make_passage("text").candidate], failed) == {}

    assert [denial.error for denial in heard] == [name[:256]] and audit.failure == name[:256]
