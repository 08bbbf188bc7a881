"""`local`: MaxSim over the tokens of passages, half and half with how they were found."""

import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from headwater.embedders import resolve_embedder
from headwater.embedders.hashing import HashEmbedder
from headwater.embedders.onnx import OnnxEmbedder
from headwater.errors import LimitError, RerankError, ValidationError
from headwater.rerankers.local import LocalReranker, max_sim, spread
from headwater.rerankers.token_cache import TokenCache, TokenVectors
from headwater.testing import check_reranker
from tests.unit.found_hits import hits_of, texts_of

WORDS = {"visa": (1.0, 0.0), "passport": (0.8, 0.6), "banana": (0.0, 1.0)}


class WordTokens:
    """Each word is a token, with a vector of two numbers. Says what it read."""

    identity = "words/1"

    def __init__(self) -> None:
        self.read: list[str] = []
        self._lock = threading.Lock()

    def token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        with self._lock:
            self.read += texts
        return [np.array([WORDS[word] for word in text.split()], dtype=np.float32).reshape(-1, 2) for text in texts]


@pytest.fixture
def words() -> WordTokens:
    return WordTokens()


def test_each_token_of_the_query_counts_the_nearest_of_the_passage() -> None:
    asked = np.array([(1, 0), (0, 1)], dtype=np.float32)
    passage = np.array([(0.8, 0.6), (0.6, -0.8)], dtype=np.float32)
    assert max_sim(asked @ passage.T) == pytest.approx((0.8**4 + 0.6**4) / 2)
    assert max_sim(-asked @ asked[:1].T) == 0  # what means the opposite is not there either
    assert max_sim(asked[:0] @ passage.T) == max_sim(asked @ passage[:0].T) == 0


def test_scores_are_spread_from_nothing_to_one_and_equal_ones_say_nothing() -> None:
    assert spread(np.array([3.0, 1.0, 2.0])).tolist() == [1.0, 0.0, 0.5]
    assert spread(np.array([0.7, 0.7])).tolist() == [0.0, 0.0]


def test_likeness_and_the_fused_score_count_half_each(words: WordTokens) -> None:
    hits = hits_of("banana", "visa", "passport", "banana banana", fused=[1.0, 0.5, 0.9, 0.4])
    # (1 + 0) / 2, (1/6 + 1) / 2, (5/6 + 0.8⁴) / 2 and 0: neither the order of the search nor that of the model.
    assert texts_of(LocalReranker(words).rerank("visa", hits)) == ["passport", "visa", "banana", "banana banana"]


def test_one_token_word_for_word_counts_more_than_several_alike(words: WordTokens) -> None:
    hits = hits_of("passport", "visa", "banana passport", fused=[0.5, 0.5, 0.5])
    # On average over the query's two tokens the nearest are 0.8 and 0.6, 1 and 0, and 0.8 and 1.
    assert texts_of(LocalReranker(words).rerank("visa banana", hits)) == ["banana passport", "visa", "passport"]


def test_likeness_counts_by_how_it_differs_among_the_passages(words: WordTokens) -> None:
    hits = hits_of("passport", "visa", "passport passport", fused=[1.0, 0.5, 0.4])
    assert texts_of(LocalReranker(words).rerank("visa", hits)) == ["visa", "passport", "passport passport"]


def test_where_both_halves_weigh_the_same_the_search_decides(words: WordTokens) -> None:
    hits = hits_of("banana", "visa", fused=[1.0, 0.4])
    assert texts_of(LocalReranker(words).rerank("visa", hits)) == ["banana", "visa"]


def test_equal_passages_keep_their_order(words: WordTokens) -> None:
    hits = hits_of(*["visa", "banana"] * 25, fused=[0.5] * 50)
    found = LocalReranker(words, passages=50).rerank("visa", hits)
    assert [id(hit) for hit in found] == [id(hit) for hit in hits[::2] + hits[1::2]]


def test_passages_after_the_best_keep_their_order_and_are_not_read(words: WordTokens) -> None:
    hits = hits_of("banana", "visa", "passport", "visa visa", fused=[0.4, 0.3, 0.2, 0.1])
    assert texts_of(LocalReranker(words, passages=2).rerank("visa", hits)) == [
        "banana",
        "visa",
        "passport",
        "visa visa",
    ]
    assert texts_of(LocalReranker(words, passages=3).rerank("visa", hits))[3] == "visa visa"
    assert "visa visa" not in words.read


def test_where_there_is_nothing_to_order_nothing_is_read(words: WordTokens) -> None:
    reranker, [hit] = LocalReranker(words), hits_of("visa")
    assert reranker.rerank("visa", []) == []
    assert reranker.rerank("visa", [hit]) == [hit]
    assert words.read == []


def test_a_passage_is_read_once_for_all_questions(words: WordTokens) -> None:
    reranker, hits = LocalReranker(words), hits_of("visa", "banana", "visa")
    first = texts_of(reranker.rerank("passport", hits))
    assert sorted(words.read) == ["banana", "passport", "visa"]
    words.read.clear()
    assert texts_of(reranker.rerank("passport", hits)) == first
    assert words.read == ["passport"]


def test_another_model_does_not_get_the_vectors_of_the_first(words: WordTokens) -> None:
    reranker, hits = LocalReranker(words), hits_of("visa", "banana")
    reranker.rerank("visa", hits)
    words.identity = "words/2"
    words.read.clear()
    reranker.rerank("visa", hits)
    assert sorted(words.read) == ["banana", "visa", "visa"]


