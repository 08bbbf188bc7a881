"""`cross-encoder:PATH`, on models whose scores are the greatest weight of a pair's tokens, and on engines of a host's."""

import builtins
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwater.errors import LimitError, PermanentError, RerankError, TransientError
from headwater.rerankers.cross_encoder import CrossEncoderReranker, OnnxScorer
from headwater.testing import check_reranker
from tests.unit.found_hits import hits_of, texts_of
from tests.unit.tiny_onnx import write_cross_encoder, write_model, write_tokenizer, write_vocabulary

WEIGHTS = {"hello": 1.0, "red": 2.0, "world": 3.0}
ROWS = ("e", "red", "hello", "world")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model of pairs and its vocabulary."""
    write_cross_encoder(tmp_path / "model.onnx", WEIGHTS)
    write_vocabulary(tmp_path)
    return tmp_path


class Engine:
    """Counts how often it was loaded and asked."""

    def __init__(self, scores: Sequence[object] | None = None, failure: Exception | None = None) -> None:
        self.loads = 0
        self.calls: list[int] = []
        self._scores = scores
        self._failure = failure

    def load(self) -> "Engine":
        self.loads += 1
        if self._failure is not None:
            raise self._failure
        return self

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.calls.append(len(texts))
        return [float(len(text)) for text in texts] if self._scores is None else self._scores


def order_by(place: Path, *texts: str, query: str = "e", **options: Any) -> list[str]:
    return texts_of(CrossEncoderReranker(place, **options).rerank(query, hits_of(*texts)))


def test_passages_come_in_the_order_of_their_scores(folder: Path) -> None:
    assert order_by(folder, *ROWS) == ["world", "red", "hello", "e"]


def test_restricted_passages_keep_their_places_and_are_not_read() -> None:
    read: list[list[str]] = []

    class Reader(Engine):
        def score(self, query: str, texts: Sequence[str]) -> Any:
            read.append(list(texts))
            return super().score(query, texts)

    hits = hits_of("a", "secret", "ccc", "bb", labels=["internal", "restricted", "public", "internal"])
    found = CrossEncoderReranker("model", load=Reader().load).rerank("e", hits)

    assert texts_of(found) == ["ccc", "secret", "bb", "a"] and read == [["a", "ccc", "bb"]]


def test_where_all_is_restricted_nothing_is_loaded() -> None:
    engine, hits = Engine(), hits_of("a", "b", "c", labels=["restricted", "restricted", "internal"])

    assert CrossEncoderReranker("model", load=engine.load).rerank("e", hits) == hits and engine.loads == 0


def test_equal_scores_keep_the_order(folder: Path) -> None:
    hits = hits_of(*["hello", "world"] * 20)
    found = CrossEncoderReranker(folder).rerank("e", hits)
    assert [id(hit) for hit in found] == [id(hit) for hit in hits[1::2] + hits[::2]]


@pytest.mark.parametrize("output", ["logits", "scores"])
def test_one_score_for_a_pair_may_have_an_axis_of_its_own_or_none(folder: Path, output: str) -> None:
    write_cross_encoder(folder / "model.onnx", WEIGHTS, output=output)
    assert order_by(folder, *ROWS) == ["world", "red", "hello", "e"]


def test_of_two_labels_the_second_counts_by_how_much_it_is_above_the_first(folder: Path) -> None:
    write_cross_encoder(folder / "model.onnx", {"hello": (5.0, 6.0), "red": (0.0, 3.0), "world": (9.0, 7.0)})
    assert order_by(folder, "world", "hello", "red") == ["red", "hello", "world"]


@pytest.mark.parametrize("labels", [3, 8])
def test_a_model_of_more_labels_is_refused(folder: Path, labels: int) -> None:
    write_model(folder / "model.onnx", outputs=["logits"], table=np.ones((13, labels), dtype=np.float32))
    with pytest.raises(RerankError, match=r"has no output \[pairs\], \[pairs, 1\] or \[pairs, 2\]"):
        order_by(folder, *ROWS)


def test_a_sentence_model_is_refused(folder: Path) -> None:
    write_model(folder / "model.onnx")
    with pytest.raises(RerankError, match="export it as a sequence classifier"):
        order_by(folder, *ROWS)


def test_the_logits_are_taken_where_there_is_something_beside(folder: Path) -> None:
    write_model(
        folder / "model.onnx", outputs=["logits", "last_hidden_state"], table=np.ones((13, 1), dtype=np.float32)
    )
    assert order_by(folder, *ROWS) == list(ROWS)


def test_the_pair_is_the_query_and_then_the_passage(folder: Path) -> None:
    scorer = OnnxScorer.loaded(folder, "model", max_tokens=16, threads=1)
    pair = scorer._tokenizer.encode("hello", "red world")
    assert pair.tokens == ["[CLS]", "hello", "[SEP]", "red", "world", "[SEP]"]
    assert pair.type_ids == [0, 0, 0, 1, 1, 1]


def test_of_the_two_texts_the_longer_one_is_cut_until_the_pair_fits(folder: Path) -> None:
    # Five tokens are for texts. The query keeps its two, and the passage its first three.
    assert order_by(folder, "e e e world", "e e hello e", query="e e", max_tokens=8) == ["e e hello e", "e e e world"]
    assert order_by(folder, "e e e world", "e e hello e", query="e", max_tokens=8)[0] == "e e e world"
    # A query that is longer than the passage is cut, and the passage read whole.
    long = " ".join(["red"] + ["e"] * 40 + ["world"])
    assert order_by(folder, "hello", "world", query=long, max_tokens=8) == ["world", "hello"]


def test_no_more_tokens_are_read_than_the_files_state(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 7}')
    assert order_by(folder, "e e e world", "e e hello e") == ["e e hello e", "e e e world"]


def test_positions_state_a_limit_too_less_those_that_hold_no_token(folder: Path) -> None:
    (folder / "config.json").write_text('{"max_position_embeddings": 10}')
    assert order_by(folder, "e e e e world", "e e e hello") == ["e e e hello", "e e e e world"]
    assert order_by(folder, "e e e world", "e e e hello") == ["e e e world", "e e e hello"]


def test_the_truncation_and_padding_of_a_training_run_are_not_taken_over(folder: Path) -> None:
    (folder / "vocab.txt").unlink()
    write_tokenizer(folder, truncated_to=4)
    assert order_by(folder, "e e e hello", "e e e world") == ["e e e world", "e e e hello"]


def test_the_markers_of_a_pair_are_text_within_a_passage(folder: Path) -> None:
    write_cross_encoder(folder / "model.onnx", WEIGHTS | {"[UNK]": 0.5})
    assert order_by(folder, "[SEP]", "e [CLS] hello") == ["e [CLS] hello", "[SEP]"]


def test_the_folder_may_be_laid_out_as_models_are_published(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    write_cross_encoder(folder / "onnx" / "model_quantized.onnx", {"e": 9.0})
    assert order_by(folder, *ROWS)[0] == "world"
    assert order_by(folder / "onnx" / "model_quantized.onnx", "world", "e") == ["world", "e"]  # the query holds an e
    assert order_by(folder / "onnx" / "model_quantized.onnx", "world", "e", query="red") == ["e", "world"]


def test_a_relative_path_stays_that_of_the_folder_it_was_given_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    reranker = CrossEncoderReranker(folder.name)
    monkeypatch.chdir("/")
    assert texts_of(reranker.rerank("e", hits_of(*ROWS)))[0] == "world"


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("model.onnx", r"cross-encoder:/.*: there is no \.onnx file"),
        ("vocab.txt", r"cross-encoder:/.*: put the model's tokenizer\.json or vocab\.txt beside it"),
        (".", r"cross-encoder:/.*: there is no such folder or \.onnx file"),
    ],
)
def test_the_error_names_the_model_and_what_is_missing(folder: Path, missing: str, sentence: str) -> None:
    if missing == ".":
        shutil.rmtree(folder)
    else:
        (folder / missing).unlink()
    with pytest.raises(RerankError, match=sentence):
        order_by(folder, *ROWS)


def test_a_damaged_model_is_named(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(RerankError, match=r"cross-encoder:/.*: model.onnx cannot be loaded"):
        order_by(folder, *ROWS)


def test_without_the_engine_the_error_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] in ("onnxruntime", "tokenizers"):
            raise ImportError(name)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RerankError, match=r"cross-encoder:/.* needs packages .*: run pip install 'headwater\[onnx\]'"):
        order_by(folder, *ROWS)


def test_two_rerankings_of_fifty_passages_load_once_and_ask_twice() -> None:
    engine = Engine()
    reranker = CrossEncoderReranker("/models/pairs", load=engine.load)
    for _ in range(2):
        reranker.rerank("visa", hits_of(*("word " * count for count in range(1, 51))))
    assert (engine.loads, engine.calls) == (1, [50, 50])


def test_where_there_is_nothing_to_order_nothing_is_loaded() -> None:
    engine = Engine()
    reranker, [hit] = CrossEncoderReranker("/models/pairs", load=engine.load), hits_of("visa")
    assert reranker.rerank("visa", []) == []
    assert reranker.rerank("visa", [hit]) == [hit]
    assert engine.loads == 0


def test_a_load_that_failed_is_not_tried_again() -> None:
    engine = Engine(failure=PermanentError("There is no such model."))
    reranker = CrossEncoderReranker("/models/pairs", load=engine.load)
    for _ in range(2):
        with pytest.raises(RerankError, match="There is no such model"):
            reranker.rerank("visa", hits_of("a", "b"))
    assert engine.loads == 1


def test_what_a_foreign_engine_says_when_it_fails_to_load_is_not_repeated() -> None:
    engine = Engine(failure=OSError("token=secret"))
    with pytest.raises(RerankError, match=r"cross-encoder:/models/pairs cannot be loaded \(OSError\)") as raised:
        CrossEncoderReranker("/models/pairs", load=engine.load).rerank("visa", hits_of("a", "b"))
    assert raised.value.__context__ is None


def test_a_shortage_of_memory_passes() -> None:
    engine = Engine(failure=TransientError("There is not enough memory."))
    reranker = CrossEncoderReranker("/models/pairs", load=engine.load)
    for _ in range(2):
        with pytest.raises(TransientError):
            reranker.rerank("visa", hits_of("a", "b"))
    assert engine.loads == 2


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ([1.0], "gave 1 scores for 3 passages"),
        ([], "gave 0 scores for 3 passages"),
        ([1.0, 2.0, 3.0, 4.0], "gave 4 scores for 3 passages"),
        ([[1.0], [2.0], [3.0]], "gave 3 scores for 3 passages"),
        (["visa", "b", "c"], "gave 0 scores for 3 passages"),
        ([1.0, float("nan"), 2.0], "not finite"),
        ([1.0, float("inf"), 2.0], "not finite"),
        ([1.0, None, 2.0], "not finite"),
    ],
)
def test_anything_but_one_finite_score_for_each_passage_is_an_error(scores: Sequence[object], sentence: str) -> None:
    engine = Engine(scores)
    with pytest.raises(RerankError, match=sentence):
        CrossEncoderReranker("/models/pairs", load=engine.load).rerank("visa", hits_of("a", "b", "c"))


def test_a_model_that_scores_not_a_number_is_an_error(folder: Path) -> None:
    write_cross_encoder(folder / "model.onnx", WEIGHTS | {"e": float("nan"), "[CLS]": float("nan")})
    with pytest.raises(RerankError, match="not finite"):
        order_by(folder, *ROWS)


def test_a_pair_that_the_model_cannot_read_is_an_error_that_names_the_model(folder: Path) -> None:
    write_model(folder / "model.onnx", outputs=["logits"], table=np.ones((5, 1), dtype=np.float32))
    with pytest.raises(PermanentError, match=r"cross-encoder:/.* failed on a pair of 5 tokens"):
        order_by(folder, *ROWS)


@pytest.mark.parametrize("tokens", [0, 8_193])
def test_a_limit_of_tokens_that_no_model_has_is_refused(tokens: int) -> None:
    with pytest.raises(LimitError, match="max_tokens must be from 1"):
        CrossEncoderReranker("/models/pairs", max_tokens=tokens)


def test_it_passes_the_suite(folder: Path) -> None:
    check_reranker(lambda: CrossEncoderReranker(folder))


def test_the_engine_is_imported_when_there_is_something_to_order(folder: Path) -> None:
    script = f"""
import sys
from headwater import *
from headwater.rerankers import *
from headwater.rerankers.cross_encoder import CrossEncoderReranker
from headwater.rerankers import local, listwise
reranker = CrossEncoderReranker({json.dumps(str(folder))})
reranker.rerank("visa", [])
sys.exit(bool({{"onnxruntime", "tokenizers"}} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