def test_without_room_every_passage_is_read_again_and_comes_in_the_same_order(words: WordTokens) -> None:
    reranker, hits = LocalReranker(words, cache_bytes=0), hits_of("banana", "passport", "visa")
    assert texts_of(reranker.rerank("visa", hits)) == texts_of(LocalReranker(words).rerank("visa", hits))
    words.read.clear()
    reranker.rerank("visa", hits)
    assert len(words.read) == 4


def test_no_more_is_kept_than_there_is_room_for_and_what_was_used_last_stays() -> None:
    vectors = TokenVectors.of(np.ones((10, 100), dtype=np.float32))
    cache = TokenCache(2 * vectors.size)
    for key in (b"a", b"b"):
        cache.keep(key, vectors)
    assert cache.get(b"a") is vectors
    cache.keep(b"c", vectors)
    assert [cache.get(key) is not None for key in (b"a", b"b", b"c")] == [True, False, True]
    cache.keep(b"c", vectors)
    assert cache.size == 2 * vectors.size
    assert cache.get(b"a") is vectors
    cache.keep(b"huge", TokenVectors.of(np.ones((100, 100), dtype=np.float32)))
    assert cache.get(b"huge") is None
    assert cache.get(b"a") is vectors


def test_what_is_counted_is_what_is_kept_whichever_threads_keep_it() -> None:
    vectors = [TokenVectors.of(np.ones((tokens, 16), dtype=np.float32)) for tokens in range(1, 30)]
    cache = TokenCache(5_000)

    def keep_all(turn: int) -> None:
        for at, each in enumerate(vectors):
            cache.keep(bytes([turn % 3, at]), each)
            cache.get(bytes([turn % 3, at - 1 if at else 0]))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(keep_all, range(40)))
    kept = [cache.get(bytes([turn, at])) for turn in range(3) for at in range(len(vectors))]
    assert cache.size == sum(each.size for each in kept if each is not None) <= 5_000


def test_eight_bits_a_number_keep_the_likeness() -> None:
    numbers = np.random.default_rng(5)
    asked, passage = (numbers.normal(size=(count, 384)).astype(np.float32) for count in (12, 200))
    asked, passage = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (asked, passage))
    compact = TokenVectors.of(np.vstack([passage, np.zeros((1, 384), dtype=np.float32)]))
    assert compact.numbers.nbytes == 201 * 384
    likeness = compact.likeness(asked)
    assert not likeness[:, -1].any()
    assert likeness[:, :-1] == pytest.approx(asked @ passage.T, abs=3e-3)
    assert max_sim(likeness) == pytest.approx(max_sim(asked @ passage.T), abs=2e-3)


def test_an_embedder_without_token_vectors_is_refused_when_the_reranker_is_made() -> None:
    with pytest.raises(ValidationError, match="no vectors of tokens: use onnx:minilm"):
        LocalReranker(HashEmbedder())


@pytest.mark.parametrize("passages", [0, 51])
def test_more_passages_than_fifty_are_refused(words: WordTokens, passages: int) -> None:
    with pytest.raises(LimitError, match="passages must be from 1 to 50"):
        LocalReranker(words, passages=passages)


@pytest.mark.parametrize("bad", [np.full((1, 2), np.nan), np.full((1, 2), np.inf), np.ones(2)])
def test_bad_token_vectors_are_an_error_and_not_an_order(words: WordTokens, bad: NDArray[np.float64]) -> None:
    words.token_vectors = lambda texts: [bad for _ in texts]  # type: ignore[method-assign,misc]
    with warnings.catch_warnings(), pytest.raises(RerankError, match="not finite, or no table"):
        warnings.simplefilter("error")
        LocalReranker(words).rerank("visa", hits_of("visa", "banana"))


def test_after_an_error_no_further_passage_is_begun(words: WordTokens) -> None:
    class Failing(WordTokens):
        def token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
            found = super().token_vectors(texts)
            if texts != ["visa"]:
                raise RuntimeError("the model failed")
            return found

    failing = Failing()
    hits = hits_of(*(" ".join(["banana"] * count) for count in range(1, 41)))
    with pytest.raises(RuntimeError, match="the model failed"):
        LocalReranker(failing, passages=40, threads=2).rerank("visa", hits)
    assert len(failing.read) < 40


def test_what_was_read_before_an_error_is_not_read_again(words: WordTokens) -> None:
    reranker, hits = LocalReranker(words, threads=1), hits_of("banana", "passport", "visa stamp")
    with pytest.raises(KeyError, match="stamp"):
        reranker.rerank("visa", hits)
    words.read.clear()
    reranker.rerank("visa", hits[:2])
    assert words.read == ["visa"]


def test_making_one_loads_no_model() -> None:
    embedder = OnnxEmbedder.from_spec("/models/none")
    LocalReranker(embedder)


def test_its_threads_end_with_the_call(words: WordTokens) -> None:
    LocalReranker(words, threads=3).rerank("visa", hits_of("visa", "banana", "passport"))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("headwater-rerank")]


def test_it_passes_the_suite_with_the_bundled_model() -> None:
    embedder = resolve_embedder("onnx:minilm")
    check_reranker(lambda: LocalReranker(embedder))


def test_it_puts_what_answers_before_what_was_found_first() -> None:
    hits = hits_of(
        "The cafeteria offers a visa card discount on bananas.",
        "Applications to renew a visa take ten working days; bring the passport.",
        "Bananas are yellow.",
        fused=[0.51, 0.50, 0.1],
    )
    best, *_ = LocalReranker(resolve_embedder("onnx:minilm")).rerank("How long does it take to renew a visa?", hits)
    assert best is hits[1]
